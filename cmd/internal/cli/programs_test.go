package cli

import (
	"io"
	"slices"
	"testing"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/cmd/internal/operator"
	"github.com/hallmark-mcp/hallmark/evidence"
)

// A group of commands refuses what is none of them: one that showed its help in place of a
// check that was misspelt would pass it.
func TestGroupsRefuse(t *testing.T) {
	groups := 0
	var look func(define app.Program, c *cobra.Command, path []string)
	look = func(define app.Program, c *cobra.Command, path []string) {
		if c.HasSubCommands() && c.Name() != "completion" {
			groups++
			root := define(&app.App{Stdout: io.Discard, Stderr: io.Discard})
			root.SilenceErrors, root.SilenceUsage = true, true
			root.SetOut(io.Discard)
			root.SetArgs(append(slices.Clone(path), "nonsense"))
			if err := root.ExecuteContext(t.Context()); err == nil ||
				len(path) > 0 && evidence.ClassOf(err) != evidence.Validation {
				t.Errorf("%q nonsense: %v", path, err)
			}
		}
		for _, below := range c.Commands() {
			look(define, below, append(slices.Clone(path), below.Name()))
		}
	}
	for _, define := range []app.Program{Hallmark, operator.HallmarkRegistry} {
		look(define, define(&app.App{Stdout: io.Discard, Stderr: io.Discard}), nil)
	}
	if groups < 9 {
		t.Errorf("%d groups", groups)
	}
}

// What hallmark offers to hand over is what the other program has.
func TestRegistryCommandsAreKnown(t *testing.T) {
	var there []string
	for _, c := range operator.HallmarkRegistry(new(app.App)).Commands() {
		there = append(there, c.Name())
	}
	offered := slices.Sorted(slices.Values(registryCommand().ValidArgs))
	if slices.Sort(there); !slices.Equal(offered, there) {
		t.Errorf("hallmark registry offers %q, %s has %q", offered, registryProgram, there)
	}
}
