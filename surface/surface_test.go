package surface

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func mustNew(t testing.TB, l Listing) *Surface {
	t.Helper()
	s, err := New(l)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func tools(items ...string) Listing {
	var l Listing
	for _, i := range items {
		l.Tools = append(l.Tools, json.RawMessage(i))
	}
	return l
}

func TestLimits(t *testing.T) {
	many := make([]json.RawMessage, MaxItems)
	for i := range many {
		many[i] = fmt.Appendf(nil, `{"name":"t%d"}`, i)
	}
	s := mustNew(t, Listing{Tools: many, Instructions: "beside the items"})
	if n := len(s.Items()); n != MaxItems+1 {
		t.Errorf("%d items", n)
	}
	if _, err := Read(s.Canonical()); err != nil {
		t.Errorf("Read: %v", err)
	}
	_, err := New(Listing{Tools: many, Prompts: []json.RawMessage{[]byte(`{"name":"p"}`)}})
	wantProblem(t, err, ProblemSize)
	other := mustNew(t, tools(`{"name":"one more"}`))
	_, err = Union(s, other)
	wantProblem(t, err, ProblemSize)
	stored := strings.Replace(string(s.Canonical()), `"prompts":[]`, `"prompts":[{"name":"p"}]`, 1)
	_, err = Read([]byte(stored))
	wantProblem(t, err, ProblemSize)

	large := strings.Repeat("x", MaxSize/2)
	_, err = New(Listing{Instructions: large, Tools: []json.RawMessage{[]byte(`{"name":"t","x":"` + large + `"}`)}})
	wantProblem(t, err, ProblemSize)
	_, err = NewItem(KindTool, []byte(`{"name":"t","x":"`+large+large+`"}`))
	wantProblem(t, err, ProblemSize)
	// 65 bytes of canonical form for each byte sent.
	_, err = New(tools(`{"name":"t","x":[` + strings.Repeat("1e300,", 250_000) + `1]}`))
	wantProblem(t, err, ProblemSize)
	_, err = NewItem(KindTool, []byte(`{"name":"t","x":[`+strings.Repeat("0,", MaxValues)+`0]}`))
	wantProblem(t, err, ProblemSize)
	// The items count together, one that takes up the limit alone included.
	full := `{"name":"a","x":[` + strings.Repeat("0,", MaxValues-4) + `0]}`
	if _, err := New(tools(full)); err != nil {
		t.Error(err)
	}
	_, err = New(tools(full, `{"name":"b"}`))
	wantProblem(t, err, ProblemSize)
	// The listing counts as sent, and the canonical form as written.
	blank := strings.Repeat(" ", MaxSize/2)
	_, err = New(tools(blank+`{"name":"a"}`, blank+`{"name":"b"}`))
	wantProblem(t, err, ProblemSize)
	grows := `"x":[` + strings.Repeat("1e63,", MaxValues/2-8) + `0]}`
	_, err = New(tools(`{"name":"a",`+grows, `{"name":"b",`+grows))
	wantProblem(t, err, ProblemSize)
}

// What New accepts, Read accepts, and Indented does not explode.
func TestLimitsOfStoredForm(t *testing.T) {
	deep := strings.Repeat("[", 120) + strings.Repeat("1,", 500_000) + "1" + strings.Repeat("]", 120)
	s := mustNew(t,
		tools(`{"name":"t","x":`+deep+`}`, `{"name":"u","x":[`+strings.Repeat("9007199254740993,", 100_000)+`0]}`))
	b := s.FormatIndented()
	if len(b) > MaxSize {
		t.Fatalf("%d bytes indented", len(b))
	}
	if want := append(s.Canonical(), '\n'); string(b) != string(want) {
		t.Error("a surface too large when indented is not in canonical form")
	}
	if _, err := Read(b); err != nil {
		t.Error(err)
	}
}

func TestErrorsNameTheItem(t *testing.T) {
	long := strings.Repeat("é", 5000)
	for _, c := range []struct {
		l    Listing
		want string
	}{
		{tools(`{"name":"a"}`, `{`), "tools[1]: not JSON at byte 1: no member name"},
		{tools(`{"name":"a\u001b"}`, `{"name":"a\u001b"}`), `tool:a\x1b: listed twice`},
		{tools(`{"name":"a","\u202e":1,"\u202e":2}`), `tools[0]: the member "\u{202e}" stands twice in one object`},
		{Listing{ResourceTemplates: []json.RawMessage{[]byte(`{}`)}}, `resourceTemplates[0]: no member "uriTemplate"`},
		{Listing{Instructions: "\xff"}, "instructions: not UTF-8"},
	} {
		_, err := New(c.l)
		if err == nil || err.Error() != c.want {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
	_, err := New(tools(`{"name":"`+long+`"}`, `{"name":"`+long+`"}`))
	if err == nil || len(err.Error()) > 400 {
		t.Errorf("a message of %d bytes", len(err.Error()))
	}
}

func TestUnion(t *testing.T) {
	a := mustNew(t, tools(`{"name":"a"}`, `{"name":"b","title":""}`))
	b := mustNew(t,
		Listing{Instructions: "i", Tools: []json.RawMessage{[]byte(`{"name":"c"}`), []byte(`{ "name":"b"}`)},
			Prompts: []json.RawMessage{[]byte(`{"name":"a"}`)}})
	want := mustNew(t,
		Listing{Instructions: "i", Tools: tools(`{"name":"c"}`, `{"name":"a"}`, `{"name":"b"}`).Tools,
			Prompts: []json.RawMessage{[]byte(`{"name":"a"}`)}})
	for _, pair := range [][2]*Surface{{a, b}, {b, a}} {
		u, err := Union(pair[0], pair[1])
		if err != nil {
			t.Fatal(err)
		}
		if string(u.Canonical()) != string(want.Canonical()) {
			t.Errorf("union %s, want %s", u.Canonical(), want.Canonical())
		}
	}
	_, err := Union(a, mustNew(t, tools(`{"name":"b","title":"B"}`)))
	wantProblem(t, err, ProblemConflict)
	if err.(*Error).Item != "tool:b" {
		t.Errorf("the error names %q", err.(*Error).Item)
	}
	_, err = Union(mustNew(t, Listing{Instructions: "x"}), mustNew(t, Listing{Instructions: "y"}))
	wantProblem(t, err, ProblemConflict)
}

func TestItemsAndInstructions(t *testing.T) {
	s := mustNew(t, Listing{
		Instructions:      "Read \"this\"\n",
		Tools:             []json.RawMessage{[]byte(`{"name":"b"}`), []byte(`{"name":"a"}`)},
		Prompts:           []json.RawMessage{[]byte(`{"name":"p"}`)},
		Resources:         []json.RawMessage{[]byte(`{"uri":"x:y"}`)},
		ResourceTemplates: []json.RawMessage{[]byte(`{"uriTemplate":"x:{y}"}`)},
	})
	var keys []string
	for _, i := range s.Items() {
		keys = append(keys, i.Key())
	}
	if want := []string{"instructions", "tool:a", "tool:b", "prompt:p", "resource:x:y",
		"template:x:{y}"}; !slices.Equal(keys, want) {
		t.Errorf("items %q, want %q", keys, want)
	}
	if got := s.Instructions(); got != "Read \"this\"\n" {
		t.Errorf("instructions %q", got)
	}
	if got := string(InstructionsItem("a\xff").JSON); got != "\"a\ufffd\"" {
		t.Errorf("instructions with a bad byte %q", got)
	}
	raw, err := NewItem(KindInstructions, []byte(`"Read \"this\"\n"`))
	if err != nil || string(raw.JSON) != string(s.Items()[0].JSON) {
		t.Errorf("NewItem of instructions: %s, %v", raw.JSON, err)
	}
	s.Items()[0].Name = "changed"
	s.Canonical()[0] = 'x'
	if s.Items()[0].Name != "" || s.Canonical()[0] != '{' {
		t.Error("a caller changed the surface")
	}
	_, err = NewItem("root", []byte(`{"name":"x"}`))
	wantProblem(t, err, ProblemShape)
	_, err = NewItem(KindInstructions, []byte(`{}`))
	wantProblem(t, err, ProblemShape)
}

func TestParseInstructions(t *testing.T) {
	for raw, want := range map[string]string{`"a\u00e9"`: "aé", `null`: "", ` "" `: ""} {
		if got, err := ParseInstructions([]byte(raw)); err != nil || got != want {
			t.Errorf("%s: %q, %v", raw, got, err)
		}
	}
	for raw, want := range map[string]Problem{`{}`: ProblemShape, `"\ud800"`: ProblemSurrogate,
		`"a" ` + "x": ProblemSyntax, "\"\xff\"": ProblemUTF8} {
		_, err := ParseInstructions([]byte(raw))
		wantProblem(t, err, want)
	}
}

func TestIndented(t *testing.T) {
	s := mustNew(t,
		tools("{\"name\":\"a\u202e\",\"description\":\"b\u00e9\u200b\U000e0041\U0001d173\",\"inputSchema\":{},\"x\":[1,9007199254740993]}"))
	want := `{
  "instructions": "",
  "prompts": [],
  "resourceTemplates": [],
  "resources": [],
  "schema": "hallmark.surface/v1",
  "tools": [
    {
      "description": "b` + "é" + `\u200b\udb40\udc41\ud834\udd73",
      "inputSchema": {},
      "name": "a\u202e",
      "x": [
        1,
        {"$hallmark.int":"9007199254740993"}
      ]
    }
  ]
}
`
	if got := string(s.FormatIndented()); got != want {
		t.Errorf("indented\n%s\nwant\n%s", got, want)
	}
}

func TestCheckJSON(t *testing.T) {
	for _, ok := range []string{`{}`, ` [1,1e999,{"$hallmark.int":1}] `, `"\ud83d\ude00"`, `null`, `-0.5e+3`} {
		if err := CheckJSON([]byte(ok), Limits{}); err != nil {
			t.Errorf("%s: %v", ok, err)
		}
	}
	for _, c := range []struct {
		data   string
		limits Limits
		want   Problem
	}{
		{`{"a":1,"b":{"c":[{"d":1,"\u0064":2}]}}`, Limits{}, ProblemDuplicateMember},
		{`["\udfff"]`, Limits{}, ProblemSurrogate},
		{"[\"\xc3\"]", Limits{}, ProblemUTF8},
		{"\ufeff{}", Limits{}, ProblemSyntax},
		{`[01]`, Limits{}, ProblemSyntax},
		{`[1,]`, Limits{}, ProblemSyntax},
		{`{"a":1,}`, Limits{}, ProblemSyntax},
		{`nulls`, Limits{}, ProblemSyntax},
		{``, Limits{}, ProblemSyntax},
		{`"`, Limits{}, ProblemSyntax},
		{`"\`, Limits{}, ProblemSyntax},
		{`"\u12`, Limits{}, ProblemSyntax},
		{`[[[]]]`, Limits{Depth: 2}, ProblemDepth},
		{`[{"a":{}}]`, Limits{Depth: 2}, ProblemDepth},
		{`[1,2,3]`, Limits{Values: 3}, ProblemSize},
		{`[1,2,3]`, Limits{Size: 6}, ProblemSize},
	} {
		wantProblem(t, CheckJSON([]byte(c.data), c.limits), c.want)
	}
	for _, c := range []struct {
		data   string
		limits Limits
	}{{`[[1]]`, Limits{Depth: 2}}, {`[1,2,3]`, Limits{Values: 4}}, {`[1,2,3]`, Limits{Size: 7}}} {
		if err := CheckJSON([]byte(c.data), c.limits); err != nil {
			t.Errorf("%s at its limit: %v", c.data, err)
		}
	}
}
