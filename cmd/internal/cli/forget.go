package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark"
	"github.com/hallmark-mcp/hallmark/surface"
)

func (a *app) forget() *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:     "forget NAME...",
		Short:   "Give up what this machine remembers of servers and facets",
		Example: "notes\nacme-review",
		Long: `Give up what this machine remembers of servers and facets of a project: that it approved or
installed them. What was accepted here once is owed from then on, so that taking its entry out
of hallmark.lock is refused and not just warned about; this pays it off. Nothing of the project
is changed. What a registry's log has shown is forgotten with 'hallmark log forget'.`,
		Args:              args(cobra.MinimumNArgs(1)),
		ValidArgsFunction: completeDeclared,
		RunE: func(c *cobra.Command, names []string) error {
			h, err := a.host(dir)
			if err != nil {
				return err
			}
			if err := hallmark.Forget(c.Context(), h, dir, names); err != nil {
				return err
			}
			for _, name := range names {
				fmt.Fprintf(a.stderr, "%s: %s is forgotten on this machine\n", a.name, surface.Escape(name))
			}
			return nil
		},
	}
	projectFlag(c, &dir)
	return c
}
