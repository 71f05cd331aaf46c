package operate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/monitor"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// reverifiedAtOnce is the number of records that are checked at once; each fetches several files.
const reverifiedAtOnce = 4

// ReverifyOptions describe what is recomputed, and how files are fetched: as when the
// registry serves.
type ReverifyOptions struct {
	Place
	Since       time.Time // only records published then or later; zero is all
	AllowHosts  []string
	BundleHosts []string
	Fetch       fetch.Config
	Version     string // of this program, as findings tell it
	DryRun      bool   // findings are told, and not added
	Logger      *slog.Logger
}

// Reverification counts the records of [Reverify], and names those that fail.
type Reverification struct {
	Records   int `json:"records"`   // that were looked at; deleted ones are skipped
	Claimed   int `json:"claimed"`   // of these, with a claim to recompute
	Unreached int `json:"unreached"` // of these, with a file that could not be looked at now
	// name@version of those that fail, "facet name@version" of an archive; known before or not
	Failing []string           `json:"failing"`
	Found   []ReverifiedRecord `json:"found"` // what was added as a finding, or would be without DryRun
}

// ReverifiedRecord is a record with a new finding. Evidence is empty if what failed
// before holds again.
type ReverifiedRecord struct {
	Subject  string          `json:"subject"`
	Evidence evidence.Report `json:"evidence"`
}

// Reverify recomputes the claims of published records: for servers by fetching their packages
// again, for archives from the bytes that the registry keeps. A claim that no longer holds, because
// a package was replaced or removed or an archive is damaged, becomes a finding of the record. The
// same failure adds no second finding. What could not be looked at is no failure, and is logged: an
// unreachable file, one that o forbids to fetch, and a missing archive, because o.Blobs may name
// another place than the registry's. A finding stays in the log, and the next run may have other options.
func Reverify(ctx context.Context, o ReverifyOptions) (*Reverification, error) {
	db, err := openDatabase(ctx, o.Place, false)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	client := newClient(&o.Fetch, o.AllowHosts, o.Logger, reverifiedAtOnce)
	r := reverifier{
		records: db,
		check: func(ctx context.Context, doc *serverjson.Document) (evidence.Report, error) {
			return checkClaims(ctx, client, doc, o.BundleHosts)
		},
		blobs: sync.OnceValues(func() (registry.Blobs, error) { return openBlobs(ctx, o.Data, o.Blobs) }),
		build: o.Version, now: time.Now, dry: o.DryRun, logger: o.Logger,
	}
	return r.reverifyAll(ctx, o.Since)
}

// reverifier recomputes the claims of records.
type reverifier struct {
	records interface {
		registry.Records
		registry.Findings
		registry.ArchiveRecords
	}
	check func(context.Context, *serverjson.Document) (evidence.Report, error)
	blobs func() (registry.Blobs, error) // called only if there is an archive; safe for concurrent use
	build string
	now   func() time.Time
	dry   bool // nothing is written

	logger *slog.Logger // gets a warning for each file that could not be looked at; nil drops it
}

// packagesHint is for a package that could not be looked at.
const packagesHint = "give reverify the --allow-host, --npm-registry, --credentials and limits that serve has"

// claimedRecord is a record whose claims can be recomputed.
type claimedRecord struct {
	subject   string
	status    registry.Status
	published time.Time
	before    []byte // evidence that is known to fail, a JSON array
	hint      string // where its files cannot be looked at
	check     func(context.Context) (report evidence.Report, claims bool, err error)
	add       func(ctx context.Context, failing []byte) error // a finding
}

// reverifyAll recomputes the claims of servers, then of each kind of archive.
func (r reverifier) reverifyAll(ctx context.Context, since time.Time) (*Reverification, error) {
	out := &Reverification{Failing: []string{}, Found: []ReverifiedRecord{}}
	lists := []func(context.Context, registry.Query) ([]claimedRecord, string, error){r.listServers}
	for _, kind := range []ledger.Kind{ledger.Artifact, ledger.Facet, ledger.Plugin} {
		lists = append(lists, func(ctx context.Context, q registry.Query) ([]claimedRecord, string, error) {
			return r.listArchives(ctx, kind, q)
		})
	}
	worst := evidence.OK
	for _, list := range lists {
		class, err := r.reverifyList(ctx, out, since, list)
		if worst = evidence.Worse(worst, class); err != nil {
			return out, err
		}
	}
	return out, out.err(worst)
}

