// Package author holds the commands of authors: hashing packages, publishing, logging in.
// mcp-publisher has only these; hallmark has them too.
package author

import (
	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
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
		VerifyCommand(a), HashGenCommand(a), ValidateCommand(a))
	return root
}
