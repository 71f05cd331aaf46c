package frontmatter

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestSplit(t *testing.T) {
	for _, x := range []struct {
		text, yaml, body string
		found, closed    bool
	}{
		{"---\na: b\n---\n# T\n", "a: b\n", "# T\n", true, true},
		{"\ufeff---\r\na: b\r\n--- \r\n# T\r\n", "a: b\r\n", "# T\r\n", true, true},
		{"---\t \na: b\n---", "a: b\n", "", true, true},
		{"---\n---\n", "", "", true, true},
		{"---\na: |\n  ---\n ---\n---\n---\n", "a: |\n  ---\n ---\n", "---\n", true, true},
		{"---\na: b\n----\n", "a: b\n----\n", "", true, false},
		{"---\n", "", "", true, false},
		{"---", "", "", true, false},
		{"", "", "", false, false},
		{"----\na: b\n---\n", "", "", false, false},
		{"\n---\na: b\n---\n", "", "", false, false},
		{" ---\na: b\n---\n", "", "", false, false},
		{"--- # c\na: b\n---\n", "", "", false, false},
		{"# T\n---\na: b\n---\n", "", "", false, false},
	} {
		m, found := Split([]byte(x.text))
		if string(m.YAML) != x.yaml || string(m.Body) != x.body || found != x.found || m.Closed != x.closed {
			t.Errorf("%q: %q, %q, %v, %v", x.text, m.YAML, m.Body, found, m.Closed)
		}
		if !strings.HasPrefix(x.text[m.Offset:], x.yaml) {
			t.Errorf("%q: the offset is %d", x.text, m.Offset)
		}
	}
}

func TestParse(t *testing.T) {
	for _, text := range []string{"", "\n", "# c\n"} {
		if n, err := Parse([]byte(text)); n != nil || err != nil {
			t.Errorf("%q: %v, %v", text, n, err)
		}
	}
	n, err := Parse([]byte("\na: [1, x]\na: 2\n"))
	if err != nil || len(n.Content) != 4 || n.Content[2].Line != 3 || n.Content[1].Content[0].Tag != "!!int" {
		t.Errorf("%v, %v", n, err)
	}
	if _, err := Parse([]byte("a: b\n---\nc: d\n")); !errors.Is(err, ErrNotOne) {
		t.Error(err)
	}
	for _, text := range []string{"a: *b\n", "a: b: c\n", "a: [\n", "\ta: b\n", "a: b\n}\n"} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), "not YAML") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if all, err := Documents([]byte("a: b\n---\nc\n---\n}\n")); err == nil || len(all) != 2 {
		t.Errorf("%d documents, %v", len(all), err)
	}
}

// TestLimits: what is too large or too deep is refused, also where only a reader that follows aliases would notice.
func TestLimits(t *testing.T) {
	bomb := "a0: &a0 x\n"
	for i := range 30 {
		bomb += fmt.Sprintf("a%d: &a%[1]d [*a%[2]d, *a%[2]d]\n", i+1, i)
	}
	for name, text := range map[string]string{
		"size":         "#" + strings.Repeat("x", MaxSize),
		"nodes":        strings.Repeat("- a\n", MaxNodes),
		"depth":        strings.Repeat("[", MaxDepth+2) + strings.Repeat("]", MaxDepth+2),
		"block depth":  strings.Repeat("- ", MaxDepth+2) + "a\n",
		"aliases":      bomb,
		"alias itself": "a: &a [*a]\n",
	} {
		if _, err := Parse([]byte(text)); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, text := range []string{strings.Repeat("[", MaxSize), strings.Repeat("{a: ", MaxSize/4), strings.Repeat("- ", MaxSize/2)} {
		if _, err := Parse([]byte(text)); err == nil {
			t.Errorf("%q… is accepted", text[:8])
		}
	}
	if n, err := Parse([]byte(strings.Repeat("- a\n", 10_000))); err != nil || len(n.Content) != 10_000 {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"---\na: &a [b, *a]\n# c\n---\n", "---\n? a\n: |\n b\n...\n---\n", "---\n- - {a: b}\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m, found := Split(text)
		if found && len(m.YAML)+m.Offset > len(text) {
			t.Error("the front matter is larger than the text")
		}
		Parse(m.YAML)
	})
}
