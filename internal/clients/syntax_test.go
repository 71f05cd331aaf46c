package clients

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// The bytes between Start and End of a value are the value as it is written, in every format.
func TestPlacesInFiles(t *testing.T) {
	for _, c := range []struct {
		format Format
		text   string
		want   string // the bytes of a/b, which stand once
	}{
		{JSON, "{\"a\": {\"b\": \"x\\u0041\"}}", `"x\u0041"`},
		{JSON, "// {\n{a: {b: ['x', 1,],},}", "['x', 1,]"},
		{TOML, "[a] # b\nb = \"x\" # y\n", `"x"`},
		{TOML, "a.b = [\n  'x', # y\n]\n", "[\n  'x', # y\n]"},
		{YAML, "a:\n  b: x y # z\n", "x y"},
		{YAML, "a: {b: [x, 'it''s'], c: 1}\n", "[x, 'it''s']"},
		{FrontMatter, "---\na:\n  b: \"é\"\n---\nb: no\n", `"é"`},
		{JSON, "\ufeff{\"a\": {\"b\": 1}}", "1"},
		{TOML, "\ufeffa = {b = \"x\"}\n", `"x"`},
		{TOML, "\ufeff[a]\nb = 'x'\n", "'x'"},
		{YAML, "\ufeffa: {b: x}\n", "x"},
	} {
		root, err := c.format.Parse([]byte(c.text), true)
		if strings.Contains(c.text, "'x', 1") { // JSON5
			if err == nil {
				t.Errorf("%q: strict, it is read", c.text)
			}
			root, err = c.format.Parse([]byte(c.text), false)
		}
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		n := root.Get("a").Get("b")
		if n == nil || c.text[n.Start:n.End] != c.want {
			t.Errorf("%q: %+v, want %q", c.text, n, c.want)
		}
	}
}

// Values that nest too deep are refused by every reader that descends into them.
func TestDepth(t *testing.T) {
	for _, format := range []Format{JSON, YAML} {
		for depth, want := range map[int]error{maxDepth: nil, maxDepth + 2: errDepth} {
			text := strings.Repeat("[", depth) + strings.Repeat("]", depth)
			if _, err := format.Parse([]byte(text), false); !errors.Is(err, want) {
				t.Errorf("%s, %d deep: %v, want %v", format, depth, err, want)
			}
		}
	}
}

func ExampleFormat_Parse() {
	data := []byte("servers:\n  time: {command: uvx} # mine\n")
	root, err := YAML.Parse(data, true)
	if err != nil {
		fmt.Println(err)
		return
	}
	command := root.Get("servers").Get("time").Get("command")
	line, column := Position(data, command.Start)
	fmt.Printf("%s at line %d, column %d\n", command.Text, line, column)
	fmt.Printf("%s%s%s", data[:command.Start], Quote("npx"), data[command.End:])
	// Output:
	// uvx at line 2, column 19
	// servers:
	//   time: {command: "npx"} # mine
}
