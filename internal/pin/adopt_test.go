package pin

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/clients"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
)

// An entry of "uv run" with packages is taken over as one of uvx, unless a project's own packages are there too.
func TestOutsideProject(t *testing.T) {
	empty, project, environment := t.TempDir(), t.TempDir(), t.TempDir()
	for _, file := range []string{filepath.Join(project, "pyproject.toml"), filepath.Join(environment, ".venv", "pyvenv.cfg")} {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := clients.Server{Command: "uv", Args: []string{"run", "--with", "fastmcp", "fastmcp", "run", "/s.py"}}
	for name, c := range map[string]struct {
		w    *workspace.Workspace
		want string
	}{
		"the user's own":      {&workspace.Workspace{Dir: project, Home: project}, "uvx"},
		"no project":          {&workspace.Workspace{Dir: empty}, "uvx"},
		"below a project":     {&workspace.Workspace{Dir: filepath.Join(project, "a")}, "uv"},
		"with a project":      {&workspace.Workspace{Dir: project}, "uv"},
		"with an environment": {&workspace.Workspace{Dir: environment}, "uv"},
	} {
		if got := outsideProject(c.w, s); got.Command != c.want {
			t.Errorf("%s: %s %q", name, got.Command, got.Args)
		}
	}
}
