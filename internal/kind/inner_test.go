package kind

import (
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/launcher"
)

// TestImageStartsPackage: an image whose own configuration fetches a package is found, as started.
func TestImageStartsPackage(t *testing.T) {
	for _, c := range []struct{ entrypoint, command, line, inner string }{
		{"npx -y mail", "", "run img:1", "npx -y mail"},
		{"", "npx -y mail", "run img:1", "npx -y mail"},
		{"", "npx -y mail", "run img:1 serve", ""},
		{"docker-entrypoint.sh", "uvx mail", "run img:1", "uvx mail"},
		{"npx -y", "", "run img:1 mail", "npx -y mail"},
		{"npx -y mail", "", "run --entrypoint serve img:1", ""},
		{"node dist/index.js", "", "run img:1", ""},
		{"uv run server.py", "", "run img:1", ""},
	} {
		var config imageConfig
		config.Config.Entrypoint, config.Config.Cmd = strings.Fields(c.entrypoint), strings.Fields(c.command)
		if got := strings.Join(config.inner(launcher.Parse("docker", strings.Fields(c.line))), " "); got != c.inner {
			t.Errorf("%+v: got %q", c, got)
		}
	}
}
