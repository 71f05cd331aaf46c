package hashfile

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/stdio"
)

// TestUnderstoodSpellings: each line of spellings has one meaning, that of its first.
func TestUnderstoodSpellings(t *testing.T) {
	for _, spellings := range [][]string{
		{`{"path": "p"}`, `"{\"path\": \"p\"}"`, ` {"path": "p", "mode": null, "count": null, "names": null} `,
			`{"path": "p", "mode": ""}`},
		{`{"path": "p", "count": 3}`, `{"path": "p", "count": 3.0}`, `{"path": "p", "count": "3"}`,
			`{"path": "p", "count": " 3.00 "}`, `{"path": "p", "count": 30e-1}`, `{"path": "p", "count": 0.3e1}`},
		{`{"path": "p", "count": -2}`, `{"path": "p", "count": "-2"}`, `{"path": "p", "count": -2.0}`},
		{`{"path": "p", "dry": true}`, `{"path": "p", "dry": "true"}`, `{"path": "p", "dry": "True"}`},
		{`{"path": "p", "dry": false}`, `{"path": "p", "dry": "false"}`, `{"path": "p"}`},
		{`{"path": "p", "names": ["a"]}`, `{"path": "p", "names": "a"}`, `{"path": "p", "names": "[\"a\"]"}`},
		{`{"path": "p", "names": ["[a"]}`, `{"path": "p", "names": "[a"}`},
		{`{"path": "p", "parts": [{"op": "put", "content": "x y"}]}`, `{"path": "p", "parts": {"op": "put", "content": "x y"}}`,
			`{"path": "p", "parts": "put x y"}`, `{"path": "p", "parts": ["put x y"]}`,
			`{"path": "p", "parts": "{\"op\": \"put\", \"content\": \"x y\"}"}`,
			`{"path": "p", "parts": "[{\"op\": \"put\", \"content\": \"x y\"}]"}`,
			`{"path": "p", "parts": ["{\"op\": \"put\", \"content\": \"x y\"}"]}`},
		{`{"path": "p", "parts": [{"op": "put", "content": ""}]}`, `{"path": "p", "parts": ["put "]}`},
		{`{"path": "p", "secret": "s"}`},
		{`{"path": "p", "parts": [{}]}`, `{"path": "p", "parts": [{"op": null, "content": null}]}`},
		{`{"path": "p", "parts": [{"op": "any"}]}`},
		{`{"path": "[\"not decoded\"]"}`},
	} {
		var first sample
		for i, spelling := range spellings {
			in, err := decodeAs[sample](spelling)
			if err != nil {
				t.Errorf("%s: %v", spelling, err)
			}
			if i == 0 {
				first = in
			}
			if !reflect.DeepEqual(in, first) {
				t.Errorf("%s is not %s: %+v, %+v", spelling, spellings[0], in, first)
			}
		}
	}
	for _, nothing := range []string{"", "null", " null\n", "{}", `{"random_string": "x"}`} {
		if _, err := decodeAs[struct{}](nothing); err != nil {
			t.Errorf("%q: %v", nothing, err)
		}
	}
}

// TestRefusedArguments: what has no meaning, or several, is refused in words that say what to give.
func TestRefusedArguments(t *testing.T) {
	const names = "path, mode, count, dry, names, parts"
	for arguments, want := range map[string]string{
		"":                               "path is missing; it takes " + names,
		`{"path": null}`:                 "path is missing; it takes " + names,
		`[]`:                             "the value with the arguments is an array; give an object",
		`5`:                              "the value with the arguments is the number 5; give an object",
		`"p"`:                            `the value with the arguments is the text "p"; give an object`,
		`"{"`:                            "is a text that begins like JSON and is none; give an object, not a text",
		`{"path": 5}`:                    "path is the number 5; give a string",
		`{"path": true}`:                 "path is true; give a string",
		`{"path": ["p"]}`:                "path is an array; give a string",
		`{"path": {}}`:                   "path is an object; give a string",
		`{"Path": "p"}`:                  `there is no argument "Path"; it takes ` + names,
		`{"path": "p", "file": "q"}`:     `there is no argument "file"; it takes ` + names,
		`{"path": "p", "mode": "often"}`: `mode is "often"; it is one of slow, fast`,
		`{"path": "p", "mode": "FAST"}`:  `mode is "FAST"; it is one of slow, fast`,
		`{"path": "p", "count": 1.5}`:    "count is the number 1.5; give a whole number",
		`{"path": "p", "count": "0x3"}`:  `count is the text "0x3"; give a whole number`,
		`{"path": "p", "count": "6/2"}`:  `count is the text "6/2"; give a whole number`,
		`{"path": "p", "count": "1_0"}`:  `count is the text "1_0"; give a whole number`,
		`{"path": "p", "count": ""}`:     `count is the text ""; give a whole number`,
		`{"path": "p", "count": true}`:   "count is true; give a whole number",
		`{"path": "p", "count": [1]}`:    "count is an array; give a whole number",
		`{"path": "p", "count": 9223372036854775808}`:              "give a smaller number",
		`{"path": "p", "count": 1e99}`:                             "count is the number 1e99; give a whole number",
		`{"path": "p", "dry": "yes"}`:                              `dry is the text "yes"; give true or false`,
		`{"path": "p", "dry": 1}`:                                  "dry is the number 1; give true or false",
		`{"path": "p", "names": [1]}`:                              "names[0] is the number 1; give a string",
		`{"path": "p", "names": ["a", null]}`:                      "names[1] is null; give a string",
		`{"path": "p", "names": {"a": 1}}`:                         "names is an object; give an array",
		`{"path": "p", "names": 5}`:                                "names is the number 5; give an array",
		`{"path": "p", "parts": 5}`:                                "parts is the number 5; give an array",
		`{"path": "p", "parts": [[]]}`:                             "parts[0] is an array; give an object",
		`{"path": "p", "parts": ["put"]}`:                          "parts[0]: it is no part",
		`{"path": "p", "parts": "[{"}`:                             "begins like JSON and is none; give an array, not a text",
		`{"path": "p", "parts": "{"}`:                              "begins like JSON and is none; give an object, not a text",
		`{"path": "p", "parts": [{"op": "put", "x": 1}]}`:          `no argument "parts[0].x"; it takes op, content`,
		`{"path": "p", "parts": [{"content": ["a", "b"]}]}`:        "content is an array; give a string, with line feeds between",
		`{"path": "p", "parts": "{\"op\": \"a\", \"op\": \"b\"}"}`: "parts is a text with JSON that is read in different ways",
		`{"path": "p", "path": "q"}`:                               "its arguments cannot be read: ",
		`{"path": "\ud800"}`:                                       "its arguments cannot be read: ",
		"{\"path\": \"\xff\"}":                                     "its arguments cannot be read: ",
		`{"path": "p"} {}`:                                         "its arguments cannot be read: ",
		`{"path": "` + strings.Repeat("p", 10_000) + `"}`:          "its arguments cannot be read: ",
	} {
		_, err := decodeAs[sample](arguments)
		if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 300 || foreign.MatchString(err.Error()) {
			t.Errorf("%.80s: %v, want %s", arguments, err, want)
		}
	}
}

