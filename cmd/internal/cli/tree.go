package cli

import (
	"bytes"
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/internal/facets"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

func treeCommand(a *app.App) *cobra.Command {
	var dir string
	var asJSON bool
	c := &cobra.Command{
		Use:   "tree",
		Short: "Show the project's facets with what they bring, and its servers",
		Long: `Show what hallmark.toml declares and hallmark.lock has: each facet with the facets that it
brings along, its skills, agents, commands and servers, and the servers of hallmark.toml.
Nothing is fetched, and nothing is compared: 'hallmark check' does that.`,
		Args: app.Args(cobra.NoArgs),
		RunE: a.Reporting(&asJSON, a.OnHost(&dir, func(c *cobra.Command, h *host.Host, _ []string) error {
			all, err := facets.Tree(c.Context(), h, dir)
			if err != nil {
				return err
			}
			if asJSON {
				return a.WriteJSON(struct {
					app.Outcome
					Parts []facets.Part `json:"parts"`
				}{app.OutcomeOf(policy.Verdict{}, nil), append([]facets.Part{}, all...)}, nil)
			}
			var b bytes.Buffer
			for _, part := range all {
				fmt.Fprintln(&b, describePart(part))
				writeBranches(&b, part.Brings, "")
			}
			_, err = b.WriteTo(a.Stdout)
			return err
		})),
	}
	addProjectFlags(a, c, &dir, false)
	c.Flags().BoolVar(&asJSON, "json", false, "print the tree as one JSON document")
	return c
}

// writeBranches prints parts below each other, each with what it brings along.
func writeBranches(b *bytes.Buffer, parts []facets.Part, indent string) {
	for i, part := range parts {
		branch, below := "├─ ", "│  "
		if i == len(parts)-1 {
			branch, below = "└─ ", "   "
		}
		fmt.Fprintf(b, "%s%s%s\n", indent, branch, describePart(part))
		writeBranches(b, part.Brings, indent+below)
	}
}

// describePart is a part on one line.
func describePart(part facets.Part) string {
	text := part.Kind + " " + part.Name
	switch {
	case part.Version != "":
		text += "@" + part.Version
	case !part.Locked:
		text += "  (not locked)"
	}
	switch {
	case part.Kind == facets.PartFacet && part.From != "":
		text += "  (" + part.From + ")"
	case part.Kind == facets.PartServer:
		text += "  " + cmp.Or(part.From, part.Declared)
	}
	if part.Repeated {
		text += "  as above"
	}
	return surface.Escape(text)
}

func whyCommand(a *app.App) *cobra.Command {
	var dir string
	var asJSON bool
	c := &cobra.Command{
		Use:     "why NAME",
		Short:   "Show what brings a facet or server into the project",
		Example: "notes",
		Long: `Show each way by which hallmark.toml and hallmark.lock bring a facet or a server into the
project: the declaration, the facets that it leads through, and what is named. Nothing is
fetched.`,
		Args:              app.Args(cobra.ExactArgs(1)),
		ValidArgsFunction: completeDeclared,
		RunE: a.Reporting(&asJSON, a.OnHost(&dir, func(c *cobra.Command, h *host.Host, names []string) error {
			chains, err := facets.Why(c.Context(), h, dir, names[0])
			if err != nil {
				return err
			}
			if asJSON {
				return a.WriteJSON(struct {
					app.Outcome
					Name string          `json:"name"`
					Ways [][]facets.Part `json:"ways"`
				}{app.OutcomeOf(policy.Verdict{}, nil), names[0], chains}, nil)
			}
			var b bytes.Buffer
			for i, chain := range chains {
				if i > 0 {
					fmt.Fprintln(&b)
				}
				writeChain(&b, chain)
			}
			_, err = b.WriteTo(a.Stdout)
			return err
		})),
	}
	addProjectFlags(a, c, &dir, false)
	c.Flags().BoolVar(&asJSON, "json", false, "print the ways as one JSON document")
	return c
}

// writeChain prints one way that leads to a part, a line for each step.
func writeChain(b *bytes.Buffer, chain []facets.Part) {
	first := chain[0]
	if first.Line > 0 {
		fmt.Fprintf(b, "%s line %d declares the %s %s: %s\n", project.ConfigFile, first.Line, first.Kind,
			surface.Escape(first.Name), surface.Escape(first.Declared))
	} else {
		fmt.Fprintf(b, "%s has %s, and nothing declares it; 'hallmark install' takes it away\n", project.LockFile,
			describePart(first))
	}
	for i, part := range chain[1:] {
		verb := "brings along"
		if part.Kind == facets.PartServer {
			verb = "declares"
		}
		fmt.Fprintf(b, "  %s %s %s\n", describePart(chain[i]), verb, describePart(part))
	}
	if len(chain) == 1 && first.Locked {
		fmt.Fprintf(b, "  %s has %s\n", project.LockFile, describePart(first))
	}
}
