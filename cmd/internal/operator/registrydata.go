package operator

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/cmd/internal/program"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/operate"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/surface"
)

// addPlaceFlags adds the flags that name the registry that a command works on.
func addPlaceFlags(c *cobra.Command, p *operate.Place) {
	c.Flags().StringVar(&p.Database, "db", "",
		"`URL` of the registry's PostgreSQL database, postgres://… (default: a file in the data directory)")
	c.Flags().StringVar(&p.Blobs, "blobs", "",
		"`URL` of the bucket of the registry's archives, s3://… (default: a directory in the data directory)")
	c.Flags().StringVar(&p.Data, "data", "", "`directory` of the registry (default: below the user's data directory)")
}

const reverifyHelp = `Fetch the files of published servers again and recompute every hash that their
records claim; and recompute the archives of facets, servers and plugins that the registry
keeps. What no longer matches becomes a finding, shown with the record, which itself stays
as it is. The same failure found again adds nothing. What could not be looked at, because
a host does not answer or the flags forbid it, is named and is no finding. A finding stays
in the log: see with --dry-run what would be added. The registry may be serving meanwhile.

Exit code 3 if a claim fails, 1 if a file could not be looked at.`

// reverifyCommand is hallmark-registry reverify.
func reverifyCommand(a *app.App) *cobra.Command {
	o := operate.ReverifyOptions{Fetch: fetch.ServerConfig()}
	var since, github string
	sources := sourceFlags{}
	network := app.NetworkFlags{}
	var asJSON bool
	c := &cobra.Command{
		Use:     "reverify",
		Short:   "Recompute the claims of published records",
		Example: "--dry-run\n--since 30d",
		Long:    reverifyHelp,
		Args:    app.Args(cobra.NoArgs),
		RunE: a.Reporting(&asJSON, func(c *cobra.Command, _ []string) (err error) {
			if err := setDefaultDir(&o.Data); err != nil {
				return err
			}
			if since != "" {
				if o.Since, err = parseSince(since, time.Now()); err != nil {
					return app.Usage(c, err)
				}
			}
			if err := sources.set(&o.Fetch); err != nil {
				return err
			}
			if o.Fetch.RootCAs, err = network.Set(); err != nil {
				return err
			}
			o.Fetch.GitHub.API, o.Version = github, program.Release()
			o.Logger = slog.New(slog.NewTextHandler(a.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
			r, err := operate.Reverify(c.Context(), o)
			if r == nil {
				r = &operate.Reverification{Failing: []string{}, Found: []operate.ReverifiedRecord{}}
			}
			return reportReverified(a, r, asJSON, o.DryRun, err)
		}),
	}
	f := c.Flags()
	addPlaceFlags(c, &o.Place)
	f.StringVar(&since, "since", "",
		"only records published since `time`: RFC 3339, a date, or a span such as 12h or 30d")
	f.BoolVar(&o.DryRun, "dry-run", false, "print what would be added as a finding, and write nothing")
	sources.register(f)
	network.Register(f)
	f.StringVar(&github, "github-api", "", "base `URL` of GitHub's API (default: the public one)")
	f.StringSliceVar(&o.AllowHosts, "allow-host", nil, "`host` that may resolve to a private address")
	f.StringSliceVar(&o.BundleHosts, "bundle-host", nil,
		"`host` that bundles may come from, besides github.com and gitlab.com; own: the domain of the server's name")
	f.BoolVar(&asJSON, "json", false, "print the result as one JSON document")
	return c
}

// reportReverified prints what fails now and did not before, and what holds again.
func reportReverified(a *app.App, r *operate.Reverification, asJSON, dry bool, err error) error {
	if asJSON {
		return a.WriteJSON(struct {
			app.Outcome
			*operate.Reverification
		}{app.OutcomeOf(policy.Verdict{}, err), r}, err)
	}
	for _, found := range r.Found {
		if len(found.Evidence) == 0 {
			fmt.Fprintf(a.Stdout, "%s: holds again\n", surface.Escape(found.Subject))
			continue
		}
		fmt.Fprintf(a.Stdout, "%s:\n", surface.Escape(found.Subject))
		if failed := found.Evidence.WriteText(a.Stdout); failed != nil {
			return errors.Join(failed, err)
		}
	}
	if err == nil || r.Records > 0 {
		a.Note("%s, %d with claims, %d failing, %s", evidence.Count(r.Records, "record"), r.Claimed, len(r.Failing),
			evidence.Count(len(r.Found), "new finding"))
		if dry {
			a.Note("nothing was written; without --dry-run what is new is added")
		}
	}
	return err
}

// parseSince reads a moment, or a span before now.
func parseSince(s string, now time.Time) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	var days int
	if _, err := fmt.Sscanf(s, "%dd", &days); err == nil && s == fmt.Sprintf("%dd", days) && days >= 0 &&
		days < 100_000 {
		return now.AddDate(0, 0, -days), nil
	}
	if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	return time.Time{},
		fmt.Errorf("--since %+q: use a time such as 2026-01-31T12:00:00Z, a date, or a span such as 12h or 30d", s)
}

const importHelp = `Take the records of another MCP registry, named by its URL, or of a file: an export
of this program, a page of a registry's list, or an array of server.json documents.
From a registry's URL come the records of its servers; archives, and records of facets
and plugins, come with an export. Records keep the time of their first publishing and are marked as imported; nothing of
them is recomputed, which 'hallmark-registry reverify' can do later.

An import from a URL that was interrupted goes on where it stopped, and a later one asks
only for what changed. Records that are here already are never replaced: one that is
there with another document is reported, with exit code 3.`

// importRecordsCommand is hallmark-registry import.
func importRecordsCommand(a *app.App) *cobra.Command {
	var o operate.ImportOptions
	network := app.NetworkFlags{}
	var asJSON bool
	c := &cobra.Command{
		Use:     "import URL|FILE",
		Short:   "Take the records of another registry, or of a dump",
		Example: "https://registry.example.com\nrecords.jsonl --restore",
		Long:    importHelp,
		Args:    app.Args(cobra.ExactArgs(1)),
		RunE: a.Reporting(&asJSON, func(c *cobra.Command, names []string) (err error) {
			if err := setDefaultDir(&o.Data); err != nil {
				return err
			}
			if o.RootCAs, err = network.Set(); err != nil {
				return err
			}
			o.From = names[0]
			last := time.Now()
			o.Progress = func(i operate.ImportResult) {
				if time.Since(last) > 5*time.Second {
					last = time.Now()
					a.Note("%s added, %d present", evidence.Count(i.Added, "record"), i.Present)
				}
			}
			o.Warn = func(format string, v ...any) {
				a.Note("%s", fmt.Sprintf(format, v...))
			}
			i, err := operate.Import(c.Context(), o)
			return reportImported(a, i, asJSON, err)
		}),
	}
	f := c.Flags()
	addPlaceFlags(c, &o.Place)
	network.Register(f)
	f.BoolVar(&o.Restore, "restore", false,
		"the file is an export of this registry itself: take records with their evidence, as its own")
	f.BoolVar(&o.Restart, "restart", false,
		"begin from the start, not where the last import from the URL stopped or ended")
	f.BoolVar(&asJSON, "json", false, "print the result as one JSON document")
	return c
}

// reportImported prints how many records were added, and how many were not.
func reportImported(a *app.App, i *operate.ImportResult, asJSON bool, err error) error {
	if i == nil && !asJSON { // nothing was begun
		return err
	}
	i = cmp.Or(i, &operate.ImportResult{Conflicts: []string{}, Refused: []string{}})
	if asJSON {
		return a.WriteJSON(struct {
			app.Outcome
			*operate.ImportResult
		}{app.OutcomeOf(policy.Verdict{}, err), i}, err)
	}
	counts := []string{evidence.Count(i.Added, "record") + " added", fmt.Sprintf("%d present", i.Present)}
	if i.Followed > 0 {
		counts = append(counts, fmt.Sprintf("%d with a new status", i.Followed))
	}
	if i.Invalid > 0 {
		counts = append(counts, fmt.Sprintf("%d that would be refused at publish", i.Invalid))
	}
	a.Note("%s", strings.Join(counts, ", "))
	return err
}

// exportCommand is hallmark-registry export.
func exportCommand(a *app.App) *cobra.Command {
	var at operate.Place
	c := &cobra.Command{
		Use:     "export [FILE]",
		Short:   "Write every record as JSON lines",
		Example: "records.jsonl",
		Long: `Write every record to standard output, or to a new file: one JSON object a line, as the
registry answers it, with its evidence and findings. The registry may be serving
meanwhile. 'hallmark-registry import --restore' reads it back.`,
		Args: app.Args(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, names []string) (err error) {
			if err := setDefaultDir(&at.Data); err != nil {
				return err
			}
			var n int
			if len(names) > 0 {
				n, err = operate.ExportFile(c.Context(), at, names[0])
			} else {
				n, err = operate.Export(c.Context(), at, a.Stdout)
			}
			if err == nil {
				a.Note("%s", evidence.Count(n, "record"))
			}
			return err
		},
	}
	addPlaceFlags(c, &at)
	return c
}

// backupCommand is hallmark-registry backup.
func backupCommand(a *app.App) *cobra.Command {
	var at operate.Place
	c := &cobra.Command{
		Use:     "backup FILE",
		Short:   "Copy the registry's database while it serves",
		Example: "registry.backup",
		Long: `Write the database of a registry, as it is at one moment, to a new file, which appears
when it is complete. To restore, stop the registry and put the file in the place of
registry.db, without the -wal and -shm files beside it. A registry on PostgreSQL is
backed up with PostgreSQL's own means. Archives are not in the file: copy the directory
blobs, or the bucket, after each backup. Keys are files beside the database; copy them too.`,
		Args: app.Args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, names []string) error {
			if err := setDefaultDir(&at.Data); err != nil {
				return err
			}
			if err := operate.Backup(c.Context(), at, names[0]); err != nil {
				return err
			}
			a.Note("%s written; the archives are not in it: copy %s as well", filepath.ToSlash(names[0]),
				cmp.Or(at.Blobs, filepath.ToSlash(filepath.Join(at.Data, "blobs"))))
			return nil
		},
	}
	addPlaceFlags(c, &at)
	return c
}
