package clients

import (
	"slices"
	"strings"
	"testing"
)

// What readers of a format understand in different ways is refused if nobody could have written it by accident,
// and read otherwise: who looks for servers must see what any of them would.
func TestStrict(t *testing.T) {
	for _, c := range []struct {
		format Format
		text   string
		plain  bool // whether it is read if it need not be strict
	}{
		{JSON, `{'a': 1}`, true},
		{JSON, `{a: 1}`, true},
		{JSON, `{"a": +1}`, true},
		{JSON, `{"a": "\x41"}`, true},
		{JSON, "{\"a\": \"x\ty\"}", true},
		{JSON, "{\"__proto__\": {\"b\": 1}}", true},
		{JSON, "// x\u2028{\"a\": 1}\n{}", true},
		{JSON, "\u00a0{}", true},
		{JSON, `{"a": 1} {"b": 2}`, false},
		{JSON, `{"a": 1`, false},
		{JSON, `{"a" 1}`, false},
		{JSON, "{\"a\": \"x\n\"}", false},
		{JSON, `{"a": "\u00g0"}`, false},
		{JSON, `/* {"a": 1}`, false},
		{JSON, "{\"a\": \"\xff\"}", false},
		{YAML, "a: !!binary eA==", true},
		{YAML, "a: b\u2028c: d\n", true},
		{YAML, "__proto__: {a: b}\n", true},
		{YAML, "a: 1\n---\na: 2\n", false},
		{YAML, "x: &x {a: 1}\nb: {<<: *x}\n", false},
		{YAML, "? [a]\n: b\n", false},
		{YAML, "a: [\n", false},
		{TOML, "a = 1\na = 2\n", false},
		{TOML, "[a\n", false},
		{FrontMatter, "----\nmcpServers: {a: {command: b}}\n---\n", true},
		{FrontMatter, "---\nmcpServers: [\n---\n", false},
	} {
		if n, err := c.format.Parse([]byte(c.text), true); err == nil {
			t.Errorf("%s, strict: %q is read as %+v", c.format, c.text, n)
		}
		if n, err := c.format.Parse([]byte(c.text), false); (err == nil) != c.plain {
			t.Errorf("%s: %q is read as %+v: %v", c.format, c.text, n, err)
		}
	}
}

// Keys that stand twice are kept, and the last one counts; escapes are read, and places are counted in
// characters from one.
func TestNodes(t *testing.T) {
	root, err := JSON.Parse([]byte("\ufeff// x\r\n"+`{"a": ["\ud83d\ude00", "\ud83d"], "a": {"b": null}, // y`+
		"\n}"), true)
	if err != nil || len(root.Members) != 2 || root.Get("a").Get("b") == nil || !root.Get("a").Get("b").IsNull() {
		t.Fatalf("%+v, %v", root, err)
	}
	if texts := root.Texts(); !slices.Equal(texts, []string{"😀", "\ufffd"}) || !root.Members[0].Value.IsTextList() {
		t.Errorf("%q", texts)
	}
	if n, key := root.First("none", "a"); key != "a" || n != root.Members[1].Value {
		t.Errorf("%s: %+v", key, n)
	}
	for at, want := range map[int][2]int{0: {1, 1}, 2: {1, 2}, 3: {2, 1}, 99: {2, 2}} {
		if line, column := Position([]byte("é\nx"), at); line != want[0] || column != want[1] {
			t.Errorf("byte %d is at line %d, column %d", at, line, column)
		}
	}
	if _, err := JSON.Parse([]byte("{\n  \"é\": x y}"), true); err == nil ||
		!strings.HasPrefix(err.Error(), "line 2, column 9: ") {
		t.Errorf("%v", err)
	}
	// Tables of one name and dotted keys of TOML are one object, and each item of a list has a place of its own.
	root, err = TOML.Parse([]byte("[a.b]\nc = 1\n[[l]]\nx = 1\n[[l]]\nx = 2\n[l.y]\nz = 3\n[a]\nd.e = \"f\"\n"), true)
	if err != nil || root.Get("a").Get("b").Get("c").Text != "1" || root.Get("a").Get("d").Get("e").Text != "f" ||
		len(root.Get("l").Items) != 2 || root.Get("l").Items[1].Get("y").Get("z") == nil ||
		root.Get("l").Items[0].Start == root.Get("l").Items[1].Start {
		t.Errorf("%+v, %v", root, err)
	}
}

// An alias of YAML has the values that it stands for, and no place of theirs, where an edit would change both.
func TestFileAliases(t *testing.T) {
	root, err := YAML.Parse([]byte("x: &x [a, b]\ny: *x\n"), true)
	if err != nil || !slices.Equal(root.Get("y").Texts(), []string{"a", "b"}) || root.Get("y").End != 0 {
		t.Errorf("%+v, %v", root, err)
	}
}

// What is written is read as it was, in every format and whatever it holds.
func TestQuoteIsRead(t *testing.T) {
	texts := []string{"", "a b", `"\`, "é\u2028\u0085", "\u0080\u009f\ufeff\ufffe\uffff", "\x00\x1b\x7f\n\r\t", "<&>",
		"# - : [", "${X}", "\U0001f600"}
	for _, format := range []Format{JSON, TOML, YAML, FrontMatter} {
		text := "a: " + FormatList(texts) + "\n"
		switch format {
		case JSON:
			text = "{\"a\": " + FormatList(texts) + "}"
		case TOML:
			text = "a = " + FormatList(texts) + "\n"
		case FrontMatter:
			text = "---\n" + text + "---\n"
		}
		root, err := format.Parse([]byte(text), false)
		if err != nil || !slices.Equal(root.Get("a").Texts(), texts) {
			t.Errorf("%s: %v\n%s", format, err, text)
		}
	}
	data := []byte("a:\r\n  - x\r\n  - y\r\nb: [z]\r\n")
	root, err := YAML.Parse(data, true)
	if err != nil {
		t.Fatal(err)
	}
	if got := YAML.FormatListLike(data, root.Get("a"), []string{"1", "2"}); got != "- \"1\"\r\n  - \"2\"" {
		t.Errorf("%q", got)
	}
	if got := YAML.FormatListLike(data, root.Get("b"), []string{"1", "2"}); got != `["1", "2"]` {
		t.Errorf("%q", got)
	}
}
