package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

type publishInput struct {
	Authorization string `header:"Authorization" doc:"Bearer TOKEN"`
	Origin        string `header:"Origin" hidden:"true"`
	ContentType   string `header:"Content-Type" hidden:"true"`
	RawBody       []byte `contentType:"application/json"`
}

func (s *Server) publish(ctx context.Context, in *publishInput) (*huma.StreamResponse, error) {
	if err := s.checkWritable(); err != nil {
		return nil, err
	}
	p, err := s.readSubmission(ctx, in)
	if err != nil {
		return nil, err
	}
	if p.rules.Validation != registry.Off { // without checks nothing is saved: Insert finds an existing version
		switch first, err := s.Records.Get(ctx, p.rec.Name, p.rec.Version); {
		case err == nil:
			return s.answerExisting(ctx, first, p.rec)
		case !errors.Is(err, registry.ErrNotFound):
			return nil, err
		}
	}
	verdict, report, err := s.judge(ctx, p.rules, p.doc, p.rec, publisher(ctx, p.grant))
	if err != nil {
		return nil, err
	}
	if err := p.complete(s.Now(), report); err != nil {
		return nil, err
	}
	inserted, err := s.Records.Insert(ctx, verdict.Admitted(), p.rec)
	switch {
	case errors.Is(err, registry.ErrExists):
		return s.answerExisting(ctx, inserted, p.rec)
	case errors.Is(err, registry.ErrTooMany):
		return nil, registry.NewProblem(http.StatusConflict, "%s", err)
	case err != nil:
		return nil, err
	}
	s.Counters.Published.Add(1)
	by, subject := registry.LoginMethod("nobody"), ""
	if p.grant != nil {
		by, subject = p.grant.Method, p.grant.Subject
	}
	Logger(ctx).Info("published", "name", p.rec.Name, "version", p.rec.Version, "document", p.rec.Digest.String(),
		"by", by, "subject", subject)
	return s.answerProven(ctx, inserted, inserted.Entry, inserted.EntryText)
}

// submission is a document that its sender may publish.
type submission struct {
	grant *registry.Grant // of the sender; nil is anonymous
	rules Policy          // when it arrived
	doc   *serverjson.Document
	rec   registry.Record
}

// readSubmission authenticates a publish, validates its document, and begins the record of it.
func (s *Server) readSubmission(ctx context.Context, in *publishInput) (p submission, err error) {
	if p.grant, err = s.authenticate(ctx, in.Authorization, in.Origin); err != nil {
		s.Counters.Unauthorized.Add(1)
		return p, err
	}
	raw, err := jsonBody(in.ContentType, in.RawBody)
	if err != nil {
		return p, err
	}
	doc, issues, err := parseDocument(raw, s.IsAsked)
	if err != nil {
		return p, err
	}
	if len(issues.Errors()) > 0 {
		s.Counters.Invalid.Add(1)
		return p, invalid(issues)
	}
	if p.grant != nil && !p.grant.Allows(registry.ActionPublish, doc.Name) {
		s.Counters.Unauthorized.Add(1)
		return p, forbidden(*p.grant, doc.Name)
	}
	p.doc, p.rules = doc, s.Policy()
	if p.rules.blocks(doc.Name) {
		s.Counters.Unauthorized.Add(1)
		return p, registry.NewProblem(http.StatusForbidden, "this registry takes nothing under the name %+.200q",
			doc.Name)
	}
	canonical, err := serverjson.Canonical(raw)
	if err != nil {
		return p, s.invalidBody(err)
	}
	p.rec = registry.Record{Name: doc.Name, Version: doc.Version, Document: raw,
		Build: s.Version}.WithDigest(digest.FromBytes(canonical))
	return p, nil
}

// complete sets when and by whom the record is published, and what was checked of it.
func (p *submission) complete(now time.Time, report evidence.Report) (err error) {
	p.rec.PublishedAt, p.rec.Publisher = now, actor(p.grant)
	p.rec.UpdatedAt, p.rec.StatusChangedAt = now, now
	if isVerified(p.doc, report) {
		p.rec.VerifiedAt = now
	}
	if p.rec.Evidence, err = json.Marshal(report); err != nil {
		return err
	}
	if len(report) == 0 {
		p.rec.Evidence = nil
	}
	return nil
}

// invalidBody counts and returns the refusal of a document that cannot be published as it is.
func (s *Server) invalidBody(err error) error {
	s.Counters.Invalid.Add(1)
	p := registry.NewProblem(http.StatusUnprocessableEntity, "validation failed")
	p.Errors = []registry.ProblemError{{Message: err.Error(), Location: "body"}}
	return p
}

// answerRecord answers a record that was inserted or found, with a proof if there is one.
func answerRecord(rec registry.Record, proof []byte) (*huma.StreamResponse, error) {
	return answerRendered(func(b []byte) ([]byte, error) {
		if rec.Answer != nil {
			b = append(b, rec.Answer...)
		} else {
			var err error
			if b, err = registry.AppendEnvelope(b, rec); err != nil {
				return b, err
			}
		}
		return registry.AppendProof(b, proof)
	})
}

