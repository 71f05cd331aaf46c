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

// TestNoVersion: so is a version, exact or a range or a tag, that its registry does not have.
func TestNoVersion(t *testing.T) {
	const npm = "npm install: exit status 1\n  npm: npm error code ETARGET\n  npm: npm error notarget " +
		"No matching version found for "
	const uv = "uv compile: exit status 1\n  uv: error: No solution found when resolving dependencies\n  uv:   cause: Because "
	for _, c := range []struct{ starts, said, want string }{
		{"npx -y @acme/notes@99.1.1", npm + "@acme/notes@99.1.1.\n  npm: npm error", "99.1.1 of @acme/notes"},
		{"npx -y notes@>=99", npm + "notes@>=99.", ">=99 of notes"},
		{"npx -y notes@next", npm + "notes@next.", "next of notes"},
		{"uvx notes@99.1", uv + "there is no version of notes==99.1 and you require notes==99.1, we can conclude that " +
			"your requirements are unsatisfiable.", "99.1 of notes"},
		{"uvx --from notes[cli]>=99.1 notes", uv + "only notes<=1.17.0 is available and you require notes[cli]>=99.1, " +
			"we can conclude that", ">=99.1 of notes[cli]"},
		{"npx -y notes@1", npm + "gone@2.", ""}, // which notes depends on
	} {
		s := &ProtectedServer{Name: "notes", File: "/me/mcp.json", Starts: c.starts, Err: errors.New(c.said)}
		s.fail()
		want, hint := "the registry has no version "+c.want, `correct the entry "notes" in /me/mcp.json, `
		if c.want == "" {
			want, hint = c.said, ""
		}
		if s.Reason != want || !strings.HasPrefix(s.Hint, hint) {
			t.Errorf("%s: %s\n%s", c.starts, s.Reason, s.Hint)
		}
	}
}
