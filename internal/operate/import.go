package operate

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/document"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/blobs"
	"github.com/hallmark-mcp/hallmark/internal/registry/client"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/serverjson"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Limits of an import.
const (
	importTries     = 8                // of one page, with growing pauses
	importPause     = time.Second      // before the second try
	importMaxPause  = 2 * time.Minute  // the longest pause
	importOverlap   = 10 * time.Minute // how much the clocks of two registries may differ
	importMaxListed = 50               // conflicts and refusals that are named; the rest is counted
)

// ImportOptions describe an import.
type ImportOptions struct {
	Place        // whose directory is created if it is missing
	From  string // URL of a registry, or the name of a file

	// Restore treats the file as an export of this very registry: records come back as they
	// were, with their evidence and findings, and are not marked as imported.
	Restore bool

	RootCAs  *x509.CertPool                // of the registry; nil: the system's
	Restart  bool                          // forget how far the import from this URL has come
	Progress func(ImportResult)            // told after each page; may be nil
	Warn     func(format string, _ ...any) // told of waits; may be nil

	pause func(context.Context, time.Duration) error // nil waits
	now   func() time.Time                           // nil is time.Now
}

// ImportResult counts the records of an import. Imported records keep the time of their first
// publishing and are marked with their origin; nothing of them is recomputed.
type ImportResult struct {
	Resumed   bool     `json:"resumed"`   // this import continued an interrupted one
	Since     string   `json:"since"`     // only what changed upstream since then was asked for; empty is everything
	Added     int      `json:"added"`     // records that were inserted
	Present   int      `json:"present"`   // records that existed here, with the same document
	Followed  int      `json:"followed"`  // of these, took over a new status
	Invalid   int      `json:"invalid"`   // of those added, this registry would refuse the document at publish
	Conflicts []string `json:"conflicts"` // name@version of those that exist here with another document, or are damaged
	Refused   []string `json:"refused"`   // those that cannot be records, with the reason

	conflicts, refused int
}

// Import copies the records of another registry, or of a dump, into this one. From a URL it
// continues an interrupted import, and after a complete one asks only for changes; a file is read
// whole each time. It may be repeated: existing records stay as they are, except that imported
// records follow the status of their originals.
func Import(ctx context.Context, o ImportOptions) (*ImportResult, error) {
	// Fail before a registry is created for the import.
	switch isURL := strings.Contains(o.From, "://"); {
	case isURL && o.Restore:
		return nil, evidence.Errorf(evidence.Validation, registryBase(o.From),
			"write one there with 'hallmark-registry export FILE'; without --restore the records are imported",
			errors.New("only a file can be restored"))
	case !isURL:
		if _, err := os.Stat(o.From); err != nil {
			err = document.OpenError(o.From, err)
			return nil, evidence.Errorf(evidence.ClassOf(err), "import",
				"give the file of an export, or the URL of a registry with its https://", err)
		}
	}
	db, err := openDatabase(ctx, o.Place, true)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	return importInto(ctx, db, o)
}

// importInto is Import into an open database.
func importInto(ctx context.Context, db database, o ImportOptions) (*ImportResult, error) {
	if o.pause == nil {
		o.pause = new(host.Host).Pause
	}
	if o.now == nil {
		o.now = time.Now
	}
	i := &importer{ImportOptions: o, db: db, out: &ImportResult{Conflicts: []string{}, Refused: []string{}}}
	var err error
	if strings.Contains(o.From, "://") {
		err = i.importRegistry(ctx)
	} else {
		err = i.importFile(ctx)
	}
	return i.out, errors.Join(i.err(), err)
}

// importer is a running [Import].
type importer struct {
	ImportOptions
	db     database
	origin string
	out    *ImportResult
}

// registryBase removes the paths of the API, which people copy along, from a registry's URL.
func registryBase(s string) string {
	s = strings.TrimRight(s, "/")
	for _, path := range []string{"/servers", "/v0", "/v0.1"} {
		s = strings.TrimSuffix(s, path)
	}
	return strings.TrimRight(s, "/")
}