// reverifyList recomputes the claims of the records of a list, and returns the most urgent class of
// what fails.
func (r reverifier) reverifyList(ctx context.Context, out *Reverification, since time.Time,
	list func(context.Context, registry.Query) ([]claimedRecord, string, error)) (worst evidence.Class, err error) {
	// The time of update is never before that of publishing.
	for q := (registry.Query{Limit: registry.MaxLimit, UpdatedSince: since}); ; {
		page, next, err := list(ctx, q)
		if err != nil {
			err = fmt.Errorf("list the records: %w", err)
			return worst, evidence.Errorf(evidence.Operation, "registry", "", err)
		}
		results := make([]recordResult, len(page))
		group, inner := errgroup.WithContext(ctx)
		group.SetLimit(reverifiedAtOnce)
		for i, rec := range page {
			if rec.status == registry.Deleted || rec.published.Before(since) {
				continue
			}
			out.Records++
			group.Go(func() (err error) {
				// The failure of another record stops this check, but not storing its finding.
				if results[i], err = rec.reverify(ctx, inner, r.dry); err != nil {
					err = evidence.Errorf(evidence.Operation, rec.subject, "", err)
				}
				return err
			})
		}
		err = group.Wait()
		for i, one := range results { // of those that finished
			r.tell(page[i], one.unread)
			worst = evidence.Worse(worst, out.count(page[i].subject, one))
		}
		if err != nil || next == "" {
			return worst, err
		}
		q.Cursor = next
	}
}

// tell logs what could not be looked at of a record.
func (r reverifier) tell(rec claimedRecord, unread evidence.Report) {
	for _, e := range unread {
		if r.logger != nil {
			r.logger.Warn("not checked, and no finding", "subject", rec.subject, "claim", e.Title(), "reason", e.Reason,
				"hint", rec.hint)
		}
	}
}

// count adds the result of one record, and returns the most urgent class of what fails.
func (r *Reverification) count(subject string, one recordResult) evidence.Class {
	if one.claimed {
		r.Claimed++
	}
	if len(one.unread) > 0 {
		r.Unreached++
	}
	if one.class != evidence.OK {
		r.Failing = append(r.Failing, subject)
	}
	if one.found {
		r.Found = append(r.Found, ReverifiedRecord{subject, one.failing})
	}
	return one.class
}

// listServers returns a page of the records of servers.
func (r reverifier) listServers(ctx context.Context, q registry.Query) (page []claimedRecord, next string, err error) {
	records, next, err := r.records.List(ctx, q)
	for _, rec := range records {
		before := rec.Evidence
		if len(rec.Findings) > 0 {
			before = rec.Findings[0].Evidence
		}
		page = append(page, claimedRecord{rec.Subject(), rec.Status, rec.PublishedAt, before, packagesHint,
			func(ctx context.Context) (evidence.Report, bool, error) {
				doc, err := serverjson.Parse(rec.Document)
				if err != nil {
					return nil, false, nil // an imported record may be one that this registry would refuse
				}
				if claims, cannot := doc.Claims("server.json"); len(claims)+len(cannot) == 0 {
					return nil, false, nil
				}
				report, err := r.check(ctx, doc)
				return report, true, err
			},
			func(ctx context.Context, failing []byte) error {
				return r.records.AddFinding(ctx,
					registry.Finding{Name: rec.Name, Version: rec.Version, At: r.now(), Build: r.build,
						Evidence: failing})
			}})
	}
	return page, next, err
}

