package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/check"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/surface"
)

func storeCommand(a *app.App) *cobra.Command {
	c := app.Group(&cobra.Command{
		Use:   "store",
		Short: "Verify, prune or find the store of this machine",
	})
	c.AddCommand(storeVerifyCommand(a), storePruneCommand(a), &cobra.Command{
		Use: "path", Short: "Print the store's directory", Args: app.Args(cobra.NoArgs),
		RunE: a.OnHost(nil, func(c *cobra.Command, h *host.Host, _ []string) error {
			path, err := check.StorePath(h)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.Stdout, path)
			return err
		}),
	})
	return c
}

func storeVerifyCommand(a *app.App) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "verify",
		Short: "Hash all that is in the store again",
		Long: `Hash every file of every slot again and compare it with the slot's address and sidecar.
Anything else in the store is refused; what was moved to quarantine is named. Nothing is
moved or repaired: the next command that uses a bad slot does that.`,
		Args: app.Args(cobra.NoArgs),
		RunE: a.Reporting(&asJSON, a.OnHost(nil, func(c *cobra.Command, h *host.Host, _ []string) error {
			found, err := check.VerifyStore(c.Context(), h)
			if err == nil {
				err = found.Verdict.Err()
			}
			if asJSON {
				return a.WriteJSON(struct {
					app.Outcome
					Slots       int      `json:"slots"`
					Quarantined []string `json:"quarantined"`
				}{app.OutcomeOf(found.Verdict, err), found.Slots, append([]string{}, found.Quarantined...)}, err)
			}
			for _, path := range found.Quarantined {
				a.Note("in quarantine, not verified and not used: %s", surface.Escape(path))
			}
			if err == nil {
				a.Note("%s verified", evidence.Count(found.Slots, "slot"))
			}
			return errors.Join(app.WriteReport(a.Stdout, found.Verdict), err)
		})),
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the evidence as one JSON document")
	return c
}

const storePruneHelp = `Remove what the locks of this machine's projects do not name: those for which it has
installed or approved something. Remembered scans of plugins' scripts go too. What is
younger than --older-than stays.

Damaged contents are in quarantine, for inspection. They are removed after
--quarantine-older-than, or the oldest first if there is more than --quarantine-bytes.`

func storePruneCommand(a *app.App) *cobra.Command {
	var asJSON bool
	var o check.Pruning
	c := &cobra.Command{
		Use:     "prune",
		Short:   "Remove what no lock of this machine's projects names",
		Example: "\n--older-than 1h",
		Long:    storePruneHelp,
		Args:    app.Args(cobra.NoArgs),
		RunE: a.Reporting(&asJSON, func(c *cobra.Command, _ []string) error {
			if o.Age < 0 || o.QuarantineAge < 0 || o.QuarantineSize < 0 {
				return app.Usage(c, errors.New("a span or a size cannot be negative"))
			}
			h, err := a.Host(".")
			if err != nil {
				return err
			}
			gone, err := check.PruneStore(c.Context(), h, o)
			if asJSON {
				return a.WriteJSON(struct {
					app.Outcome
					Removed     []digest.Digest `json:"removed"`
					Quarantined []string        `json:"quarantined"`
				}{app.OutcomeOf(policy.Verdict{}, err), append([]digest.Digest{}, gone.Slots...),
					append([]string{}, gone.Quarantined...)}, err)
			}
			for _, d := range gone.Slots {
				if _, err := fmt.Fprintln(a.Stdout, d); err != nil {
					return err
				}
			}
			for _, path := range gone.Quarantined {
				a.Note("removed from quarantine: %s", surface.Escape(path))
			}
			a.Note("%s removed", evidence.Count(len(gone.Slots), "slot"))
			return err
		}),
	}
	c.Flags().DurationVar(&o.Age, "older-than", 24*time.Hour, "keep what is younger than this `span`, such as 1h")
	c.Flags().DurationVar(&o.QuarantineAge, "quarantine-older-than", 30*24*time.Hour,
		"remove what was in quarantine for longer than this `span`")
	c.Flags().Int64Var(&o.QuarantineSize, "quarantine-bytes", 1<<30,
		"keep no more than so many `bytes` in quarantine, the newest")
	c.Flags().BoolVar(&asJSON, "json", false, "print what was removed as one JSON document")
	return c
}
