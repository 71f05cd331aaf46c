package engine

import (
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/hashline"
)

// TestTagLinesBounds: what is above the bounds of an answer is cut or left out, and the answer says so.
func TestTagLinesBounds(t *testing.T) {
	e := New(Options{})
	long := "a\n" + strings.Repeat("x", 30<<10) + "\nb\n"
	for text, want := range map[string][]string{
		"a\nb\n":                              {"1:", "2:"},
		long:                                  {"1:", "2:", "3:"},
		strings.Repeat("c\n", maxFresh):       {"1:", "200:"},
		strings.Repeat("c\n", 300):            {"1:", "200:", "[there are more; read from line 201]"},
		strings.Repeat(long[2:40]+"\n", 2000): {"1:", "[there are more; read from line 201]"},
	} {
		f, err := hashline.Parse([]byte(text))
		must(t, err)
		got := strings.Join(e.tagLines(f, [][2]int{{-2, f.Lines() + 3}}), "\n")
		for _, part := range want {
			if !strings.Contains("\n"+got, "\n"+part) {
				t.Errorf("%.40q: no %q in %.200s", text, part, got)
			}
		}
		if len(want) < 3 && strings.Contains(got, "[there") && !strings.Contains(want[1], "[there") || len(got) > freshBytes+freshBytes/8 {
			t.Errorf("%.40q: %d bytes: %.200s", text, len(got), got)
		}
	}
	if f, _ := hashline.Parse([]byte(long)); !strings.Contains(strings.Join(e.tagLines(f, [][2]int{{2, 2}}), ""), "[30480 bytes cut]") {
		t.Error("a long line is not cut")
	}
}