// importRegistry imports page after page from a URL, and stores its progress after each.
func (i *importer) importRegistry(ctx context.Context) error {
	i.origin = registryBase(i.From)
	upstream := &client.Client{Base: i.origin}
	if i.RootCAs != nil {
		t := client.Transport(i.RootCAs)
		defer t.CloseIdleConnections()
		upstream.HTTP = &http.Client{Transport: t}
	}
	p, err := i.db.Progress(ctx, i.origin)
	if err != nil {
		return evidence.Errorf(evidence.Operation, "registry", "", err)
	}
	if i.Restart {
		p = registry.Progress{}
	}
	i.out.Resumed = p.Cursor != ""
	if p.Cursor == "" {
		p.Began = i.now()
	}
	if !p.Since.IsZero() {
		i.out.Since = p.Since.Format(time.RFC3339)
	}
	for more := true; more; {
		if more, err = i.importPage(ctx, upstream, &p); err != nil {
			return err
		}
	}
	return nil
}

// importPage imports the page at which p stands, stores the progress, and reports whether there are more pages.
func (i *importer) importPage(ctx context.Context, upstream *client.Client, p *registry.Progress) (bool, error) {
	page, err := i.fetchPage(ctx, upstream, *p)
	if err != nil {
		hint := "run it again; it goes on where it stopped"
		if p.Cursor == "" {
			hint = "is it the base URL of a registry that answers? run it again when it is"
		}
		if problem, ok := errors.AsType[*registry.Problem](err); ok && problem.Status == 400 && p.Cursor != "" {
			hint = "the registry does not know the cursor any more; run it again with --restart"
		}
		return false, evidence.Errorf(evidence.Operation, i.origin, hint, err)
	}
	for _, env := range page.Servers {
		if err := i.importRecord(ctx, env); err != nil {
			return false, evidence.Errorf(evidence.Operation, "registry", "", err)
		}
	}
	next := page.Metadata.NextCursor
	if next != "" && (next == p.Cursor || len(page.Servers) == 0) {
		return false, evidence.Errorf(evidence.Operation, i.origin, "", errors.New("its pages do not end"))
	}
	p.Cursor = next
	if next == "" {
		*p = registry.Progress{Since: p.Began.Add(-importOverlap)}
	}
	if err := i.db.SetProgress(ctx, i.origin, *p); err != nil {
		return false, evidence.Errorf(evidence.Operation, "registry", "", err)
	}
	i.tellProgress()
	return next != "", nil
}

// tellProgress reports the counts so far.
func (i *importer) tellProgress() {
	if i.Progress != nil {
		i.Progress(*i.out)
	}
}

// fetchPage fetches one page, and retries errors that may pass, with the pause that the registry
// asks for or a growing one. Other errors end the import.
func (i *importer) fetchPage(ctx context.Context, upstream *client.Client,
	p registry.Progress) (*registry.Page, error) {
	for try := 1; ; try++ {
		page, err := upstream.Changes(ctx, p.Cursor, p.Since)
		if err == nil || ctx.Err() != nil {
			return page, err
		}
		pause := min(importPause<<(try-1), importMaxPause)
		if problem, ok := errors.AsType[*registry.Problem](err); ok {
			if problem.Status != 429 && problem.Status < 500 {
				return nil, err
			}
			pause = min(max(pause, problem.RetryAfter), importMaxPause)
		}
		if try == importTries {
			return nil, fmt.Errorf("%d tries: %w", try, err)
		}
		pause += rand.N(pause/4 + 1) // so that several imports do not retry at once
		if i.Warn != nil {
			i.Warn("%s: waiting %s: %s", artifact.RedactURLs(i.origin), pause.Round(time.Second),
				surface.Escape(err.Error()))
		}
		if err := i.pause(ctx, pause); err != nil {
			return nil, err
		}
	}
}

