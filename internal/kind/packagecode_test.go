package kind

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// TestEntryOfScriptRunner: a command that runs the script which it is told to does so whichever package is named first.
func TestEntryOfScriptRunner(t *testing.T) {
	w := workspace.Empty(&host.Host{}, t.TempDir())
	for _, name := range []string{"server.py", "helper.py"} {
		if err := os.WriteFile(filepath.Join(w.Dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		packages []string
		entry    string
		refused  int
	}{
		{[]string{"--from", "fastmcp", "fastmcp"}, "fastmcp.cli:app", 1},
		{[]string{"--from", "aiohttp", "--with", "fastmcp", "fastmcp"}, "fastmcp.cli:app", 1},
		{[]string{"--from", "fastmcp-slim", "fastmcp"}, "fastmcp.cli:app", 1},
		{[]string{"--from", "notes", "mcp"}, "notes.mcp:main", 0},
		{[]string{"notes"}, "mcp.js", 0},
	} {
		s := project.Server{Name: "s", Command: "uvx", Arguments: append(c.packages, "run", "server.py")}
		r := newCommandFiles(w, &program.Program{Server: s.Name}, s)
		r.arguments = []string{"run", "server.py"}
		if err := r.addNamedFiles(); err != nil {
			t.Fatal(err)
		}
		err := pypi.judgeNeighbours(r, s, c.entry, slices.Sorted(maps.Keys(r.items)), nil)
		if err != nil || len(r.refused) != c.refused || len(r.p.Report) != 1-c.refused {
			t.Errorf("%s: %v, %v, %v", c.packages, err, r.refused, r.p.Report)
		}
	}
}