// foreign matches words of the language that this is written in.
var foreign = regexp.MustCompile(`unmarshal|json:|struct|reflect|\bnil\b|%!|invalid character|Go `)

// FuzzDecode decodes whatever comes. What is accepted is accepted again, with the same meaning, as it is encoded anew;
// what is refused is refused in words that a model understands.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`{"path": "p", "count": "3", "names": "[\"a\"]", "parts": ["put x"]}`, `"{}"`, "null", "[1",
		`{"path": "", "parts": "[{\"op\": \"put\"}]", "dry": "True", "mode": ""}`, `{"path": "p", "count": 1e-1}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, arguments string) {
		in, err := decodeAs[sample](arguments)
		if err != nil {
			if foreign.MatchString(strings.ReplaceAll(err.Error(), arguments, "")) && !foreign.MatchString(arguments) {
				t.Errorf("%q: %v", arguments, err)
			}
			return
		}
		encoded, err := json.Marshal(in)
		must(t, err)
		again, err := decodeAs[sample](string(encoded))
		if err != nil && len(encoded) < 10_000 {
			t.Fatalf("%q: %s: %v", arguments, encoded, err)
		}
		if err == nil && !sameSample(in, again) {
			t.Errorf("%q: %+v, then %+v", arguments, in, again)
		}
	})
}

// sameSample compares what was decoded, but for arrays without elements, which are not encoded.
func sameSample(a, b sample) bool {
	if len(a.Names)+len(b.Names) == 0 {
		a.Names, b.Names = nil, nil
	}
	if len(a.Parts)+len(b.Parts) == 0 {
		a.Parts, b.Parts = nil, nil
	}
	return reflect.DeepEqual(a, b)
}

// TestCall: the arguments of a tool's call reach it, and refusals name the tool.
func TestCall(t *testing.T) {
	var got sample
	tool := newTool("try", "", true, func(_ context.Context, _ *place.Scope, in sample) (*stdio.Result, error) {
		got = in
		return &stdio.Result{Text: "done\n"}, nil
	})
	if tool.InputSchema == nil || !tool.Writes {
		t.Errorf("%+v", tool)
	}
	a, err := tool.call(t.Context(), nil, json.RawMessage(`{"path": "p"}`), 100)
	if err != nil || a.Text != "done\n" || got.Path != "p" {
		t.Errorf("%+v, %+v, %v", a, got, err)
	}
	_, err = tool.call(t.Context(), nil, json.RawMessage(`{}`), 100)
	var r *place.Refusal
	if !errors.As(err, &r) || r.Code != hashline.Invalid || !strings.HasPrefix(r.Message, "try: path is missing; ") {
		t.Error(err)
	}
}

// TestRefuseCall: text and structure of a refusal say the same; what is no refusal is told as an error of the system.
func TestRefuseCall(t *testing.T) {
	n := 2
	r := place.Refuse(hashline.Stale, "it changed")
	r.FileHash, r.TotalLines, r.Lines = "sha256:0123456789ab", &n, []string{"1:25|", "2:25|"}
	out := refuseCall(r)
	if !out.IsError || out.Text != "it changed\n[file_hash=sha256:0123456789ab total_lines=2]\n1:25|\n2:25|" ||
		out.Structure != r {
		t.Errorf("%q, %v", out.Text, out.Structure)
	}
	out = refuseCall(errors.New("disk\x1b broke"))
	if !out.IsError || strings.ContainsRune(out.Text, 0x1b) || out.Structure.(*place.Refusal).Code != place.IO {
		t.Errorf("%q", out.Text)
	}
}