// importFile imports a dump.
func (i *importer) importFile(ctx context.Context) error {
	f, err := os.Open(i.From)
	if err != nil {
		return document.OpenError(i.From, err)
	}
	defer f.Close()
	i.origin = "file:" + filepath.Base(i.From) // the origin is published, so that it leaves out the directory
	var stopped error
	n := 0
	archives := &archiveImporter{importer: i}
	defer archives.dropParts()
	err = blobs.Read(f, func(env registry.Envelope) error {
		if stopped = i.importRecord(ctx, env); stopped != nil {
			return stopped
		}
		if n++; n%registry.MaxLimit == 0 {
			i.tellProgress()
		}
		return nil
	}, func(part blobs.Archive) error {
		stopped = archives.takePart(ctx, part)
		return stopped
	})
	switch {
	case stopped != nil:
		return evidence.Errorf(evidence.Operation, "registry", "", stopped)
	case err != nil:
		return evidence.Errorf(evidence.Validation, filepath.ToSlash(i.From),
			"the file is cut or no export: write it again with 'hallmark-registry export FILE'; what was read is "+
				"there, and a whole file adds the rest", err)
	}
	i.tellProgress()
	return nil
}

// importRecord inserts one record. It counts what is wrong with a record; an error is a failure of
// this machine.
func (i *importer) importRecord(ctx context.Context, env registry.Envelope) error {
	rec, err := i.parseRecord(env)
	if err != nil {
		i.addRefused(nameOf(env), err)
		return nil
	}
	if integrity := env.Meta.Integrity; integrity != nil && !integrity.Document.IsZero() &&
		!evidence.Same(integrity.Document, rec.Digest) {
		i.addConflict(rec.Subject() + ": the document is not the one of its digest")
		return nil
	}
	document := evidence.Compare(evidence.Claim{Subject: rec.Subject(), Scheme: evidence.Document,
		Authority: evidence.Publisher},
		evidence.Observed{Digests: []digest.Digest{rec.Digest}, Size: int64(len(rec.Document))})
	verdict := policy.Judge(policy.Accept, policy.Settings{}, evidence.Report{document})
	here, err := i.db.Insert(ctx, verdict.Admitted(), rec)
	switch {
	case errors.Is(err, registry.ErrTooMany):
		i.addRefused(nameOf(env), err)
		return nil
	case errors.Is(err, registry.ErrExists):
		return i.updatePresent(ctx, here, rec)
	case err != nil:
		return fmt.Errorf("insert %+q: %w", rec.Subject(), err)
	}
	i.out.Added++
	if doc, err := serverjson.Parse(rec.Document); err != nil || doc.ValidateForPublish().Err() != nil {
		i.out.Invalid++
	}
	if i.Restore && env.Meta.Integrity != nil {
		for _, f := range slices.Backward(env.Meta.Integrity.Findings) { // oldest first
			f.Name, f.Version = rec.Name, rec.Version
			if err := i.db.AddFinding(ctx, f); err != nil {
				return fmt.Errorf("add a finding to %+q: %w", rec.Subject(), err)
			}
		}
	}
	return nil
}

// updatePresent compares a record with the existing one of its name and version, and lets an
// imported one follow its original's status.
func (i *importer) updatePresent(ctx context.Context, here, rec registry.Record) error {
	if !evidence.Same(here.Digest, rec.Digest) {
		by := "published here"
		if here.Origin != "" {
			by = "imported before"
		}
		i.addConflict(rec.Subject() + ": another document was " + by)
		return nil
	}
	i.out.Present++
	if i.Restore {
		return nil
	}
	followed, err := i.db.Follow(ctx, rec)
	if followed {
		i.out.Followed++
	}
	if err != nil {
		return fmt.Errorf("update %+q: %w", rec.Subject(), err)
	}
	return nil
}

