// Package author holds the commands of authors: hashing packages, publishing, logging in.
// mcp-publisher has only these; hallmark has them too.
package author

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/cmd/internal/program"
)

// PublisherName is the program that has only the authors' commands.
const PublisherName = "mcp-publisher"

// Publisher returns mcp-publisher: the authors' commands.
func Publisher(a *app.App) *cobra.Command {
	a.Rewrite = DoubleDashes
	root := &cobra.Command{
		Use:   PublisherName,
		Short: "Hash the packages of an MCP server and publish it",
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.AddCommand(InitCommand(a), LoginCommand(a), LogoutCommand(a), PublishCommand(a, nil), StatusCommand(a),
		VerifyCommand(a), HashGenCommand(a), ValidateCommand(a), &cobra.Command{
			Use: "version", Short: "Print the version", Args: app.Args(cobra.NoArgs),
			RunE: func(c *cobra.Command, _ []string) error {
				_, err := fmt.Fprintf(a.Stdout, "%s %s\n", root.Name(), program.Release())
				return err
			},
		})
	return root
}
