package cli

import (
	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/pin"
	"github.com/hallmark-mcp/hallmark/surface"
)

func pullCommand(a *app.App) *cobra.Command {
	var dir string
	var asJSON bool
	var o pin.PullOptions
	c := &cobra.Command{
		Use:     "pull NAME",
		Short:   "Fetch a locked image into an OCI layout and verify every blob",
		Example: "notes -o notes.oci",
		Long: `Fetch the image of a server by the digest that hallmark.lock has, with its manifest and
every blob, compare each with the digest that leads to it, and write an OCI layout, from
which container engines load images. Nothing is left behind if anything differs.`,
		Args:              app.Args(cobra.ExactArgs(1)),
		ValidArgsFunction: completeServers,
		RunE: a.Reporting(&asJSON, a.OnHost(&dir, func(c *cobra.Command, h *host.Host, names []string) error {
			if o.Output == "" {
				o.Output = names[0] + ".oci"
			}
			p, err := pin.Pull(c.Context(), h, dir, names[0], o)
			a.Bars.Stop()
			if p == nil {
				p = new(pin.Pulled)
			}
			if asJSON {
				return a.WriteJSON(struct {
					app.Outcome
					Digest digest.Digest `json:"digest"`
					Output string        `json:"output"`
				}{app.OutcomeOf(p.Verdict, err), p.Digest, p.Output}, err)
			}
			if err != nil {
				return err
			}
			a.Note("%s: %d files, each verified, in %s", p.Digest, p.Files, surface.Escape(p.Output))
			return nil
		})),
	}
	addProjectFlag(a, c, &dir)
	a.AllowFlags(c)
	c.Flags().StringVarP(&o.Output, "output", "o", "", "the `directory` to make (default NAME.oci)")
	c.Flags().StringVar(&o.Platform, "platform", "", "the `platform` of an index, or all (default this machine's)")
	c.Flags().BoolVar(&asJSON, "json", false, "print what was fetched as one JSON document")
	return c
}
