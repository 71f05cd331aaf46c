package scan

import (
	"errors"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/closure"
)

// What the registry of an entry's package does not have is said in one line, with the entry to correct; what else a
// resolver says stays as it is.
func TestNoPackage(t *testing.T) {
	missing := &closure.MissingError{Name: "ntoes"}
	for _, c := range []struct {
		err          error
		reason, hint string
	}{
		{evidence.Errorf(evidence.Operation, "npm:ntoes", "correct the name", missing), missing.Error(),
			`correct the entry "notes" in /me/mcp.json, `},
		{errors.New("npm install: exit status 1"), "npm install: exit status 1", ""},
	} {
		s := &ProtectedServer{Name: "notes", File: "/me/mcp.json", Starts: "npx -y ntoes", Err: c.err}
		if s.fail(); s.Reason != c.reason || !strings.HasPrefix(s.Hint, c.hint) || c.hint == "" && s.Hint != "" {
			t.Errorf("%s\n%s", s.Reason, s.Hint)
		}
	}
}
