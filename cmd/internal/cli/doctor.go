package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/cmd/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/check"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/surface"
)

func doctorCommand(a *app.App) *cobra.Command {
	var asJSON bool
	o := check.MachineOptions{Version: program.Release()}
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Look for what is missing or in the way on this machine",
		Long: `Look at this program, its directories, the programs that start servers, your clients and
the package registries, and say of each what to do. Nothing is changed. Exit code 1 if
Hallmark cannot do its work; what only some servers need is a note.`,
		Args: app.Args(cobra.NoArgs),
		RunE: a.Reporting(&asJSON, a.OnHost(nil, func(c *cobra.Command, h *host.Host, _ []string) error {
			o.Program = app.OwnFile()
			o.Home, _ = os.UserHomeDir()
			found, err := check.Examine(c.Context(), h, o)
			a.Bars.Stop()
			if asJSON {
				return a.WriteJSON(struct {
					app.Outcome
					Checks []check.MachineFinding `json:"checks"`
				}{app.OutcomeOf(policy.Verdict{}, err), found}, err)
			}
			for _, f := range found {
				fmt.Fprintf(a.Stdout, "%-8s %-17s %s\n", f.State, f.Name, surface.Escape(f.Found))
				if f.Do != "" {
					fmt.Fprintf(a.Stdout, "%27s%s\n", "", surface.Escape(f.Do))
				}
			}
			return err
		})),
	}
	c.Flags().BoolVar(&o.Offline, "offline", false, "ask no registry")
	c.Flags().BoolVar(&asJSON, "json", false, "print what was found as one JSON document")
	return c
}
