package plugins

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/world"
)

// TestPluginScripts runs the tests of the scripts that readers of the guide look for, with the program.
func TestPluginScripts(t *testing.T) {
	t.Parallel()
	node := nodeProgram(t)
	c := exec.CommandContext(t.Context(), node, "--test", filepath.Join("test", "scripts.test.js"))
	c.Dir = filepath.Join("..", "..", "npm", "plugin-host")
	c.Env = append(os.Environ(), "HALLMARK="+world.Build(t, "hallmark"), "CI=true")
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
