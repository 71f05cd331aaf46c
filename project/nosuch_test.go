package project

import (
	"errors"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// TestNoSuchNearest: the name that was meant comes first, also where more names are there than are shown.
func TestNoSuchNearest(t *testing.T) {
	names := strings.Fields("a b c d e f g h notes-server weather")
	for typed, want := range map[string]string{
		"wether": "did you mean weather? ", "Notes": "did you mean notes-server? ", "weahter": "did you mean weather? ",
		"puppet": "", "zz": "", strings.Repeat("x", 1000): "", "": "",
	} {
		var found *evidence.Error
		if !errors.As(NoSuch("server", LockFile, typed, names), &found) ||
			!strings.HasPrefix(found.Hint, want+"there is a, b, c, d, e, f, g, h and 2 more, see ") {
			t.Errorf("%s: %s", typed, found.Hint)
		}
	}
}
