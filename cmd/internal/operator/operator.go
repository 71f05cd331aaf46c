// Package operator holds the commands of registries' operators, which are the ones of
// hallmark-registry.
package operator

import (
	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
)

// HallmarkRegistry is hallmark-registry: the operator's commands.
func HallmarkRegistry(a *app.App) *cobra.Command {
	return app.Group(&cobra.Command{
		Use:   "hallmark-registry",
		Short: "Run a registry that recomputes every hash",
	}, serveCommand(a), tokensCommand(a), reverifyCommand(a), importRecordsCommand(a), exportCommand(a),
		backupCommand(a))
}