// parseRecord makes a record of an envelope. It accepts documents that this registry would refuse
// at publish, because they were published elsewhere. It refuses one without a usable name and
// version, or without a canonical form.
func (i *importer) parseRecord(env registry.Envelope) (rec registry.Record, err error) {
	canonical, err := serverjson.Canonical(env.Server)
	if err != nil {
		return rec, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(env.Server, &members); err != nil {
		return rec, errors.New("the document is not an object")
	}
	for member, to := range map[string]*string{"name": &rec.Name, "version": &rec.Version} {
		if json.Unmarshal(members[member], to) != nil || !serverjson.Usable(member, *to) {
			return rec, fmt.Errorf("%+.200q cannot be the %s of a record", *to, member)
		}
	}
	now := i.now()
	rec.Document, rec.Digest = env.Server, digest.FromBytes(canonical)
	rec.Origin, rec.ImportedAt = i.origin, now
	rec.PublishedAt, rec.StatusChangedAt, rec.Status = now, now, registry.Active
	if official := env.Meta.Official; official != nil {
		rec.PublishedAt = orNow(official.PublishedAt, now)
		rec.StatusChangedAt = orNow(official.StatusChangedAt, rec.PublishedAt)
		switch official.Status {
		case registry.Active, "":
		case registry.Deprecated, registry.Deleted:
			rec.Status, rec.StatusMessage = official.Status,
				document.Clip(strings.ReplaceAll(official.StatusMessage, "\x00", ""), registry.MaxStatusMessage)
		default:
			return rec, fmt.Errorf("%+.100q is no status", string(official.Status))
		}
	}
	// Clients that follow this registry by time of update must see the record.
	rec.UpdatedAt = now
	if i.Restore {
		err = restoreMembers(&rec, env, now)
	}
	return rec, err
}

// restoreMembers sets what an export says of a record of this registry: where it is from, and what was checked of it.
func restoreMembers(rec *registry.Record, env registry.Envelope, now time.Time) error {
	integrity := env.Meta.Integrity
	if env.Meta.Official == nil || integrity == nil || integrity.Document.IsZero() {
		return errors.New("is no record of an export")
	}
	rec.UpdatedAt = orNow(env.Meta.Official.UpdatedAt, now)
	rec.Origin, rec.ImportedAt = integrity.ImportedFrom, time.Time{}
	if integrity.ImportedAt != nil {
		rec.ImportedAt = *integrity.ImportedAt
	}
	if !isArray(integrity.Evidence) ||
		slices.ContainsFunc(integrity.Findings, func(f registry.Finding) bool { return !isArray(f.Evidence) }) {
		return errors.New("its evidence is no list")
	}
	rec.Evidence, rec.Build = integrity.Evidence, integrity.Build
	if integrity.VerifiedAt != nil {
		rec.VerifiedAt = *integrity.VerifiedAt
	}
	return nil
}

// isArray reports whether text is a JSON array.
func isArray(text json.RawMessage) bool {
	var pieces []json.RawMessage
	return json.Unmarshal(text, &pieces) == nil && pieces != nil
}

// orNow returns t, or now if t is zero.
func orNow(t, now time.Time) time.Time {
	if t.IsZero() {
		return now
	}
	return t
}

// addConflict counts a record that exists here with other bytes, and lists the first ones.
func (i *importer) addConflict(what string) {
	if i.out.conflicts++; i.out.conflicts <= importMaxListed {
		i.out.Conflicts = append(i.out.Conflicts, surface.Escape(what))
	}
}

// addRefused counts what cannot be imported, and lists the first ones.
func (i *importer) addRefused(what string, why error) {
	if i.out.refused++; i.out.refused <= importMaxListed {
		i.out.Refused = append(i.out.Refused, surface.Escape(what+": "+why.Error()))
	}
}

// nameOf names a record for people, with nothing in place of what cannot be read.
func nameOf(env registry.Envelope) string {
	name, version, _ := registry.ReadName(env.Server)
	return fmt.Sprintf("%.200s@%.200s", name, version)
}

// err returns the error of the records that conflict or were refused, nil without any.
func (i *importer) err() error {
	var errs []error
	add := func(kind evidence.Class, n int, what string, named []string) {
		if n == 0 {
			return
		}
		lines := "  " + strings.Join(named, "\n  ") + "\n"
		if n > len(named) {
			lines += fmt.Sprintf("  and %d more\n", n-len(named))
		}
		errs = append(errs, &evidence.Error{Subject: cmp.Or(i.origin, i.From), Kind: kind,
			Err: fmt.Errorf("%s %s", evidence.Count(n, "record"), what), Detail: lines})
	}
	add(evidence.Integrity, i.out.conflicts, "not as published here; ours stay", i.out.Conflicts)
	add(evidence.Validation, i.out.refused, "that cannot be taken", i.out.Refused)
	return errors.Join(errs...)
}
