package cli

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/cmd/internal/operator"
	"github.com/hallmark-mcp/hallmark/cmd/internal/program"
)

var write = flag.Bool("write", false, "write docs/commands.md anew")

// docs/commands.md has every command, as its definition describes it.
func TestCommandReference(t *testing.T) {
	const (
		page  = top + "docs/commands.md"
		start = "<!-- what follows is written by go test ./cmd/internal/cli -run CommandReference -write -->\n"
	)
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, _, ok := strings.Cut(string(data), start)
	if !ok {
		t.Fatalf("%s has no place for the commands", page)
	}
	want := before + start + reference()
	if want == string(data) {
		return
	}
	if !*write {
		t.Fatalf("%s does not say what the commands do; run go test ./cmd/internal/cli -run CommandReference -write", page)
	}
	if err := os.WriteFile(page, []byte(want), 0o600); err != nil {
		t.Fatal(err)
	}
}

// reference is the help of every command, after a table of them all. What hallmark hands over is described as the
// program does that it hands it to.
func reference() string {
	root := Hallmark(new(app.App))
	program.AddHelpAndVersion(root)
	for _, c := range root.Commands() {
		if c.Name() == "registry" {
			theirs := operator.HallmarkRegistry(new(app.App))
			theirs.Use, theirs.Short, theirs.GroupID = c.Name(), c.Short, c.GroupID
			root.RemoveCommand(c)
			root.AddCommand(theirs)
		}
	}
	var tables, texts strings.Builder
	for _, g := range root.Groups() {
		fmt.Fprintf(&tables, "\n## %s\n\n| command | does |\n|---|---|\n", strings.TrimSuffix(g.Title, ":"))
		for _, c := range root.Commands() {
			if c.GroupID != g.ID || c.Name() == "help" || !c.IsAvailableCommand() {
				continue
			}
			each(c, func(c *cobra.Command) {
				if !c.IsAvailableCommand() {
					return
				}
				if name := c.CommandPath(); !c.HasSubCommands() {
					fmt.Fprintf(&tables, "| [`%s`](#%s) | %s |\n", name, strings.ReplaceAll(name, " ", "-"), c.Short)
				}
				fmt.Fprintf(&texts, "\n### %s\n\n```text\n%s\n```\n", c.CommandPath(), strings.TrimSpace(program.Help(c, 100)))
			})
		}
	}
	return tables.String() + "\n## Each command\n" + texts.String()
}
