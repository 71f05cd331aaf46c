package cli

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/internal/facets"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/pin"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

const upgradeHelp = `Resolve facets and locked servers anew, all or those that are named, and show what changes
before anything is written: of a facet every version, hash and member with the differences
of its text, of a server the old and the new digests and its surface's differences,
classified. Servers that facets declare are looked at with their facets, or by their own
names; what did not change is neither started nor asked about. A dry run that may not start
a server shows its digests alone.

Facets follow their requirements in hallmark.toml; a branch is followed, a tag that was
moved is reported as drift and not, save that of a named facet with --accept-tag, which
shows both commits and what differs, and asks (--yes consents). A server that is pinned to an exact version of a package
or a record is pinned to the newest, or to VERSION, in hallmark.toml too; a range or an
image's tag stays as it is and is resolved anew. What leads to an older version than the
locked one is shown as a rollback. What changes of facets needs consent, and each server
does. All of it is written, or nothing.`

func upgradeCommand(a *app.App) *cobra.Command {
	var f facetFlags
	var consent consentFlags
	c := &cobra.Command{
		Use:               "upgrade [NAME[@VERSION]...]",
		Short:             "Take the newest versions of facets and servers",
		Example:           "--dry-run\nnotes@1.5.0\n@acme/reviewer --accept-tag",
		Long:              upgradeHelp,
		ValidArgsFunction: completeDeclared,
		RunE: a.Reporting(&f.asJSON, a.OnHost(&f.dir, func(c *cobra.Command, h *host.Host, names []string) error {
			if err := a.LogOptions(c, &f.o.Log); err != nil {
				return err
			}
			f.o.Progress = a.Bars.Fetching
			if f.o.AcceptTag && len(names) == 0 {
				return app.Usage(c, errors.New("--accept-tag needs the name of a facet"))
			}
			f.yes = consent.yes
			f.askAboutChanges(c.Context(), a)
			o := facets.UpgradeOptions{Facets: f.o, Pin: pin.Options{Log: f.o.Log}}
			if err := consent.options(c, &o.Pin); err != nil {
				return err
			}
			consent.ask(c.Context(), a, h, &o.Pin, func(w io.Writer, p *pin.Pinned) { showUpgrade(a, w, p) }, showMoves)
			if f.o.Dry {
				o.Pin.Confirm = func(p *pin.Pinned) (host.Consent, error) {
					a.Bars.Stop()
					showUpgrade(a, a.Stderr, p)
					return host.NoConsent, nil
				}
			}
			out, err := facets.Upgrade(c.Context(), h, f.dir, names, o)
			a.Bars.Stop()
			return reportUpgrade(a, &f, out, err)
		})),
	}
	f.register(a, c, false)
	consent.register(c)
	c.Flags().BoolVar(&f.o.AcceptTag, "accept-tag", false,
		"follow a tag of the named facets' repositories that was moved since it was locked, after asking")
	return c
}

// reportUpgrade prints what was upgraded, or would be.
func reportUpgrade(a *app.App, f *facetFlags, out *facets.Upgraded, err error) error {
	if f.asJSON {
		return a.WriteJSON(upgradeResult(out, err), err)
	}
	if err != nil {
		return err
	}
	if out.Facets != nil {
		err = errors.Join(app.WriteNotes(a.Stderr, out.Facets.Verdict),
			showInstallation(a.Stdout, a.Stderr, out.Facets, f))
	}
	return errors.Join(err, showUpgraded(a.Stdout, out))
}

// showUpgrade prints what the upgrade of a server changes, and everything that consent is asked
// for.
func showUpgrade(a *app.App, w io.Writer, p *pin.Pinned) {
	fmt.Fprintf(w, "\n%s:\n", p.Name)
	showMoves(w, p)
	if p.Unseen {
		showEntry(w, p.Entry, p.Runtime)
		fmt.Fprintln(w, "  surface     not looked at: --start lets it start, to see what it shows")
		return
	}
	showBytes(w, p)
	showJudged(a, w, p)
}

// showMoves prints what of a server's entry an upgrade replaces, as far as it is known.
func showMoves(w io.Writer, p *pin.Pinned) {
	var before project.ServerLock
	if p.Before != nil {
		before = *p.Before
	}
	line := func(what, before, after string) {
		if before != after {
			fmt.Fprintf(w, "  %-11s %s -> %s\n", what, surface.Escape(before), surface.Escape(after))
		}
	}
	line("record", before.Launch.Server, p.Entry.Launch.Server)
	line("artifact", before.Ref, p.Entry.Ref)
	if columns, _ := terminalOf(w); columns > 0 && before.Ref != p.Entry.Ref {
		return // the digests that count are shown below
	}
	line("digest", before.Artifacts[before.Ref].String(), p.Entry.Artifacts[p.Entry.Ref].String())
	for _, platform := range slices.Sorted(maps.Keys(p.Entry.Platforms)) {
		line(platform, before.Platforms[platform].String(), p.Entry.Platforms[platform].String())
	}
	if p.Entry.Surface.IsZero() {
		return // it was not started yet
	}
	line("api_surface", before.APISurface.String(), p.Entry.APISurface.String())
	line("surface", before.Surface.String(), p.Entry.Surface.String())
}

