package cli

import (
	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
)

// registryProgram has the commands of 'hallmark registry': a program of its own, so that
// those who run no registry carry no server and no databases.
const registryProgram = "hallmark-registry"

// registryCommand hands over to hallmark-registry, with all that was said.
func registryCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "registry",
		Short:              "Run a registry that recomputes every hash",
		DisableFlagParsing: true,
		ValidArgs:          []string{"serve", "token", "reverify", "import", "export", "backup"},
		RunE: func(_ *cobra.Command, args []string) error {
			return app.HandOver(registryProgram, args)
		},
	}
}
