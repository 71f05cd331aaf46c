package tomltext

import (
	"errors"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
)

const file = `top = "a" # a comment
[table]
"quoted key".dotted = [ "x", # the first
  'y' ]
inline = { one = 1, two = { three = "3" } }
[[list]]
name = "first"
[[list]]
name = "second"
`

// TestKeys: each key is found with the keys above it, and the bytes of its value.
func TestKeys(t *testing.T) {
	keys, err := Keys([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for _, k := range keys {
		if k.Last && !k.Header {
			values[strings.Join(k.Path, "/")] = file[k.Value.Start:k.Value.End]
		}
		if name := strings.Trim(file[k.Name.Start:k.Name.End], `"`); name != k.Path[len(k.Path)-1] {
			t.Errorf("%v stands where %q does", k.Path, name)
		}
	}
	for path, value := range map[string]string{
		"top": `"a"`, "table/inline/one": "1", "table/inline/two/three": `"3"`,
		"list/0/name": `"first"`, "list/1/name": `"second"`,
	} {
		if values[path] != value {
			t.Errorf("%s is %q, not %q", path, values[path], value)
		}
	}
	for _, k := range keys {
		switch path := strings.Join(k.Path, "/"); path {
		case "table/quoted key/dotted":
			if len(k.Strings) != 2 || file[k.Strings[1].Start:k.Strings[1].End] != "'y'" {
				t.Errorf("the strings of the list are at %v", k.Strings)
			}
		case "table/inline", "table/inline/two":
			if !k.Table || k.Inline != (path != "table/inline") {
				t.Errorf("%s: %+v", path, k)
			}
		}
	}
	lines, err := Lines([]byte(file))
	if err != nil || lines["table"] != 2 || lines["table.quoted key"] != 3 || lines["table.inline"] != 5 ||
		lines["list"] != 6 {
		t.Errorf("%v, %v", lines, err)
	}
	if _, err := Keys([]byte("a = = 1")); err == nil {
		t.Error("what is no TOML has keys")
	}
}

// TestApply: edits are made at their places in any order, an insertion before a replacement.
func TestApply(t *testing.T) {
	data := []byte("one two three")
	out := Apply(data, Replace(Span{4, 7}, "2"), Insert(13, "!"), Insert(4, "and "), Replace(Span{0, 4}, ""))
	if string(out) != "and 2 three!" || string(data) != "one two three" {
		t.Errorf("%q of %q", out, data)
	}
	lines := []byte("a\r\n\t b")
	if LineEnd(lines) != "\r\n" || LineStart(lines, 5) != 3 || LineAfter(lines, 0) != 3 || LineAfter(lines, 4) != 6 ||
		Indent(lines, 5) != "\t " || NewlineBefore(lines, 6) != "\r\n" || NewlineBefore(lines, 3) != "" {
		t.Error("the lines of a file end elsewhere")
	}
}

// TestQuote: a string is read as what was written, in whatever quotes.
func TestQuote(t *testing.T) {
	for _, s := range []string{"", "plain", `a "b"`, `a 'b'`, `c:\d`, "two\nlines", "é", "\x00"} {
		for _, quoted := range []string{Quote(s), QuotePlain(s), Requote([]byte(`"x"`), s), Requote([]byte(`'x'`), s)} {
			var read map[string]string
			if err := toml.Unmarshal([]byte("x = "+quoted), &read); err != nil || read["x"] != s {
				t.Errorf("%q is written as %s: %v", s, quoted, err)
			}
		}
	}
	if QuotePlain("a") != `"a"` || Quote("a") != `'a'` ||
		Requote([]byte(`"x"`), "a") != `"a"` || Requote([]byte(`'x'`), "a") != `'a'` {
		t.Error("quotes are not those that are said")
	}
}

// TestExplain: what go-toml refuses is named with its line and column, and without types of Go.
func TestExplain(t *testing.T) {
	var to struct {
		A int `toml:"a"`
	}
	d := toml.NewDecoder(strings.NewReader("a = 1\nb = 2\n"))
	err := Explain(d.DisallowUnknownFields().Decode(&to))
	if err == nil || err.Error() != "line 2, column 1: unknown key b" {
		t.Error(err)
	}
	for text, want := range map[string]string{
		"a = 'x'": "line 1, column 5: a cannot be a value of type string", "a = ": "line 1, column",
	} {
		if err := Explain(toml.Unmarshal([]byte(text), &to)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if other := errors.New("other"); Explain(other) != other {
		t.Error("an error of something else is changed")
	}
}