// showUpgraded prints one line for each server.
func showUpgraded(w io.Writer, out *facets.Upgraded) error {
	for _, s := range out.Status {
		what, versions := "unchanged", shownVersion(s.Current)
		if s.Outdated() {
			versions += " -> " + shownVersion(s.Wanted)
		}
		switch {
		case s.Rollback():
			what = "rollback"
		case s.Outdated() && out.Written:
			what = "updated"
		case s.Outdated():
			what = "outdated"
		}
		if _, err := fmt.Fprintf(w, "%-9s  %s  %s\n", what, s.Name, surface.Escape(versions+takenBack(s))); err != nil {
			return err
		}
	}
	return nil
}

// shownVersion returns a version for a line of text; some servers have none.
func shownVersion(version string) string {
	if version == "" {
		return "(none)"
	}
	return version
}

// serverStatusJSON is a server in the answer of outdated.
type serverStatusJSON struct {
	Name     string              `json:"name"`
	Facet    string              `json:"facet,omitempty"` // that declares it
	Declared string              `json:"declared"`
	Locked   *project.ServerLock `json:"locked,omitempty"`
	Current  string              `json:"current,omitempty"`
	Wanted   string              `json:"wanted,omitempty"`
	Newest   string              `json:"newest,omitempty"`
	Outdated bool                `json:"outdated"`
	Rollback bool                `json:"rollback"`

	CurrentRelease *fetch.Release `json:"current_release,omitempty"` // what the package registry says of it
	WantedRelease  *fetch.Release `json:"wanted_release,omitempty"`
}

func serverStatus(all []facets.ServerStatus) []serverStatusJSON {
	out := []serverStatusJSON{}
	for _, s := range all {
		out = append(out,
			serverStatusJSON{s.Name, s.Facet, s.Declared, s.Locked, s.Current, s.Wanted, s.Newest,
				s.Outdated(), s.Rollback(), s.CurrentRelease, s.WantedRelease})
	}
	return out
}

func upgradeResult(out *facets.Upgraded, err error) any {
	if out == nil {
		out = &facets.Upgraded{}
	}
	result := struct {
		installJSON
		Status []serverStatusJSON `json:"status"`
		Pinned []pinnedJSON       `json:"pinned"`
	}{installResult(out.Facets, err), serverStatus(out.Status), pinnedServers(out.Servers)}
	result.Written, result.Servers = out.Written, serverChanges(out.Changes)
	return result
}

func outdatedCommand(a *app.App) *cobra.Command {
	var dir string
	var asJSON bool
	c := &cobra.Command{
		Use:   "outdated",
		Short: "Show newer versions of facets and servers, and moved tags",
		Long: `Ask the sources of all facets and servers what they have now: one line for each of which an
upgrade would take another version, or which has a newer one that its declaration does not
allow. Exit code 6 if a tag was moved, of a repository or an image.`,
		Args: app.Args(cobra.NoArgs),
		RunE: a.Reporting(&asJSON, a.OnHost(&dir, func(c *cobra.Command, h *host.Host, _ []string) error {
			all, err := facets.Outdated(c.Context(), h, dir)
			if asJSON {
				r := statusResult{Outcome: app.OutcomeOf(all.Verdict, err), Facets: []statusJSON{},
					Servers: serverStatus(all.Servers)}
				for _, s := range all.Facets {
					outdated := s.Outdated()
					r.Facets = append(r.Facets,
						statusJSON{Name: s.Name, Declared: s.Declared, Locked: s.Locked, Wanted: s.Wanted,
							Newest: s.Newest, Outdated: &outdated, Rollback: s.Rollback()})
				}
				return a.WriteJSON(r, err)
			}
			if failed := showOutdated(a.Stdout, all); failed != nil {
				return failed
			}
			return err
		})),
	}
	addProjectFlags(a, c, &dir, false)
	a.AllowFlags(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print all facets and servers as one JSON document")
	return c
}

// showOutdated prints a line for each facet and server of which there is something newer.
func showOutdated(w io.Writer, all facets.Status) error {
	row := func(outdated, rollback bool, name, of, locked, wanted, newest, said string) error {
		if !outdated && (newest == "" || newest == wanted) && said == "" {
			return nil
		}
		note := "newest " + newest
		if of != "" {
			note += ", of the facet " + of
		}
		if rollback {
			note += ", a rollback"
		}
		note += said
		if outdated {
			locked += " -> " + wanted
		}
		_, err := fmt.Fprintf(w, "%s  %s  (%s)\n", name, surface.Escape(locked), surface.Escape(note))
		return err
	}
	for _, s := range all.Facets {
		locked := "(not locked)"
		if s.Locked != nil {
			locked = s.Locked.Revision()
		}
		if failed := row(s.Outdated(), s.Rollback(), s.Name, "", locked, s.Wanted,
			s.Newest, ""); failed != nil {
			return failed
		}
	}
	for _, s := range all.Servers {
		locked := "(not locked)"
		if s.Locked != nil {
			locked = shownVersion(s.Current)
		}
		if failed := row(s.Outdated(), s.Rollback(), s.Name, s.Facet, locked, s.Wanted,
			s.Newest, publishedAt(s)+takenBack(s)); failed != nil {
			return failed
		}
	}
	return nil
}
