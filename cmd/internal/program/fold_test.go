package program

import (
	"slices"
	"testing"
)

func TestFoldLine(t *testing.T) {
	for line, want := range map[string][]string{
		"":                            {""},
		"short":                       {"short"},
		"exactly te":                  {"exactly te"},
		"eleven long":                 {"eleven", "long"},
		"  a b c d e f g":             {"  a b c d", "  e f g"},
		"  sha256:0123456789":         {"  sha256:0123456789"},
		"a sha256:0123456789 b":       {"a", "sha256:0123456789 b"},
		"éé éé éé éé":                 {"éé éé éé", "éé"},
		"         deep in it, so":     {"         deep in it, so"},
		"a  bc de fg hij":             {"a  bc de", "   fg hij"},
		"a  bc 012345678 hi":          {"a  bc", "012345678", "   hi"},
		"a \x1b[31mbcd\x1b[0m efg hi": {"a \x1b[31mbcd\x1b[0m efg", "hi"},
	} {
		if got := FoldLine(line, 10); !slices.Equal(got, want) {
			t.Errorf("%q: %q", line, got)
		}
	}
}
