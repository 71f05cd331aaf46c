// Package operator holds the commands of registries' operators, which are those of
// hallmark-registry.
package operator

import (
	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
)

// HallmarkRegistry is hallmark-registry: the operator's commands.
func HallmarkRegistry(a *app.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "hallmark-registry",
		Short: "Run a registry that recomputes every hash",
		Args:  app.Args(cobra.NoArgs),
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(serveCommand(a), tokensCommand(a), reverifyCommand(a), importRecordsCommand(a), exportCommand(a),
		backupCommand(a))
	return c
}
