package cli

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/check"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/surface"
)

func explainCommand(a *app.App) *cobra.Command {
	var dir string
	var asJSON bool
	c := &cobra.Command{
		Use:     "explain NAME",
		Short:   "Show why a server or facet is trusted, claim by claim",
		Example: "notes",
		Long: `Show each claim about a server or facet: who said it, what Hallmark computed and from which
bytes, what the registry's log proves, and what you approved on this machine and when. What
nobody claimed is said as well. Below each line is the command by which you can check it.

All that is on this machine is hashed again. Nothing is fetched or started. The exit code is
that of 'hallmark check --offline', for this server or facet alone.

The state of a line: 'match', 'mismatch', 'absent' (nobody claims it), 'missing', 'waived' and
'unverifiable' were computed now. 'kept' is what the lock keeps from when it was pinned, of
which this machine has nothing to hash. 'unknown' is what no file here says.`,
		Args:              app.Args(cobra.ExactArgs(1)),
		ValidArgsFunction: completeDeclared,
		RunE: a.Reporting(&asJSON, a.OnHost(&dir, func(c *cobra.Command, h *host.Host, names []string) error {
			explained, err := check.Explain(c.Context(), h, dir, names[0])
			if err != nil {
				return err
			}
			for _, chain := range explained.Chains {
				for i := range chain.Links {
					chain.Links[i].Check = forProject(c, chain.Links[i].Check, dir)
				}
			}
			return writeExplained(a, explained, asJSON)
		})),
	}
	addProjectFlags(a, c, &dir, false)
	c.Flags().BoolVar(&asJSON, "json", false, "print the claims with their evidence as one JSON document")
	return c
}

func writeExplained(a *app.App, explained check.Explained, asJSON bool) error {
	err := explained.Err()
	if asJSON {
		return a.WriteJSON(struct {
			app.Outcome
			Chains []check.Chain `json:"chains"`
		}{app.OutcomeOf(explained.Verdict, err), explained.Chains}, err)
	}
	var b bytes.Buffer
	for _, chain := range explained.Chains {
		writeLinks(&b, chain)
	}
	if _, bad := b.WriteTo(a.Stdout); bad != nil {
		return bad
	}
	return err
}

// forProject adds to a command the flag that names the project in dir, if the command knows it.
func forProject(c *cobra.Command, command, dir string) string {
	words, ours := strings.CutPrefix(command, c.Root().Name()+" ")
	if !ours || host.SameFile(dir, ".") {
		return command
	}
	if of, _, err := c.Root().Find(strings.Fields(words)); err != nil || of.Flags().Lookup("project") == nil {
		return command
	}
	return command + " --project " + host.QuoteArguments([]string{dir})
}

// writeLinks prints a chain: for each link a line, what of its evidence does not match, and the command that checks it.
func writeLinks(b *bytes.Buffer, chain check.Chain) {
	title := chain.Kind + " " + chain.Name
	if chain.What != "" {
		title += "  " + chain.What
	}
	fmt.Fprintln(b, surface.Escape(title))
	for _, link := range chain.Links {
		fmt.Fprintf(b, "%-12s  %-11s  %s\n", link.State, link.Step, surface.Escape(link.Text))
		for _, e := range link.Report {
			if e.Outcome != evidence.Match {
				fmt.Fprintf(b, "%s%s\n", linkIndent, e.Headline())
			}
		}
		fmt.Fprintf(b, "%scheck: %s\n", linkIndent, surface.Escape(link.Check))
	}
}

var linkIndent = strings.Repeat(" ", 27)
