package cli

import (
	"github.com/spf13/cobra"
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
		&cobra.Group{ID: "author", Title: "For authors of servers:"},
		&cobra.Group{ID: "user", Title: "For users of servers:"},
		&cobra.Group{ID: "operator", Title: "For operators of registries:"})
	add := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add("author", a.init(), a.hashGen(), a.verify(), a.validate(), a.login(), a.logout(), a.publish(), a.status())
	add("user", a.pin(), a.run(), a.review(), a.check())
	add("operator", a.registry(), a.log())
	return root
}

// Publisher is mcp-publisher: the author's commands.
func Publisher(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "mcp-publisher",
		Short: "Hash the packages of an MCP server and publish it",
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.AddCommand(a.init(), a.login(), a.logout(), a.publish(), a.status(), a.verify(), a.hashGen(), a.validate())
	return root
}
