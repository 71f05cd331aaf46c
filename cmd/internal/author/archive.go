package author

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/publish"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/surface"
)

// PackCommand returns the command pack.
func PackCommand(a *app.App) *cobra.Command {
	var o publish.PackOptions
	var asJSON bool
	c := &cobra.Command{
		Use:     "pack [DIR]",
		Short:   "Pack a facet, or a server from source, into an archive",
		Example: "\nreviewer -o reviewer.facet",
		Long: `Pack the directory of a facet (facet.json) or of a server that is run from source
(server.json with runtime and entry) into one archive, and print its two hashes: that of
its contents, which locks keep, and that of the file, which downloads are checked with.

A facet takes the files that facet.json names. A server takes all files in its directory,
except those of version control and archives that were packed before, under any name. The
same files give the same bytes, on any machine. Links, and names that some system could not
extract, are refused, and nothing is written then.`,
		Args: app.Args(cobra.MaximumNArgs(1)),
		RunE: a.Reporting(&asJSON, func(c *cobra.Command, names []string) error {
			if len(names) > 0 {
				o.Dir = names[0]
			}
			p, err := publish.Pack(c.Context(), o)
			if err != nil {
				return err
			}
			return reportPacked(a, p, asJSON)
		}),
	}
	c.Flags().StringVarP(&o.File, "output", "o", "",
		"`file` to write (default: named after the facet, in this directory)")
	c.Flags().BoolVar(&asJSON, "json", false, "print the result as one JSON document")
	return c
}

// reportPacked prints the two hashes of an archive, and what is in it that its author may not expect, or is not.
func reportPacked(a *app.App, p *publish.Packing, asJSON bool) error {
	kind := ledger.Facet
	if p.Source != nil {
		kind = ledger.Artifact
	}
	if asJSON {
		return a.WriteJSON(struct {
			app.Outcome
			File             string                   `json:"file"`
			Kind             ledger.Kind              `json:"kind"`
			Name             string                   `json:"name"`
			Version          string                   `json:"version"`
			ContentIntegrity digest.Digest            `json:"content_integrity"`
			ContentHash      digest.Digest            `json:"content_hash"`
			Size             int64                    `json:"size_bytes"`
			Assets           map[string]digest.Digest `json:"assets"`
			Left             []string                 `json:"left_out"`
			Warnings         []string                 `json:"warnings"`
		}{app.OutcomeOf(policy.Verdict{}, nil), filepath.ToSlash(p.File), kind, p.Name(), p.Version(),
			p.Integrity, p.ContentHash, p.Size,
			p.Digests, slices.Concat([]string{}, p.Left, p.Archives), append([]string{}, p.Warnings()...)}, nil)
	}
	for _, w := range p.Warnings() {
		a.Note("warning: %s", surface.Escape(w))
	}
	for _, path := range p.Left {
		a.Note("warning: %s is not named by facet.json, and was left out", surface.Escape(path))
	}
	for _, path := range p.Archives {
		a.Note("warning: %s was written by 'hallmark pack', and was left out", surface.Escape(path))
	}
	for _, path := range p.Hidden {
		a.Note("warning: %s is in the archive", surface.Escape(path))
	}
	a.Note("packed %s %s@%s, %s, %d bytes, to %s", kind, p.Name(), p.Version(), evidence.Count(len(p.Files), "file"),
		p.Size, filepath.ToSlash(p.File))
	_, err := fmt.Fprintf(a.Stdout, "content_integrity  %s\ncontent_hash       %s\n", p.Integrity, p.ContentHash)
	return err
}

// starter is the program that starts servers, and so publishes archives that hold one.
const starter = "hallmark"

// publishWithStarter replaces this program with the one that starts servers, to publish an archive
// that holds one.
func publishWithStarter(a *app.App, name string) error {
	err := app.HandOver(starter, a.Args)
	if why := new(evidence.Error); errors.As(err, &why) {
		err = fmt.Errorf("%s: %w", why.Subject, why.Err)
	}
	return &evidence.Error{
		Subject: filepath.ToSlash(name), Kind: evidence.Operation,
		Err: fmt.Errorf("holds a server, which %s starts to list its tools: %w", starter, err),
		Hint: "install " + starter +
			" beside this program, or in a directory of PATH; --no-surface publishes it without saying what it shows",
	}
}

// ReportPublishedArchive prints the result of publishing an archive.
func ReportPublishedArchive(a *app.App, p *publish.ArchivePublication, asJSON bool, err error) error {
	if p == nil {
		p = &publish.ArchivePublication{}
	}
	if asJSON {
		return a.WriteJSON(struct {
			app.Outcome
			Record *registry.ArchiveRecord `json:"record,omitempty"` // with the api_surface of a server
			Entry  *int64                  `json:"log_entry,omitempty"`
			// under which a plugin's dist.hash holds
			Profile string `json:"profile,omitempty"`
		}{app.OutcomeOf(p.Verdict, err), p.Record, p.Entry, p.Profile}, err)
	}
	if err != nil {
		return err
	}
	reportPublished(a, p.Record.Kind+" "+p.Record.Subject(), p.Verdict, p.Entry)
	if p.Unsigned {
		a.Note("warning: nobody signed it, and hosts that require the signature of an earlier version refuse it: " +
			"'hallmark plugin sign' signs the next, after 'hash --write'")
	}
	if _, err = fmt.Fprintf(a.Stdout, "content_integrity  %s\ncontent_hash       %s\n", p.Record.ContentIntegrity,
		p.Record.ContentHash); err == nil && !p.APISurface.IsZero() {
		_, err = fmt.Fprintf(a.Stdout, "api_surface        %s\n", p.APISurface)
	}
	if err == nil && p.Profile != "" {
		_, err = fmt.Fprintf(a.Stdout, "profile            %s\n", p.Profile)
	}
	return err
}

// reportPublished prints what was published, and its entry in the log if that is known.
func reportPublished(a *app.App, subject string, v policy.Verdict, entry *int64) {
	a.Note("published %s", surface.Escape(subject))
	if entry != nil {
		a.Note("it is entry %d of the registry's log", *entry)
	}
	for _, f := range v.Warnings() {
		if f.Evidence.Scheme == evidence.LogKey { // the one that a person can do something about
			a.Note("warning: the proof is not checked: the key of the %s is not known here; "+
				"--log-key gives it", surface.Escape(f.Evidence.Subject))
		}
	}
}
