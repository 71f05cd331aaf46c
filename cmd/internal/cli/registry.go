package cli

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/descend"
	"github.com/hallmark-mcp/hallmark/internal/foreign"
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
			path, err := findRegistryProgram()
			if err != nil {
				return err
			}
			return descend.Become(path, append([]string{path}, args...), os.Environ())
		},
	}
}

// findRegistryProgram looks beside this program, where they are installed together, and
// in PATH, but in no directory of the checkout.
func findRegistryProgram() (string, error) {
	name := registryProgram
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), name)
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
			return beside, nil
		}
	}
	home, _ := os.UserHomeDir() // without one every directory above counts as the checkout's
	path, err := foreign.FindCheckout(".", home).Find(os.Getenv("PATH"), registryProgram)
	if errors.Is(err, foreign.ErrNotFound) {
		return "", evidence.Errorf(evidence.Operation, registryProgram, "install it beside this program, or in a directory of PATH", errors.New("not found"))
	}
	return path, err
}
