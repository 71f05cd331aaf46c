package cli

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// A group of commands refuses what is none of them: one that showed its help in place of a
// check that was misspelt would pass it.
func TestGroupsRefuse(t *testing.T) {
	groups := 0
	var look func(c *cobra.Command, path []string)
	look = func(c *cobra.Command, path []string) {
		if c.HasSubCommands() && c.Name() != "completion" {
			groups++
			root := Hallmark(&app{stdout: io.Discard, stderr: io.Discard})
			root.SilenceErrors, root.SilenceUsage = true, true
			root.SetOut(io.Discard)
			root.SetArgs(append(slices.Clone(path), "nonsense"))
			if err := root.ExecuteContext(t.Context()); err == nil || len(path) > 0 && evidence.ClassOf(err) != evidence.Validation {
				t.Errorf("%q nonsense: %v", path, err)
			}
		}
		for _, below := range c.Commands() {
			look(below, append(slices.Clone(path), below.Name()))
		}
	}
	look(Hallmark(&app{stdout: io.Discard, stderr: io.Discard}), nil)
	if groups < 9 {
		t.Errorf("%d groups", groups)
	}
}

// The official mcp-publisher takes its flags with one dash, and its help writes them so.
func TestOneDash(t *testing.T) {
	root := Publisher(new(app))
	for line, want := range map[string]string{
		"login dns -algorithm ed25519 -domain example.com -private-key 00": "login dns --algorithm ed25519 --domain example.com --private-key 00",
		"status -status=deleted -y -all-versions com.example/notes":        "status --status=deleted -y --all-versions com.example/notes",
		"publish --no-hash -json":                                          "publish --no-hash --json",
		"publish -":                                                        "publish -",
		"publish -unknown -n":                                              "publish -unknown -n",
		"publish -- -json":                                                 "publish -- -json",
	} {
		args := strings.Fields(line)
		if got := strings.Join(oneDash(root, args), " "); got != want || !slices.Equal(args, strings.Fields(line)) {
			t.Errorf("%s: %s", line, got)
		}
	}
}
