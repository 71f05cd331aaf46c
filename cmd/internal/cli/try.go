package cli

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/cmd/internal/author"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/launch"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/serverjson"
	"github.com/hallmark-mcp/hallmark/surface"
)

const tryHelp = `Do with a package what its users will do, before you publish it. Hallmark packs a directory
with a package.json or pyproject.toml as npm and Python's build do, and hashes the file. It
checks the server.json there (for a file: in this directory) or begins one. It installs the
file with all that it depends on as 'hallmark pin' would, starts it and prints what it shows
a model. Nothing is published. A directory's own build scripts run, and so does the server;
the install scripts of packages do not.`

func tryCommand(a *app.App) *cobra.Command {
	var o launch.TrialOptions
	var asJSON bool
	c := &cobra.Command{
		Use:     "try DIR | TARBALL | WHEEL [-- ARGUMENT...]",
		Short:   "Rehearse a release: pack, check, install and start it",
		Example: ".\ndist/notes-1.4.0-py3-none-any.whl\nacme-notes-1.4.0.tgz --variable API_KEY -- --read-only",
		Long:    tryHelp,
		Args: func(c *cobra.Command, words []string) error {
			if dash := c.ArgsLenAtDash(); dash > 0 {
				words = words[:dash]
			}
			return app.Args(cobra.ExactArgs(1))(c, words)
		},
		RunE: a.Reporting(&asJSON, a.OnHost(nil, func(c *cobra.Command, h *host.Host, words []string) error {
			o.Arguments = words[1:]
			printed := ""
			o.Next = func(t *launch.Trial) {
				if asJSON {
					return
				}
				a.Bars.Stop()
				all := trialText(a, t)
				fmt.Fprint(a.Stdout, strings.TrimPrefix(all, printed))
				printed = all
			}
			t, err := launch.Try(c.Context(), h, words[0], o)
			a.Bars.Stop()
			if asJSON {
				return writeTrial(a, t, err)
			}
			warnOfTrial(a, t)
			if err != nil {
				return err
			}
			o.Next(t)
			return showTried(a, t)
		})),
	}
	a.AllowFlags(c)
	c.Flags().StringSliceVar(&o.Variables, "variable", nil, "`name` of a variable that the server gets from the "+
		"environment")
	c.Flags().StringVar(&o.Bin, "bin", "", "`name` of the executable to start, if the package has several")
	c.Flags().BoolVar(&asJSON, "json", false, "print what was found as one JSON document")
	return c
}

// warnOfTrial prints what the author should know of.
func warnOfTrial(a *app.App, t *launch.Trial) {
	author.WarnOfPackages(a.Stderr, t.Owner, t.Server, false)
	a.WriteWarnings(t.Verdict, t.Verdict.Warnings())
	if t.Removed {
		a.Note("the draft of server.json was removed again")
	}
}

// showTried prints what a server that was tried shows a model, and what comes next.
func showTried(a *app.App, t *launch.Trial) error {
	showVarying(a.Stderr, t.Shown.Varying)
	fmt.Fprintln(a.Stdout)
	if err := showItems(a.Stdout, t.Shown.Surface); err != nil {
		return err
	}
	a.Note("nothing was published; next: %s", nextOfTrial(t))
	return nil
}

// trialText says how far a trial came, a line for each thing that is known.
func trialText(a *app.App, t *launch.Trial) string {
	var b strings.Builder
	line := func(what, format string, values ...any) {
		fmt.Fprintf(&b, "%-10s  "+format+"\n", append([]any{what}, values...)...)
	}
	if len(t.Hashes) > 0 && t.Packed {
		line("packed", "%s", surface.Escape(t.File))
	}
	for _, f := range t.Hashes {
		line("hash", "%s  %s", surface.Escape(f.Key), f.Value)
	}
	if t.Document != "" {
		what, state := "valid", ""
		switch n := len(t.Issues.Errors()); {
		case t.Written && n > 0:
			what, state = "draft", "  to be completed"
		case t.Written:
			what = "draft"
		case n > 0:
			what = "not valid"
		}
		line(what, "%s%s", surface.Escape(t.Document), state)
		for _, issue := range t.Issues {
			line(string(issue.Severity), "%s", issue)
		}
	}
	for _, note := range t.Notes {
		line("note", "%s", note)
	}
	if t.Packages > 0 {
		line("installed", "%s verified, itself among them", evidence.Count(t.Packages, "package"))
	}
	if len(t.Scripts) > 0 {
		line("not run", "install scripts of %s: your users have to allow them",
			surface.Escape(strings.Join(t.Scripts, ", ")))
	}
	if t.Shown != nil {
		line("started", "it shows %s", evidence.Count(len(t.Shown.Surface.Items()), "item"))
	}
	return b.String()
}

// nextOfTrial is what the author does after a trial that went well.
func nextOfTrial(t *launch.Trial) string {
	switch {
	case len(t.Issues.Errors()) > 0:
		return "complete " + surface.Escape(t.Document)
	case len(t.Owner.Warnings()) > 0:
		return "let the package name the server, as the warning says"
	case t.Packed:
		return "publish the package, then 'hallmark publish'"
	}
	words := []string{"hallmark", "hash-gen", "--write", "--local", filepath.ToSlash(t.File)}
	return "'" + host.QuoteArguments(words) + "', publish that very file, then 'hallmark publish'"
}

// writeTrial writes what was found as JSON.
func writeTrial(a *app.App, t *launch.Trial, err error) error {
	out := struct {
		app.Outcome
		Package    string            `json:"package,omitempty"`
		FileHashes map[string]string `json:"file_hashes,omitempty"`
		Document   string            `json:"document,omitempty"` // the path of the server.json
		Written    bool              `json:"written,omitempty"`  // it is a draft
		Notes      []string          `json:"notes,omitempty"`
		Issues     serverjson.Issues `json:"issues"`
		Owner      []policy.Finding  `json:"owner"`
		Packages   int               `json:"packages,omitempty"`
		Scripts    []string          `json:"scripts_not_run,omitempty"`
		Shown      *shownJSON        `json:"shown,omitempty"`
	}{Outcome: app.OutcomeOf(t.Verdict, err), FileHashes: t.FileHashes(), Document: t.Document, Written: t.Written,
		Notes:  t.Notes,
		Issues: append(serverjson.Issues{}, t.Issues...), Owner: append([]policy.Finding{}, t.Owner.Findings...),
		Packages: t.Packages, Scripts: t.Scripts}
	if !t.Ref.IsZero() {
		out.Package = t.Ref.String()
	}
	if t.Shown != nil {
		shown := shownResult(t.Shown.Surface, t.Shown.Varying)
		out.Shown = &shown
	}
	return a.WriteJSON(out, err)
}
