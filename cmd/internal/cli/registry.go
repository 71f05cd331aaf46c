package cli

import (
	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
)

// registryProgram has the commands of 'hallmark registry'. It is a separate program, so that
// hallmark links no server and no database.
const registryProgram = "hallmark-registry"

// registryCommand hands all arguments over to hallmark-registry.
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
