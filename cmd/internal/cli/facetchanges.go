package cli

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/facets"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// addReviewFlags adds the flags of commands that show what changes of facets.
func (f *facetFlags) addReviewFlags(c *cobra.Command) {
	c.Flags().BoolVar(&f.o.Dry, "dry-run", false, "show what would change, and write nothing")
	c.Flags().BoolVar(&f.whole, "whole", false, "show every changed line, however many and long")
}

// askAboutChanges makes the flow show what changes of facets and what they can run, and ask for consent.
func (f *facetFlags) askAboutChanges(ctx context.Context, a *app.App) {
	f.o.Confirm = func(all []facets.Change) (host.Consent, error) {
		a.Bars.Stop()
		question := "Install what may run this?"
		if !slices.ContainsFunc(all, func(c facets.Change) bool { return len(c.Runs) > 0 }) {
			question = "Install all of this?"
		}
		if slices.ContainsFunc(all, func(c facets.Change) bool { return c.Before != nil || len(c.Placed) > 0 }) {
			question = "Take this?"
			if err := showChangesOfFacets(a.Stderr, all, newLinesShown(f.whole)); err != nil {
				return host.NoConsent, err
			}
		}
		var text bytes.Buffer
		for _, change := range all {
			showParts(&text, change)
			showRuns(&text, change, f.whole)
		}
		showSourceNotes(&text, all)
		if text.Len() > 0 {
			if err := a.Show(text.String()); err != nil {
				return host.NoConsent, err
			}
		}
		f.noted = map[string]bool{}
		for _, change := range all {
			f.noted[change.Name] = true
		}
		switch {
		case f.o.Dry:
			return host.NoConsent, nil
		case f.yes:
			return host.StandingConsent, nil
		}
		return a.Ask(ctx, question)
	}
}

// showChangesOfFacets prints what an upgrade would change.
func showChangesOfFacets(w io.Writer, all []facets.Change, lines *linesShown) error {
	var b bytes.Buffer
	for _, f := range all {
		if f.Outcome == "unchanged" {
			continue
		}
		fmt.Fprintf(&b, "%s:\n", f.Name)
		if f.TagMoved() {
			fmt.Fprintf(&b, "  tag %s of %s was moved since it was locked, by accident or by attack\n",
				surface.Escape(f.After.Source.Tag), surface.Escape(f.After.Source.URL))
		}
		line := func(what, before, after string) {
			if before != after {
				fmt.Fprintf(&b, "  %-10s %s -> %s\n", what, surface.Escape(before), surface.Escape(after))
			}
		}
		before, after := cmp.Or(f.Before, &project.FacetLock{}), *cmp.Or(f.After, &project.FacetLock{})
		if artifact.IsOlder("", after.Version, before.Version) {
			after.Version += " (rollback)"
		}
		line("version", before.Version, after.Version)
		if f.Before != nil && f.After != nil {
			line("source", before.Source.String(), after.Source.String())
		}
		line("commit", before.Source.Commit, after.Source.Commit)
		line("integrity", before.Integrity.String(), after.Integrity.String())
		if f.BeforeUnknown {
			fmt.Fprintln(&b, "  before     not in the store; all text counts as new")
		}
		for _, x := range f.Assets {
			showAsset(&b, x, lines)
		}
		if len(f.Placed) > 0 {
			fmt.Fprintln(&b, "  what clients have of it now changes:")
		}
		for _, x := range f.Placed {
			showAsset(&b, x, lines)
		}
	}
	if lines.hidden > 0 {
		fmt.Fprintf(&b, "%s of what changes not shown in full; --whole shows all\n",
			evidence.Count(lines.hidden, "line"))
	}
	_, err := b.WriteTo(w)
	return err
}

// showAsset prints what becomes of a file, and what differs of its text.
func showAsset(b *bytes.Buffer, x facets.AssetChange, lines *linesShown) {
	switch {
	case x.Before.IsZero():
		fmt.Fprintf(b, "  + %s  %s\n", surface.Escape(x.Path), x.After)
	case x.After.IsZero():
		fmt.Fprintf(b, "  - %s  %s\n", surface.Escape(x.Path), x.Before)
	default:
		fmt.Fprintf(b, "  ~ %s  %s -> %s\n", surface.Escape(x.Path), x.Before, x.After)
	}
	if x.Unread != "" {
		fmt.Fprintf(b, "      (%s)\n", x.Unread)
	}
	lines.show(b, x.Diff)
}

// linesShown bounds how much of what changes is shown: a publisher must not be able to drown what
// matters.
type linesShown struct {
	each, all, width int // lines of a member, of all members that are left, and characters of a line
	hidden           int // lines that were not shown, or not in full
}

// newLinesShown are the usual bounds, or none.
func newLinesShown(whole bool) *linesShown {
	if whole {
		const none = int(^uint(0) >> 1)
		return &linesShown{each: none, all: none, width: none}
	}
	return &linesShown{each: 60, all: 400, width: 400}
}

// show prints a unified diff without its head, each line escaped, so that what is hidden or turns the
// direction of text is seen.
func (l *linesShown) show(b *bytes.Buffer, diff string) {
	if diff == "" {
		return
	}
	lines := strings.Split(strings.TrimSuffix(diff, "\n"), "\n")[2:] // the names of the two come first
	shown := min(len(lines), l.each, l.all)
	l.all -= shown
	for _, line := range lines[:shown] {
		text := surface.Escape(line)
		if runes := []rune(text); len(runes) > l.width {
			text = fmt.Sprintf("%s … (%d more characters)", string(runes[:l.width]), len(runes)-l.width)
			l.hidden++
		}
		fmt.Fprintf(b, "      %s\n", text)
	}
	if left := len(lines) - shown; left > 0 {
		fmt.Fprintf(b, "      … %s\n", evidence.Count(left, "more line"))
		l.hidden += left
	}
}
