package serverjson

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestSetFileHashes(t *testing.T) {
	two := []FileHash{{Key: "npm:b@1.0.0", Value: "sha256:2"}, {Key: "https://example.com/?a&b", Value: "sha256:1"}}
	for _, c := range []struct {
		name, raw string
		hashes    []FileHash
		want      string
	}{
		{"added", "{\n  \"name\": \"a\",\n  \"version\": \"1\"\n}\n", two,
			"{\n  \"name\": \"a\",\n  \"version\": \"1\",\n  \"file_hashes\": {\n" +
				"    \"https://example.com/?a&b\": \"sha256:1\",\n    \"npm:b@1.0.0\": \"sha256:2\"\n  }\n}\n"},
		{"replaced, tabs, no final newline",
			"{\n\t\"file_hashes\": {\"old\": \"x\", \"o\": {}},\n\n\t\"version\" : 1.00 }", two[:1],
			"{\n\t\"file_hashes\": {\n\t\t\"npm:b@1.0.0\": \"sha256:2\"\n\t},\n\n\t\"version\" : 1.00 }"},
		{"windows", "{\r\n    \"a\": 1\r\n}\r\n", two[:1],
			"{\r\n    \"a\": 1,\r\n    \"file_hashes\": {\r\n        \"npm:b@1.0.0\": \"sha256:2\"\r\n    }\r\n}\r\n"},
		{"compact", `{"a":1}`, two,
			`{"a":1,"file_hashes":{"https://example.com/?a&b":"sha256:1","npm:b@1.0.0":"sha256:2"}}`},
		{"compact replaced", `{"file_hashes":{},"a":1}`, two[:1], `{"file_hashes":{"npm:b@1.0.0":"sha256:2"},"a":1}`},
		{"one line", `{"a": 1, "b": {"file_hashes": 2}}`, two,
			`{"a": 1, "b": {"file_hashes": 2}, "file_hashes": {"https://example.com/?a&b": "sha256:1", ` +
				`"npm:b@1.0.0": "sha256:2"}}`},
		{"one line replaced", `{"file_hashes": null, "a": 1}`, two[:1],
			`{"file_hashes": {"npm:b@1.0.0": "sha256:2"}, "a": 1}`},
		{"escaped name", `{"file\u005fhashes":{"x":"y"}}`, nil, `{"file\u005fhashes":{}}`},
		{"none", "{\n  \"a\": 1\n}", nil, "{\n  \"a\": 1,\n  \"file_hashes\": {}\n}"},
		{"empty", " {} \n", two[:1], " {\n  \"file_hashes\": {\n    \"npm:b@1.0.0\": \"sha256:2\"\n  }\n} \n"},
		{"bytes are kept", "{\n  \"a\": \"\\u00e9\\/<é\",\n  \"n\": 1e3\n}\n\n", two[:1],
			"{\n  \"a\": \"\\u00e9\\/<é\",\n  \"n\": 1e3,\n  \"file_hashes\": {\n    \"npm:b@1.0.0\": \"sha256:2\"\n" +
				"  }\n}\n\n"},
	} {
		got, err := SetFileHashes([]byte(c.raw), c.hashes)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %v\n got %q\nwant %q", c.name, err, got, c.want)
			continue
		}
		// Doing it again changes nothing.
		if again, err := SetFileHashes(got, c.hashes); err != nil || string(again) != c.want {
			if c.name != "escaped name" {
				t.Errorf("%s, again: %v\n got %q", c.name, err, again)
			}
		}
	}
	for name, raw := range map[string]string{"array": "[]", "text": `"{}"`, "duplicate": `{"a":1,"a":2}`,
		"trailing": "{}{}", "cut": `{"a":`} {
		if out, err := SetFileHashes([]byte(raw), two); err == nil {
			t.Errorf("%s: gave %s", name, out)
		}
	}
	if _, err := SetFileHashes([]byte("{}"), []FileHash{two[0], two[0]}); err == nil {
		t.Error("a key was set twice")
	}
}

func TestMoveFileHashes(t *testing.T) {
	raw := doc("file_hashes", `{"npm:@acme/notes@1.4.0":"sha256:`+hexA+`"}`, "_meta",
		`{"`+publisherMeta+`":{"tool":"a<b","n":12345678901234567890}}`)
	raw = strings.Replace(raw, `\u003c`, "<", 1) // as json.Marshal does not write it
	out, err := MoveFileHashes([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(out),
		`"file_hashes":{"npm:@acme/notes@1.4.0":"sha256:`+hexA+`"},"n":12345678901234567890`) ||
		!strings.Contains(string(out), "a<b") {
		t.Errorf("%s", out)
	}
	var top map[string]json.RawMessage
	if json.Unmarshal(out, &top) != nil || top["file_hashes"] != nil {
		t.Errorf("file_hashes stayed: %s", out)
	}
	before, _ := Parse([]byte(raw))
	after, err := Parse(out)
	if err != nil || after.Validate().Err() != nil {
		t.Fatalf("%v, %v", err, after.Validate())
	}
	a, _ := before.Claims("x")
	b, _ := after.Claims("x")
	if len(a) != 1 || len(b) != 1 || a[0].FormatExpected() != b[0].FormatExpected() ||
		b[0].Where != "x, _meta file_hashes" {
		t.Errorf("claims %v became %v", a, b)
	}
	if same, err := MoveFileHashes([]byte(doc())); err != nil || string(same) != doc() {
		t.Errorf("without hashes: %s, %v", same, err)
	}
	big := doc("file_hashes", `{"x":"`+strings.Repeat("a", MaxPublisherMeta)+`"}`)
	if _, err := MoveFileHashes([]byte(big)); err == nil {
		t.Error("too much metadata was moved")
	}
}

func TestCanonical(t *testing.T) {
	for in, want := range map[string]string{
		`{"b": 1.0, "a": [true, "\u00e9"]}`: `{"a":[true,"é"],"b":1}`,
		`{"n":9007199254740992}`:            `{"n":9007199254740992}`,
		`[-9007199254740992, 1e3, 0.5, -0]`: `[-9007199254740992,1000,0.5,0]`,
		`[9007199254740991]`:                `[9007199254740991]`,
		`{"n":9007199254740993}`:            "",
		`{"n":-9007199254740993}`:           "",
		`{"n":9007199254740992.5}`:          "",
		`[1e16]`:                            "",
		`[1e400]`:                           "",
		`{"a":1,"a":1}`:                     "",
		`{"a":{"b":1,"\u0062":1}}`:          "",
		`["\ud800"]`:                        "",
		`[1] `:                              "[1]",
		`[01]`:                              "",
		``:                                  "",
		strings.Repeat("[", 65) + strings.Repeat("]", 65): "",
	} {
		got, err := Canonical([]byte(in))
		if (err != nil) != (want == "") || string(got) != want {
			t.Errorf("%s: %s, %v; want %q", in, got, err, want)
		}
	}
}
