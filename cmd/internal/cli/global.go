package cli

import (
	"errors"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/places"
)

// addGlobalFlag adds --global, which makes dir that of the project of the user's own clients. With begin
// the directory is made if there is none.
func addGlobalFlag(c *cobra.Command, dir *string, begin bool) {
	global := c.Flags().Bool("global", false, "work for your own clients, in your home directory, and not for a project")
	c.PreRunE = func(c *cobra.Command, _ []string) error {
		if !*global {
			return nil
		}
		if c.Flags().Changed("project") {
			return app.Usage(c, errors.New("--global and --project name two projects"))
		}
		where, err := places.Find(os.Getenv)
		if err != nil {
			return err
		}
		*dir = where.Config
		if begin {
			return os.MkdirAll(where.Config, 0o700)
		}
		if _, err := os.Stat(where.Config); errors.Is(err, fs.ErrNotExist) {
			return evidence.Errorf(evidence.Validation, where.Config,
				"'hallmark add NAME --global --registry URL' begins with the first facet",
				errors.New("nothing is installed for your own clients"))
		}
		return nil
	}
}
