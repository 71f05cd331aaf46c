package scan

import (
	"errors"
	"strings"
	"testing"
)

// TestNoPackage: a package that its registry does not have is said in one line, with the entry to correct, whichever
// program asked for it; what is said of a package that the entry does not name stays as it is.
func TestNoPackage(t *testing.T) {
	for _, c := range []struct{ starts, said, want string }{
		{"npx -y @acme/ntoes", "npm install: exit status 1\n  npm: npm error code E404\n" +
			"  npm: npm error 404  The requested resource '@acme/ntoes@*' could not be found or you do not have permission " +
			"to access it.\n  npm: npm error 404", "@acme/ntoes"},
		{"npx -y ntoes@1", "npm install: exit status 1\n  npm: npm error 404  'ntoes@1' is not in this registry.", "ntoes"},
		{"uvx ntoes", "uv compile: exit status 1\n  uv: error: No solution found\n  uv:   cause: Because ntoes was not " +
			"found in the package registry and you require ntoes, it is unsatisfiable.", "ntoes"},
		{"npx -y notes@1", "npm install: exit status 1\n  npm: npm error 404  'gone@1' is not in this registry.", ""},
	} {
		s := &ProtectedServer{Name: "notes", File: "/me/mcp.json", Starts: c.starts, Err: errors.New(c.said)}
		s.fail()
		want := "the registry has no package " + c.want + ", or does not show it to you"
		if c.want == "" && (s.Reason != c.said || s.Hint != "") || c.want != "" && (s.Reason != want ||
			!strings.HasPrefix(s.Hint, `correct the entry "notes" in /me/mcp.json, `)) {
			t.Errorf("%s: %s\n%s", c.starts, s.Reason, s.Hint)
		}
	}
}