// answerExisting answers a publish of a version that exists.
func (s *Server) answerExisting(ctx context.Context, first, rec registry.Record) (*huma.StreamResponse, error) {
	if first.Status == registry.Deleted {
		s.Counters.Conflicts.Add(1)
		p := registry.NewProblem(http.StatusConflict, "version %s of %s was deleted", rec.Version, rec.Name)
		p.Errors = []registry.ProblemError{{Message: registry.WasDeleted, Location: "body.version"}}
		return nil, p
	}
	if evidence.Same(first.Digest, rec.Digest) {
		s.Counters.Repeated.Add(1)
		if s.Log == nil {
			return answerRecord(first, nil)
		}
		index, err := s.Log.Entries().LogIndex(ctx, ledger.Server, first.Name, first.Version)
		if err != nil {
			return nil, fmt.Errorf("entry of %+q: %w", first.Subject(), err)
		}
		return s.answerProven(ctx, first, index, nil)
	}
	s.Counters.Conflicts.Add(1)
	Logger(ctx).Info("conflict", "name", rec.Name, "version", rec.Version)
	p := registry.NewProblem(http.StatusConflict, "version %s of %s is published already, with another document",
		rec.Version, rec.Name)
	p.Errors = []registry.ProblemError{
		{Message: "a version cannot be published twice; publish a new version", Location: "body.version"}}
	return nil, p
}

// judge gathers the evidence about doc and judges it. A verdict without an error
// allows. The report is what was checked of the packages, whatever came of it.
func (s *Server) judge(
	ctx context.Context, rules Policy, doc *serverjson.Document, rec registry.Record, whose string,
) (policy.Verdict, evidence.Report, error) {
	// The document itself is admitted with what it claims. Nobody claims its digest.
	document := evidence.Compare(
		evidence.Claim{Subject: rec.Subject(), Scheme: evidence.Document, Authority: evidence.Publisher},
		evidence.Observed{Digests: []digest.Digest{rec.Digest}, Size: int64(len(rec.Document))})
	if rules.Validation == registry.Off {
		return policy.Judge(policy.Accept, policy.Settings{}, evidence.Report{document}), nil, nil
	}
	report, err := s.checkPackages(ctx, doc, whose)
	if err != nil {
		return policy.Verdict{}, nil, err
	}
	settings := policy.Settings{RequireHashes: rules.RequireHashes}
	verdict := policy.Judge(policy.Accept, settings, append(evidence.Report{document}, report...))
	failed := failures(verdict)
	for _, id := range registry.SortedKeys(failed) {
		s.Counters.fail(failed[id].Status)
		Logger(ctx).Warn("hash failed", "name", rec.Name, "version", rec.Version, "identifier", id,
			"status", failed[id].Status, "expected", failed[id].Expected, "actual", failed[id].Actual, "validation",
			rules.Validation)
	}
	if rules.Validation == registry.Observe && len(failed) > 0 {
		tolerated := evidence.Report{document}
		for _, f := range verdict.Findings[1:] {
			if !isHashFailure(f) {
				tolerated = append(tolerated, f.Evidence)
			}
		}
		verdict = policy.Judge(policy.Accept, settings, tolerated)
		if verdict.Allowed() {
			s.Counters.Tolerated.Add(1)
		}
	}
	if !verdict.Allowed() {
		s.Counters.Refused.Add(1)
		return policy.Verdict{}, nil, refusal(verdict, report)
	}
	return verdict, report, nil
}

// checkPackages waits for a turn, and recomputes what doc claims of its packages within the time for it.
func (s *Server) checkPackages(ctx context.Context, doc *serverjson.Document, whose string) (evidence.Report, error) {
	done, err := s.waitTurn(ctx, whose)
	if err != nil {
		return nil, err
	}
	checking, cancel := context.WithTimeout(ctx, s.Timeout)
	began := time.Now()
	report, err := s.Check(checking, doc)
	s.metrics.countCheck(time.Since(began))
	expired := checking.Err() != nil
	cancel()
	done()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && expired:
		p := registry.NewProblem(http.StatusServiceUnavailable, "checking took longer than %s", s.Timeout)
		p.RetryAfter = retryAfter
		return nil, p
	case evidence.ClassOf(err) == evidence.Validation: // of the document, not of this machine
		return nil, s.invalidBody(err)
	case err != nil:
		return nil, err
	}
	return report, nil
}

// isVerified reports whether for each package of doc a claim of its publisher was
// recomputed and matched, and nothing failed. What the package's own registry says of it
// makes nothing verified.
func isVerified(doc *serverjson.Document, report evidence.Report) bool {
	var matched []artifact.Ref
	for _, e := range report {
		if e.Scheme == evidence.Ownership {
			continue
		}
		switch {
		case e.Outcome == evidence.Mismatch || e.Outcome == evidence.Unverifiable:
			return false
		case e.Outcome == evidence.Absent && e.Scheme == evidence.File && e.Authority == evidence.Publisher:
			return false // such as one of the files of a release
		case e.Outcome == evidence.Match && !e.Weak && e.Scheme == evidence.File && e.Authority == evidence.Publisher:
			if ref, err := artifact.Parse(e.Subject); err == nil {
				matched = append(matched, ref)
			}
		}
	}
	for _, p := range doc.Packages {
		if !slices.ContainsFunc(matched, p.Gives) {
			return false
		}
	}
	return len(doc.Packages) > 0
}
