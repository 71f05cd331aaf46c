package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hallmark-mcp/hallmark/cmd/internal/editor"
	"github.com/hallmark-mcp/hallmark/cmd/internal/program"
)

// Hallmark is the program with all commands.
func Hallmark(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "hallmark",
		Short: "Integrity for MCP servers, from publish to launch",
		Long: `Hallmark recomputes what is claimed of MCP servers from their bytes, compares, judges
by policy, and only then acts: what was published is what is pinned, what is pinned
is what runs, and what runs shows the model what was approved.`,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.AddGroup(
		&cobra.Group{ID: "author", Title: "For authors of servers and facets:"},
		&cobra.Group{ID: "user", Title: "For users of servers and facets:"},
		&cobra.Group{ID: "host", Title: "For authors and hosts of plugins:"},
		&cobra.Group{ID: "operator", Title: "For operators of registries:"},
		&cobra.Group{ID: "other", Title: "Other:"})
	root.SetCompletionCommandGroupID("other")
	add := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add("author", a.init(), a.hashGen(), a.verify(), a.validate(), a.login(), a.logout(), a.pack(), a.publish(), a.status())
	add("user", a.scan(), a.pin(), a.unpin(), a.pull(), a.run(), a.review(), a.forget(), a.check(), a.surface(), a.verifyServer(), a.config(), editor.Command("hashfile"),
		a.add(), a.install(), a.upgrade(), a.remove(), a.outdated(), a.list(), a.store())
	add("host", a.plugin(), a.trust())
	add("operator", a.registry(), a.log())
	return root
}

const publisherName = "mcp-publisher"

// Publisher is mcp-publisher: the author's commands.
func Publisher(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   publisherName,
		Short: "Hash the packages of an MCP server and publish it",
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.AddCommand(a.init(), a.login(), a.logout(), a.publish(), a.status(), a.verify(), a.hashGen(), a.validate(), &cobra.Command{
		Use: "version", Short: "Print the version", Args: args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(a.stdout, "%s %s\n", root.Name(), program.Release())
			return err
		},
	})
	return root
}

// oneDash rewrites -flag and -flag=value, as the official mcp-publisher and its examples
// write them, with two dashes, where a command below root has a flag of that name.
func oneDash(root *cobra.Command, args []string) []string {
	known := map[string]bool{}
	var learn func(*cobra.Command)
	learn = func(c *cobra.Command) {
		c.Flags().VisitAll(func(f *pflag.Flag) { known[f.Name] = true })
		for _, below := range c.Commands() {
			learn(below)
		}
	}
	learn(root)
	out := slices.Clone(args)
	for i, arg := range out {
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "-"), "=")
		switch {
		case arg == "--":
			return out
		case len(name) > 1 && strings.HasPrefix(arg, "-") && known[name]:
			out[i] = "-" + arg
		}
	}
	return out
}
