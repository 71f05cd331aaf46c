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
	grant, err := s.authenticate(ctx, in.Authorization, in.Origin)
	if err != nil {
		s.Counters.Unauthorized.Add(1)
		return nil, err
	}
	raw, err := jsonBody(in.ContentType, in.RawBody)
	if err != nil {
		return nil, err
	}
	doc, issues, err := parseDocument(raw, s.IsAsked)
	if err != nil {
		return nil, err
	}
	if len(issues.Errors()) > 0 {
		s.Counters.Invalid.Add(1)
		return nil, invalid(issues)
	}
	if grant != nil && !grant.Allows(registry.ActionPublish, doc.Name) {
		s.Counters.Unauthorized.Add(1)
		return nil, forbidden(*grant, doc.Name)
	}
	rules := s.Policy()
	if rules.blocks(doc.Name) {
		s.Counters.Unauthorized.Add(1)
		return nil, registry.NewProblem(http.StatusForbidden, "this registry takes nothing under the name %+.200q",
			doc.Name)
	}
	canonical, err := serverjson.Canonical(raw)
	if err != nil {
		s.Counters.Invalid.Add(1)
		p := registry.NewProblem(http.StatusUnprocessableEntity, "validation failed")
		p.Errors = []registry.ProblemError{{Message: err.Error(), Location: "body"}}
		return nil, p
	}
	rec := registry.Record{Name: doc.Name, Version: doc.Version, Document: raw,
		Build: s.Version}.WithDigest(digest.FromBytes(canonical))

	if rules.Validation != registry.Off { // without checks nothing is saved: Insert finds an existing version
		switch first, err := s.Records.Get(ctx, rec.Name, rec.Version); {
		case err == nil:
			return s.answerExisting(ctx, first, rec)
		case !errors.Is(err, registry.ErrNotFound):
			return nil, err
		}
	}
	verdict, report, err := s.judge(ctx, rules, doc, rec, publisher(ctx, grant))
	if err != nil {
		return nil, err
	}
	rec.PublishedAt, rec.Publisher = s.Now(), actor(grant)
	rec.UpdatedAt, rec.StatusChangedAt = rec.PublishedAt, rec.PublishedAt
	if isVerified(doc, report) {
		rec.VerifiedAt = rec.PublishedAt
	}
	if rec.Evidence, err = json.Marshal(report); err != nil {
		return nil, err
	}
	if len(report) == 0 {
		rec.Evidence = nil
	}
	inserted, err := s.Records.Insert(ctx, verdict.Admitted(), rec)
	switch {
	case errors.Is(err, registry.ErrExists):
		return s.answerExisting(ctx, inserted, rec)
	case errors.Is(err, registry.ErrTooMany):
		return nil, registry.NewProblem(http.StatusConflict, "%s", err)
	case err != nil:
		return nil, err
	}
	s.Counters.Published.Add(1)
	by, subject := registry.LoginMethod("nobody"), ""
	if grant != nil {
		by, subject = grant.Method, grant.Subject
	}
	Logger(ctx).Info("published", "name", rec.Name, "version", rec.Version, "document", rec.Digest.String(), "by", by,
		"subject", subject)
	return s.answerProven(ctx, inserted, inserted.Entry, inserted.EntryText)
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
	done, err := s.waitTurn(ctx, whose)
	if err != nil {
		return policy.Verdict{}, nil, err
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
		return policy.Verdict{}, nil, ctx.Err()
	case err != nil && expired:
		p := registry.NewProblem(http.StatusServiceUnavailable, "checking took longer than %s", s.Timeout)
		p.RetryAfter = retryAfter
		return policy.Verdict{}, nil, p
	case evidence.ClassOf(err) == evidence.Validation: // of the document, not of this machine
		s.Counters.Invalid.Add(1)
		p := registry.NewProblem(http.StatusUnprocessableEntity, "validation failed")
		p.Errors = []registry.ProblemError{{Message: err.Error(), Location: "body"}}
		return policy.Verdict{}, nil, p
	case err != nil:
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
