package operator

import (
	"errors"
	"io"
	"testing"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/evidence"
)

// TestHintNamesProgram shows that a hint names a command of the program that runs:
// hallmark-registry may be installed alone, as in the image.
func TestHintNamesProgram(t *testing.T) {
	a := &app.App{Stdout: io.Discard, Stderr: io.Discard}
	below := &cobra.Command{Use: "hallmark"}
	registry := &cobra.Command{Use: "registry"}
	registry.AddCommand(tokensCommand(a))
	below.AddCommand(registry)
	data := t.TempDir()
	for _, c := range []struct {
		root *cobra.Command
		path []string
		hint string
	}{
		{HallmarkRegistry(a), nil, "see 'hallmark-registry token list'"},
		{below, []string{"registry"}, "see 'hallmark registry token list'"},
	} {
		c.root.SilenceErrors, c.root.SilenceUsage = true, true
		run := func(args ...string) error {
			c.root.SetArgs(append(append(c.path, "token"), append(args, "--data", data)...))
			return c.root.ExecuteContext(t.Context())
		}
		if err := run("create", "--publish", "com.example/*"); err != nil {
			t.Fatal(err)
		}
		var unknown *evidence.Error
		if err := run("revoke", "0000"); !errors.As(err, &unknown) || unknown.Hint != c.hint {
			t.Errorf("%v, want the hint %q", err, c.hint)
		}
	}
}