// listArchives returns a page of the records of one kind of archive.
func (r reverifier) listArchives(ctx context.Context, kind ledger.Kind,
	q registry.Query) (page []claimedRecord, next string, err error) {
	records, next, err := r.records.ListArchives(ctx, kind, q)
	for _, rec := range records {
		before := []byte("[]")
		if len(rec.Findings) > 0 {
			before = rec.Findings[0].Evidence
		}
		subject := ledger.Leaf{Kind: kind, Name: rec.Name, Version: rec.Version}.Subject()
		page = append(page, claimedRecord{subject, rec.Status, rec.PublishedAt, before, archivesHint,
			func(ctx context.Context) (evidence.Report, bool, error) {
				blobs, err := r.blobs()
				if err != nil {
					return nil, false, err
				}
				report, err := checkArchive(ctx, blobs, rec, subject)
				return report, true, err
			},
			func(ctx context.Context, failing []byte) error {
				return r.records.AddArchiveFinding(ctx,
					registry.Finding{Kind: kind, Name: rec.Name, Version: rec.Version, At: r.now(), Build: r.build,
						Evidence: failing})
			}})
	}
	return page, next, err
}

// checkArchive compares a stored archive with its record. It returns what is wrong with the archive
// as evidence; an error is a failure of this machine.
func checkArchive(ctx context.Context, blobs registry.Blobs, rec registry.ArchiveRecord,
	subject string) (evidence.Report, error) {
	scheme := evidence.FacetTar
	if rec.Kind == string(ledger.Plugin) {
		scheme = evidence.Tree
	}
	claims := []evidence.Claim{
		{Subject: subject, Scheme: evidence.File, Authority: evidence.Record, Want: []digest.Digest{rec.ContentHash},
			Where: "content_hash"},
		{Subject: subject, Scheme: scheme, Authority: evidence.Record, Want: []digest.Digest{rec.ContentIntegrity},
			Where: "content_integrity"},
	}
	body, err := blobs.Open(ctx, rec.ContentHash, 0, -1)
	switch {
	case errors.Is(err, registry.ErrNotFound):
		return evidence.Report{evidence.CannotVerify(claims[0], evidence.Unreachable, "it is not there")}, nil
	case errors.Is(err, registry.ErrUnavailable) && ctx.Err() == nil:
		return evidence.Report{evidence.CannotVerify(claims[0], evidence.Unreachable, err.Error())}, nil
	case err != nil:
		return nil, err
	}
	defer body.Close()
	hasher := digest.NewHasher()
	kept := &monitor.ErrorReader{Reader: io.TeeReader(io.LimitReader(body, registry.MaxBlob+1), hasher)}
	integrity, _, bad := monitor.ArchiveHashes(ctx, ledger.Kind(rec.Kind), kept)
	if kept.Err == nil {
		_, _ = io.Copy(io.Discard, kept) // kept.Err holds the error
	}
	switch {
	case kept.Err != nil && errors.Is(kept.Err, registry.ErrUnavailable) && ctx.Err() == nil:
		return evidence.Report{evidence.CannotVerify(claims[0], evidence.Unreachable, kept.Err.Error())}, nil
	case kept.Err != nil:
		return nil, kept.Err
	}
	file := evidence.Compare(claims[0], evidence.Observed{Digests: []digest.Digest{hasher.Digest(digest.SHA256)}})
	report := evidence.Report{file}
	switch {
	case bad != nil && evidence.ClassOf(bad) == evidence.Validation:
		return append(report, evidence.CannotVerify(claims[1], evidence.Malformed, bad.Error())), nil
	case bad != nil && file.Outcome != evidence.Match: // other bytes: why they cannot be read does not matter
		return report, nil
	case bad != nil:
		return nil, bad
	}
	return append(report, evidence.Compare(claims[1], evidence.Observed{Digests: []digest.Digest{integrity}})), nil
}

// err returns the error of records that fail or could not be reached; worst is the most urgent
// class of the failures.
func (r *Reverification) err(worst evidence.Class) error {
	var failing, unreached error
	if n := len(r.Failing); n > 0 {
		failing = evidence.Errorf(worst, "registry", "look at each record's findings, and tell its publisher",
			fmt.Errorf("%d of %s with claims failing", n, evidence.Count(r.Claimed, "record")))
	}
	if r.Unreached > 0 {
		unreached = evidence.Errorf(evidence.Operation, "registry",
			"the warnings name each; mend what they say, or run it again later",
			fmt.Errorf("files of %s could not be looked at", evidence.Count(r.Unreached, "record")))
	}
	return errors.Join(failing, unreached)
}

