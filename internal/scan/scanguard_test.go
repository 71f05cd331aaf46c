package scan

import (
	"testing"

	"github.com/hallmark-mcp/hallmark/project"
)

// TestSteersLoading: an entry of a client that sets such a variable is not shown as guarded.
func TestSteersLoading(t *testing.T) {
	declared := project.Server{Variables: []string{"LUA_INIT", "DOTNET_STARTUP_HOOKS", "GLIBC_TUNABLES", "NOTES_KEY"}}
	for name, want := range map[string]bool{"LUA_INIT": false, "DOTNET_STARTUP_HOOKS": false, "GLIBC_TUNABLES": false,
		"NOTES_KEY": true} {
		if allowedVariable(declared, name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}
