package cli

import (
	"errors"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/surface"
)

const forgetHelp = `Forget that this machine approved or installed servers and facets of a project.

What you accepted once must stay locked: if its entry vanishes from hallmark.lock, Hallmark
refuses the project. Forget it if you took it out on purpose. No file of the project changes.
'hallmark log forget' forgets what a registry's log has shown.

--host takes back your consent to ask a host that files of a checkout name, and to send
variables to it. That is for every project.`

func forgetCommand(a *app.App) *cobra.Command {
	var dir string
	var hosts []string
	var all bool
	c := &cobra.Command{
		Use:               "forget [NAME...]",
		Short:             "Forget earlier approvals on this machine",
		Example:           "notes\nacme-review\n--all --project old/place\n--host registry.example.com",
		Long:              forgetHelp,
		ValidArgsFunction: completeDeclared,
		RunE: func(c *cobra.Command, names []string) error {
			if len(names)+len(hosts) == 0 && !all || len(names) > 0 && all {
				return app.Usage(c, errors.New("name a server or a facet, or give --all or --host"))
			}
			h, err := a.Host(dir)
			if err != nil {
				return err
			}
			for _, name := range hosts {
				if err := host.ForgetHost(h, name); err != nil {
					return err
				}
				a.Note("%s is not asked any more before somebody agrees", surface.Escape(name))
			}
			if _, gone := os.Stat(dir); all && errors.Is(gone, fs.ErrNotExist) {
				names, err = workspace.ForgetGone(c.Context(), h, dir)
			} else if all {
				names, err = workspace.ForgetAll(c.Context(), h, dir)
			} else if len(names) > 0 {
				err = workspace.Forget(c.Context(), h, dir, names)
			}
			if err != nil {
				return err
			}
			for _, name := range names {
				a.Note("%s is forgotten on this machine", surface.Escape(name))
			}
			return nil
		},
	}
	addProjectFlag(a, c, &dir)
	c.Flags().BoolVar(&all, "all", false, "forget the whole project, as when it was moved or deleted")
	c.Flags().StringArrayVar(&hosts, "host", nil, "take back your consent to ask `HOST[:PORT]`; may be repeated")
	return c
}
