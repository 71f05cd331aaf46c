package author

import (
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
)

// The official mcp-publisher takes its flags with one dash, and its help writes them so.
func TestOneDash(t *testing.T) {
	root := Publisher(new(app.App))
	for line, want := range map[string]string{
		"login dns -algorithm ed25519 -domain example.com " +
			"-private-key 00": "login dns --algorithm ed25519 --domain example.com --private-key 00",
		"status -status=deleted -y -all-versions " +
			"com.example/notes": "status --status=deleted -y --all-versions com.example/notes",
		"publish --no-hash -json": "publish --no-hash --json",
		"publish -":               "publish -",
		"publish -unknown -n":     "publish -unknown -n",
		"publish -- -json":        "publish -- -json",
	} {
		args := strings.Fields(line)
		if got := strings.Join(DoubleDashes(root, args), " "); got != want ||
			!slices.Equal(args, strings.Fields(line)) {
			t.Errorf("%s: %s", line, got)
		}
	}
}
