package hallmark

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// reverifiedAtOnce is how many records are checked at a time; each fetches several files.
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
	Logger      *slog.Logger
}

// Reverification is what recomputing the claims of published records came to.
type Reverification struct {
	Records   int                `json:"records"`   // looked at; those with status deleted are not
	Claimed   int                `json:"claimed"`   // of these, with a claim to recompute
	Unreached int                `json:"unreached"` // of these, with a file that could not be had now
	Failing   []string           `json:"failing"`   // name@version of those that fail, known before or not
	Found     []ReverifiedRecord `json:"found"`     // what was added as a finding
}

// ReverifiedRecord is a record with a new finding. Evidence is empty if what failed
// before holds again.
type ReverifiedRecord struct {
	Subject  string          `json:"subject"`
	Evidence evidence.Report `json:"evidence"`
}

// Reverify recomputes the claims of published records. What no longer matches, because a
// package was replaced or removed since, becomes a finding beside the record, once: the
// same failure found again adds nothing. A file that cannot be reached now says nothing.
func Reverify(ctx context.Context, o ReverifyOptions) (*Reverification, error) {
	db, err := openDatabase(ctx, o.Place, false)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	o.Fetch.AllowAddr = fetch.RefusePrivate(o.AllowHosts...)
	o.Fetch.Logger = o.Logger
	o.Fetch.Limits.Parallel = reverifiedAtOnce * cmp.Or(o.Fetch.Limits.DocumentAtOnce, fetch.DefaultLimits().DocumentAtOnce)
	client := fetch.New(o.Fetch)
	r := reverifier{
		records: db,
		check: func(ctx context.Context, doc *serverjson.Document) (evidence.Report, error) {
			return CheckClaims(ctx, client, doc, o.BundleHosts)
		},
		build: o.Version, now: time.Now,
	}
	return r.all(ctx, o.Since)
}

// reverifier recomputes the claims of records.
type reverifier struct {
	records interface {
		registry.Records
		registry.Findings
	}
	check func(context.Context, *serverjson.Document) (evidence.Report, error)
	build string
	now   func() time.Time
}

func (r reverifier) all(ctx context.Context, since time.Time) (*Reverification, error) {
	out := &Reverification{Failing: []string{}, Found: []ReverifiedRecord{}}
	worst := evidence.OK
	// A record is updated when it is published, or later.
	for q := (registry.Query{Limit: registry.MaxLimit, UpdatedSince: since}); ; {
		page, next, err := r.records.List(ctx, q)
		if err != nil {
			return out, evidence.Errorf(evidence.Operation, "registry", "", err)
		}
		results := make([]reverified, len(page))
		group, inner := errgroup.WithContext(ctx)
		group.SetLimit(reverifiedAtOnce)
		for i, rec := range page {
			if rec.Status == registry.Deleted || rec.PublishedAt.Before(since) {
				continue
			}
			out.Records++
			group.Go(func() (err error) {
				// Another's fault stops the checking, not the keeping of what was found.
				check := func(doc *serverjson.Document) (evidence.Report, error) { return r.check(inner, doc) }
				if results[i], err = r.one(ctx, rec, check); err != nil {
					err = evidence.Errorf(evidence.Operation, rec.Subject(), "", err)
				}
				return err
			})
		}
		err = group.Wait()
		for i, one := range results { // those that were finished, whatever stopped the others
			if one.claimed {
				out.Claimed++
			}
			if one.unreached {
				out.Unreached++
			}
			if one.class != evidence.OK {
				out.Failing = append(out.Failing, page[i].Subject())
				worst = evidence.Worse(worst, one.class)
			}
			if one.found {
				out.Found = append(out.Found, ReverifiedRecord{page[i].Subject(), one.failing})
			}
		}
		if err != nil {
			return out, err
		}
		if next == "" {
			return out, out.err(worst)
		}
		q.Cursor = next
	}
}

// err is the error of a reverification that was not all well.
func (r *Reverification) err(worst evidence.Class) error {
	var failing, unreached error
	if n := len(r.Failing); n > 0 {
		failing = evidence.Errorf(worst, "registry", "look at each record's findings, and tell its publisher",
			fmt.Errorf("%d of %s with claims failing", n, evidence.Count(r.Claimed, "record")))
	}
	if r.Unreached > 0 {
		unreached = evidence.Errorf(evidence.Operation, "registry", "run it again later",
			fmt.Errorf("files of %s could not be reached", evidence.Count(r.Unreached, "record")))
	}
	return errors.Join(failing, unreached)
}

// reverified is what one record came to.
type reverified struct {
	claimed   bool
	unreached bool
	failing   evidence.Report
	class     evidence.Class // the most urgent of what fails
	found     bool           // failing was added as a finding
}

func (r reverifier) one(ctx context.Context, rec registry.Record, check func(*serverjson.Document) (evidence.Report, error)) (out reverified, err error) {
	doc, err := serverjson.Parse(rec.Document)
	if err != nil {
		return out, nil // an imported record may be one that this registry would refuse
	}
	if claims, cannot := doc.Claims("server.json"); len(claims)+len(cannot) == 0 {
		return out, nil
	}
	out.claimed = true
	report, err := check(doc)
	if err != nil {
		return out, err
	}
	out.failing, out.class, out.unreached = failing(report)
	before, err := known(rec)
	if err != nil {
		return out, err
	}
	now := states(out.failing)
	news := slices.ContainsFunc(now, func(s string) bool { return !slices.Contains(before, s) })
	over := slices.ContainsFunc(before, func(s string) bool { return !slices.Contains(now, s) })
	if !news && (!over || out.unreached) {
		return out, nil
	}
	text, err := json.Marshal(out.failing)
	if err != nil {
		return out, err
	}
	out.found = true
	return out, r.records.AddFinding(ctx, registry.Finding{Name: rec.Name, Version: rec.Version, At: r.now(), Build: r.build, Evidence: text})
}

// known is what already was known to fail of rec: its last finding or, without one, what
// was tolerated when it was published.
func known(rec registry.Record) ([]string, error) {
	text := rec.Evidence
	if len(rec.Findings) > 0 {
		text = rec.Findings[0].Evidence
	}
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
	bad, _, _ := failing(report)
	return states(bad), nil
}

// failing returns what of a report a publish would be refused for, the most urgent class
// of it, and whether there was something beside it that could not be reached.
func failing(report evidence.Report) (bad evidence.Report, class evidence.Class, unreached bool) {
	bad = evidence.Report{}
	for _, f := range policy.Judge(policy.Accept, policy.Settings{}, report).Findings {
		e := f.Evidence
		switch {
		case f.Class == evidence.OK:
		case e.Outcome == evidence.Unverifiable && (e.Cause == evidence.Unreachable || e.Cause == evidence.Unreadable):
			unreached = true
		default:
			bad = append(bad, e)
			class = evidence.Worse(class, f.Class)
		}
	}
	return bad, class, unreached
}

// states names each failure by what makes it the same as another.
func states(report evidence.Report) []string {
	out := make([]string, len(report))
	for i, e := range report {
		out[i] = strings.Join([]string{e.Subject, string(e.Scheme), string(e.Authority), string(e.Outcome), string(e.Cause), e.Actual()}, "\x00")
	}
	return out
}
