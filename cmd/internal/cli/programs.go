// Package cli has the commands of the program hallmark, one file each: flags and printing only. What a command does is
// a flow of internal/.
package cli

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/cmd/internal/author"
	"github.com/hallmark-mcp/hallmark/cmd/internal/editor"
	"github.com/hallmark-mcp/hallmark/cmd/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/launch"
)

// Hallmark is the program with all commands.
func Hallmark(a *app.App) *cobra.Command {
	root := &cobra.Command{
		Use:   "hallmark",
		Short: "Integrity for MCP servers, from publish to launch",
		Long: `Hallmark makes sure that the MCP servers, plugins and skills that you use are those that
you approved: it locks their bytes and what they tell a model, and verifies both at
every start.`,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.AddGroup(
		&cobra.Group{ID: "own", Title: "For your own machine:"},
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
	add("own", protectCommand(a), statusCommand(a), undoCommand(a), doctorCommand(a), scanCommand(a), storeCommand(a),
		selfCommand(a), editor.Command("hashfile"))
	add("author", author.InitCommand(a), author.HashGenCommand(a), author.VerifyCommand(a), author.ValidateCommand(a),
		tryCommand(a), author.LoginCommand(a), author.LogoutCommand(a), author.PackCommand(a),
		author.PublishCommand(a, launch.CaptureArchive), author.DeprecateCommand(a), author.YankCommand(a),
		author.RestoreCommand(a))
	add("user", pinCommand(a), unpinCommand(a), pullCommand(a), runCommand(a), reviewCommand(a),
		forgetCommand(a), checkCommand(a), diffCommand(a), lockCommand(a), surfaceCommand(a), verifyServerCommand(a),
		configCommand(a), addCommand(a), adoptCommand(a), installCommand(a), upgradeCommand(a), removeCommand(a),
		outdatedCommand(a), listCommand(a), treeCommand(a), whyCommand(a), explainCommand(a), sbomCommand(a),
		searchCommand(a), infoCommand(a))
	add("host", pluginCommand(a), trustCommand(a))
	add("operator", registryCommand(), logCommand(a))
	program.SetFrontPage(root,
		[]string{"protect", "status", "review", "upgrade", "undo", "add", "check", "diff", "publish", "doctor"},
		[]string{"author=author", "team=user", "registry=operator", "plugins=host"})
	a.Rewrite = addExisting
	return root
}

// addExisting lets "add --existing" be 'hallmark adopt', with its flags: who looks for a way to add skills that are
// there already looks at add.
func addExisting(_ *cobra.Command, args []string) []string {
	const existing = "--existing"
	if len(args) == 0 || args[0] != "add" || !slices.Contains(args, existing) {
		return args
	}
	return append([]string{"adopt"}, slices.DeleteFunc(slices.Clone(args[1:]), func(word string) bool {
		return word == existing
	})...)
}
