package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/check"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

func diffCommand(a *app.App) *cobra.Command {
	var dir string
	var asJSON, asMarkdown, exitCode bool
	c := &cobra.Command{
		Use:     "diff [BASE]",
		Short:   "Say in words what changed in locks and surfaces since a commit",
		Example: "\nmain...\nHEAD~1 --markdown",
		Long: `Compare the files of the project with a commit of git, and say in words what differs: servers
and facets that were added, removed or changed, with their versions, launch lines, bytes and
dependencies, and the tools, prompts and texts that a model is shown. What a terminal would
obey or hide is escaped.

BASE is a branch, a tag or a commit; without it, HEAD, so that you see what is not committed
yet. With ... behind it, as in 'hallmark diff main...', it is the last commit that your branch and
main both have, so that you see what the branch changes. Nothing is started, fetched or judged:
'hallmark check' says whether what is locked is there and unchanged.

The exit code is 0 whether or not something differs; with --exit-code it is 6 if something does.`,
		Args: app.Args(cobra.MaximumNArgs(1)),
		RunE: a.Reporting(&asJSON, func(c *cobra.Command, names []string) error {
			if asJSON && asMarkdown {
				return app.Usage(c, errors.New("--json and --markdown exclude each other"))
			}
			h, err := a.Host(dir)
			if err != nil {
				return err
			}
			base := append(names, "HEAD")[0]
			found, err := check.CompareCommit(c.Context(), h, dir, base)
			if err != nil {
				return err
			}
			if n := found.Count(); exitCode && n > 0 {
				err = evidence.Errorf(evidence.Drift, surface.Escape(base), "",
					fmt.Errorf("%s since then", evidence.Count(n, "change")))
			}
			if asJSON {
				return a.WriteJSON(diffResult(base, found, err), err)
			}
			return errors.Join(showDiff(a, base, found, asMarkdown), err)
		}),
	}
	addProjectFlag(a, c, &dir)
	c.Flags().BoolVar(&asJSON, "json", false, "print what differs as one JSON document")
	c.Flags().BoolVar(&asMarkdown, "markdown", false, "print it as Markdown, for a comment or a job's summary")
	c.Flags().BoolVar(&exitCode, "exit-code", false, "exit with 6 if something differs")
	return c
}

// diffJSON is the answer of diff.
type diffJSON struct {
	app.Outcome
	Base     string               `json:"base"`
	Commit   string               `json:"commit"`
	Servers  []check.ServerChange `json:"servers"`
	Facets   []check.FacetChange  `json:"facets"`
	Settings []check.FieldChange  `json:"settings"`
	Notes    []string             `json:"notes"`
}

func diffResult(base string, found *check.Changes, err error) diffJSON {
	return diffJSON{
		app.OutcomeOf(policy.Verdict{}, err), base, found.Commit, append([]check.ServerChange{}, found.Servers...),
		append([]check.FacetChange{}, found.Facets...), append([]check.FieldChange{}, found.Settings...),
		append([]string{}, found.Notes...),
	}
}

// diffPart is a part of what differs: what it is about, and a text of many lines.
type diffPart struct{ title, text string }

// diffParts are the parts as w is to have them.
func diffParts(w io.Writer, found *check.Changes) (parts []diffPart) {
	columns, colours := terminalOf(w)
	add := func(title string, show func(io.Writer)) {
		var b bytes.Buffer
		show(&screen{&b, columns, colours})
		parts = append(parts, diffPart{title, b.String()})
	}
	for _, s := range found.Servers {
		add("server "+s.Name+" "+string(s.Change), func(w io.Writer) { showServerDiff(w, s) })
	}
	for _, f := range found.Facets {
		add("facet "+surface.Escape(f.Name)+" "+string(f.Change), func(w io.Writer) {
			showFields(w, f.Fields)
			showNamed(w, "files", f.Assets)
		})
	}
	if len(found.Settings) > 0 {
		add(project.ConfigFile+" changed", func(w io.Writer) { showFields(w, found.Settings) })
	}
	if len(found.Notes) > 0 {
		add("files", func(w io.Writer) { showDiffNotes(w, found.Notes) })
	}
	return parts
}

// showDiff prints what differs.
func showDiff(a *app.App, base string, found *check.Changes, asMarkdown bool) error {
	if asMarkdown {
		_, err := io.WriteString(a.Stdout, diffMarkdown(a, base, found))
		return err
	}
	if found.Count() == 0 {
		a.Note("nothing differs from %s", surface.Escape(base))
	}
	out := &failing{to: a.Stdout}
	for i, part := range diffParts(a.Stdout, found) {
		if i > 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintf(out, "%s\n%s", part.title, part.text)
	}
	return out.err
}

