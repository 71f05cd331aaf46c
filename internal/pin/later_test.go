package pin

import (
	"errors"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/closure"
	"github.com/hallmark-mcp/hallmark/project"
)

// TestExplainLater: a server that was written for an earlier version of what it needs is told how to get that version;
// other failures, and what nobody can write an argument for, keep their hints.
func TestExplainLater(t *testing.T) {
	later := []closure.LaterMajor{{Name: "mcp", Requirement: ">=1.1.3", Version: "2.3.0", Before: 2}}
	uvx := project.Server{Command: "uvx"}
	died := &evidence.Error{Subject: "fetch", Kind: evidence.Operation, Err: errors.New("died"), Hint: "look"}
	var e *evidence.Error
	if !errors.As(explainLater(died, uvx, later), &e) ||
		!strings.HasPrefix(e.Hint, `it requires mcp>=1.1.3, which is 2.3.0 now; `) ||
		!strings.Contains(e.Hint, `put "--with", "mcp<2" before`) || !strings.HasSuffix(e.Hint, "else, look") || died.Hint != "look" {
		t.Errorf("%v", e)
	}
	refused := &evidence.Error{Subject: "fetch", Kind: evidence.Refused, Err: errors.New("no")}
	for name, err := range map[string]error{
		"no later version": explainLater(died, uvx, nil),
		"of a record":      explainLater(died, project.Server{Record: "r"}, later),
		"refused":          explainLater(refused, uvx, later),
	} {
		if err != died && err != refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}
