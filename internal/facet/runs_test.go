package facet

import (
	"strings"
	"testing"
)

// What a head permits is not hidden by its length, nor by line ends that only some programs know.
func TestRunsOfHead(t *testing.T) {
	for _, x := range []struct{ text, want string }{
		{"---\nallowed-tools: Read" + strings.Repeat(", Read", 300) + ", Bash\n---\n", ", Bash"},
		{strings.Repeat("x", maxText), "too long"},
		{"---\nname: x\ndescription: d\rallowed-tools: Bash\n---\n", "allowed-tools"},
		{"---\nname: x\ndescription: d\u2028allowed-tools: Bash\n---\n", "allowed-tools"},
	} {
		found := false
		for _, r := range runsOfHead("p", []byte(x.text)) {
			found = found || strings.Contains(r.Text, x.want)
		}
		if !found {
			t.Errorf("%.60q: no %q in %v", x.text, x.want, runsOfHead("p", []byte(x.text)))
		}
	}
}