func showServerDiff(w io.Writer, s check.ServerChange) {
	showDiffNotes(w, s.Notes)
	showWeaker(w, s.Weaker)
	showFields(w, s.Fields)
	showNamed(w, "depends on", s.Dependencies)
	if len(s.Surface) > 0 {
		showChangeCounts(w, s.Surface)
		listed, more := listedChanges(s.Surface)
		for _, line := range surface.ChangeLines(listed) {
			showChangeLine(w, line)
		}
		showMore(w, more)
	}
	for _, warning := range s.Warnings {
		fmt.Fprintf(w, "  look at     %s\n", warning)
	}
}

func showDiffNotes(w io.Writer, notes []string) {
	for _, note := range notes {
		fmt.Fprint(w, "  note        ")
		writeFolded(w, note, strings.Repeat(" ", 14))
	}
}

// showFields prints a line for each field, or two where the old and the new value are too long for one.
func showFields(w io.Writer, fields []check.FieldChange) {
	columns, _ := terminalOf(w)
	for _, f := range fields {
		what, old, new := surface.Escape(f.What), shownValue(w, f.Old), shownValue(w, f.New)
		indent := fmt.Sprintf("  %-11s ", what)
		switch {
		case f.Old == "":
			fmt.Fprintf(w, "%s%s\n", indent, new)
		case len(indent)+len(old)+len(new)+4 > cmp.Or(columns, 120):
			if len(what) > 11 {
				indent = fmt.Sprintf("  %s\n%14s", what, "")
			}
			fmt.Fprintf(w, "%s- %s\n%14s+ %s\n", indent, old, "", cmp.Or(new, "(none)"))
		default:
			fmt.Fprintf(w, "%s%s -> %s\n", indent, old, cmp.Or(new, "(none)"))
		}
	}
}

// shownValue is a value for w: a digest as it shows digests, anything else escaped.
func shownValue(w io.Writer, value string) string {
	if d, err := digest.Parse(value); err == nil {
		return formatDigest(w, d)
	}
	return surface.Escape(value)
}

// showNamed prints how many members of a list differ, and the first of them.
func showNamed(w io.Writer, what string, all []check.MemberChange) {
	if len(all) == 0 {
		return
	}
	count := map[check.ChangeKind]int{}
	for _, n := range all {
		count[n.Change]++
	}
	fmt.Fprintf(w, "  %-11s %d added, %d removed, %d changed\n", what, count[check.WasAdded], count[check.WasRemoved],
		count[check.WasChanged])
	signs := map[check.ChangeKind]string{check.WasAdded: "+", check.WasRemoved: "-", check.WasChanged: "~"}
	for _, n := range all[:min(len(all), mostListed)] {
		line := surface.Escape(n.Name) + " " + shownValue(w, cmp.Or(n.Old, n.New))
		if n.Change == check.WasChanged && n.Old != n.New {
			line += " -> " + shownValue(w, n.New)
		}
		if n.Note != "" {
			line += " (" + n.Note + ")"
		}
		fmt.Fprintf(w, "    %s %s\n", signs[n.Change], line)
	}
	if more := len(all) - mostListed; more > 0 {
		fmt.Fprintf(w, "    and %d more; --json lists all of them\n", more)
	}
}

// Bounds of the Markdown: a service shows no summary above a size, and a page that is too long hides what matters.
const (
	maxPartLines = 200
	maxLineRunes = 400
	maxMarkdown  = 500 << 10
)

// diffMarkdown is what differs as Markdown. Text from outside is in fenced blocks, whose fences are longer than any
// that is in it.
func diffMarkdown(a *app.App, base string, found *check.Changes) string {
	var b strings.Builder
	if found.Count() == 0 {
		fmt.Fprintf(&b, "### ✅ %s diff: nothing differs from %s\n\n", a.Name, cell(base))
		return b.String()
	}
	fmt.Fprintf(&b, "### %s diff: %s since %s\n\n", a.Name, evidence.Count(found.Count(), "change"), cell(base))
	parts := diffParts(&b, found)
	for i, part := range parts {
		lines := strings.Split(strings.TrimSuffix(part.text, "\n"), "\n")
		more := len(lines) - maxPartLines
		lines = lines[:min(len(lines), maxPartLines)]
		for i, line := range lines {
			if runes := []rune(line); len(runes) > maxLineRunes {
				lines[i] = string(runes[:maxLineRunes]) +
					fmt.Sprintf(" … (%d more characters)", len(runes)-maxLineRunes)
			}
		}
		text := strings.Join(lines, "\n")
		if b.Len()+len(text) > maxMarkdown {
			fmt.Fprintf(&b, "%s more: '%s diff' shows all.\n\n", evidence.Count(len(parts)-i, "part"), a.Name)
			break
		}
		fmt.Fprintf(&b, "**%s**\n\n", cell(part.title))
		if part.text != "" {
			fence := "```"
			for strings.Contains(text, fence) {
				fence += "`"
			}
			fmt.Fprintf(&b, "%stext\n%s\n%s\n\n", fence, text, fence)
		}
		if more > 0 {
			fmt.Fprintf(&b, "%s more: '%s diff' shows all.\n\n", evidence.Count(more, "line"), a.Name)
		}
	}
	return b.String()
}