// recordResult is the result of reverifying one record.
type recordResult struct {
	claimed bool
	unread  evidence.Report // what could not be looked at
	failing evidence.Report
	class   evidence.Class // the most urgent of what fails
	found   bool           // failing is a new finding
}

// reverify checks a record within the context checking, and stores a new finding within ctx, or not if dry.
func (rec claimedRecord) reverify(ctx, checking context.Context, dry bool) (out recordResult, err error) {
	report, claims, err := rec.check(checking)
	if out.claimed = claims; err != nil || !claims {
		return out, err
	}
	out.failing, out.class, out.unread = selectFailing(report, evidence.NotFound, evidence.Ambiguous,
		evidence.Malformed)
	before, err := knownFailures(rec.before)
	if err != nil {
		return out, err
	}
	now := failureKeys(out.failing)
	hasNew := slices.ContainsFunc(now, func(s string) bool { return !slices.Contains(before, s) })
	hasResolved := slices.ContainsFunc(before, func(s string) bool { return !slices.Contains(now, s) })
	if !hasNew && (!hasResolved || len(out.unread) > 0) {
		return out, nil
	}
	text, err := json.Marshal(out.failing)
	if err != nil {
		return out, err
	}
	out.found = true
	if dry {
		return out, nil
	}
	if err := rec.add(ctx, text); err != nil {
		return out, fmt.Errorf("add the finding: %w", err)
	}
	return out, nil
}

// knownFailures returns what was known to fail of a record: its last finding or, without one, what
// was tolerated when it was published.
func knownFailures(text []byte) ([]string, error) {
	var pieces []struct {
		Subject, Actual string
		Scheme          evidence.Scheme
		Authority       evidence.Authority
		Outcome         evidence.Outcome
		Cause           evidence.Cause
	}
	if err := json.Unmarshal(text, &pieces); err != nil {
		return nil, fmt.Errorf("its evidence: %w", err)
	}
	var report evidence.Report
	for _, p := range pieces {
		report = append(report, evidence.Evidence{
			Claim:    evidence.Claim{Subject: p.Subject, Scheme: p.Scheme, Authority: p.Authority},
			Observed: evidence.Observed{Text: p.Actual}, Outcome: p.Outcome, Cause: p.Cause,
		})
	}
	bad, _, _ := selectFailing(report, evidence.NotFound, evidence.Ambiguous, evidence.Malformed, evidence.Unsupported,
		evidence.TooLarge, evidence.Computed)
	return failureKeys(bad), nil
}

// selectFailing returns the evidence for which a publish would be refused, its most urgent class, and
// what could not be looked at: whatever could not be computed for another cause than those of learned,
// which is that of this machine, its network, limits and flags, and says nothing of the package.
func selectFailing(report evidence.Report, learned ...evidence.Cause) (bad evidence.Report, class evidence.Class,
	unread evidence.Report) {
	bad = evidence.Report{}
	for _, f := range policy.Judge(policy.Accept, policy.Settings{}, report).Findings {
		e := f.Evidence
		switch {
		case f.Class == evidence.OK:
		case e.Outcome == evidence.Unverifiable && !slices.Contains(learned, e.Cause):
			unread = append(unread, e)
		default:
			bad = append(bad, e)
			class = evidence.Worse(class, f.Class)
		}
	}
	return bad, class, unread
}

// failureKeys returns a key for each failure; the same failure has the same key in another run.
func failureKeys(report evidence.Report) []string {
	out := make([]string, len(report))
	for i, e := range report {
		out[i] = strings.Join([]string{e.Subject, string(e.Scheme), string(e.Authority), string(e.Outcome),
			string(e.Cause), e.Actual()}, "\x00")
	}
	return out
}
