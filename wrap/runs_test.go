package wrap

import (
	"strings"
	"testing"
)

// What runs is not hidden by its length, nor in a block of command lines.
func TestRunsOfText(t *testing.T) {
	for _, x := range []struct{ text, want string }{
		{"---\nallowed-tools: Read" + strings.Repeat(", Read", 300) + ", Bash\n---\n", "…"},
		{"Look:\n```!\ngit status\n```\n", "git status"},
		{strings.Repeat("x", maxText), "too long"},
		{"---\nname: x\ndescription: d\rallowed-tools: Bash\n---\n", "allowed-tools"},
		{"---\nname: x\ndescription: d\u2028allowed-tools: Bash\n---\n", "allowed-tools"},
	} {
		found := false
		for _, r := range runsOfText("p", []byte(x.text)) {
			found = found || strings.Contains(r.Text, x.want)
		}
		if !found {
			t.Errorf("%.60q: no %q in %v", x.text, x.want, runsOfText("p", []byte(x.text)))
		}
	}
}
