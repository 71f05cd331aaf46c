package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/policy"
)

// archivesOf returns the transport of a kind, filled in with what serves it here.
func (s *Server) archivesOf(k registry.ArchiveKind) (*Archives, error) {
	switch {
	case !k.Kind.Publishes() || k.Kind == ledger.Server:
		return nil, fmt.Errorf("registry: %q is no kind of archive", k.Kind)
	case k.Read == nil || s.ArchiveRecords == nil:
		return nil, fmt.Errorf("registry: nothing reads %s, or keeps their records", registry.Plural(k.Kind))
	}
	a := s.Transport
	a.Kind = registry.Plural(k.Kind)
	if a.Blobs == nil {
		a.Blobs = s.Blobs
	}
	if a.Timeout <= 0 {
		a.Timeout = s.Timeout
	}
	a.Authorize = s.authorizeArchive
	a.Accept = func(ctx context.Context, u Upload, keep func(context.Context) error) (int, any, error) {
		return s.acceptArchive(ctx, k, u, keep)
	}
	a.Find = func(ctx context.Context, name, version string) (Archive, error) {
		return s.findArchive(ctx, k.Kind, name, version)
	}
	a.Answer = func(w http.ResponseWriter, r *http.Request, name string, rest []string) (any, error) {
		return s.answerArchive(w, r, k.Kind, name, rest)
	}
	return &a, nil
}

// authorizeArchive decides before an upload whether its sender may publish under name.
func (s *Server) authorizeArchive(r *http.Request, name string) (*registry.Grant, error) {
	if err := s.checkWritable(); err != nil {
		return nil, err
	}
	grant, err := s.authenticate(r.Context(), r.Header.Get("Authorization"), r.Header.Get("Origin"))
	switch {
	case err != nil:
	case grant != nil && !permits(*grant, registry.ActionPublish, name):
		err = forbiddenArchive(*grant, name)
	case s.Policy().blocksArchive(name):
		err = registry.NewProblem(http.StatusForbidden, "this registry takes nothing under the name %+.200q", name)
	}
	if err != nil {
		s.Counters.Unauthorized.Add(1)
		return nil, err
	}
	return grant, nil
}

// forbiddenArchive is the answer to a bearer who may not act on the archives of a name.
func forbiddenArchive(g registry.Grant, name string) *registry.Problem {
	p := forbidden(g, name)
	message := "a name without a scope needs a token for every name, *"
	if inScope, ok := strings.CutPrefix(name, "@"); ok {
		scope, _, _ := strings.Cut(inScope, "/")
		message = fmt.Sprintf("%+.100q is for who may publish %+.100q, and for API tokens that name it", "@"+scope+"/*",
			githubNames+scope+"/*")
	}
	p.Errors = []registry.ProblemError{{Message: message, Location: "path.name"}}
	return p
}

// acceptArchive judges an upload: everything is recomputed from its bytes, and whatever
// does not match is reported at once.
func (s *Server) acceptArchive(
	ctx context.Context, k registry.ArchiveKind, u Upload, keep func(context.Context) error,
) (int, any, error) {
	content, err := s.readArchive(ctx, k, u)
	if err != nil {
		return 0, nil, err
	}
	if content.APISurface, err = s.claimedSurface(k, u, content.APISurface); err != nil {
		return 0, nil, err
	}
	rec := registry.ArchiveRecord{
		Kind: string(k.Kind), Name: content.Name, Version: content.Version,
		ContentIntegrity: content.ContentIntegrity, ContentHash: content.ContentHash, Size: u.Size,
		Manifest: content.Manifest, Assets: content.Assets, APISurface: content.APISurface, Build: s.Version,
	}
	verdict, err := s.judgeArchive(rec, content, u)
	if err != nil {
		return 0, nil, err
	}
	switch first, err := s.ArchiveRecords.Archive(ctx, k.Kind, rec.Name, rec.Version); {
	case err == nil:
		return s.answerExistingArchive(ctx, first, rec, keep)
	case !errors.Is(err, registry.ErrNotFound):
		return 0, nil, err
	}
	if err := keep(ctx); err != nil {
		return 0, nil, err
	}
	rec.PublishedAt, rec.Publisher = s.Now(), actor(u.Grant)
	rec.UpdatedAt, rec.StatusChangedAt = rec.PublishedAt, rec.PublishedAt
	inserted, err := s.ArchiveRecords.InsertArchive(ctx, verdict.Admitted(), rec)
	switch {
	case errors.Is(err, registry.ErrExists):
		return s.answerExistingArchive(ctx, inserted, rec, keep)
	case errors.Is(err, registry.ErrTooMany):
		return 0, nil, registry.NewProblem(http.StatusConflict, "%s", err)
	case err != nil:
		return 0, nil, err
	}
	s.Counters.Published.Add(1)
	Logger(ctx).Info("published", "kind", k.Kind, "name", rec.Name, "version", rec.Version,
		"content_integrity", rec.ContentIntegrity.String(), "content_hash", rec.ContentHash.String(), "by",
		rec.Publisher)
	answer, err := s.proveArchive(ctx, inserted, inserted.Entry)
	return http.StatusCreated, answer, err
}

// claimedSurface returns the api_surface that a publisher claims for a server, in the request or in
// the packed manifest. If both claim one they must agree.
func (s *Server) claimedSurface(k registry.ArchiveKind, u Upload, packed digest.Digest) (digest.Digest, error) {
	text := u.Request.URL.Query().Get(registry.SurfaceParameter)
	if text == "" {
		return packed, nil
	}
	refuse := func(format string, args ...any) (digest.Digest, error) {
		s.Counters.Invalid.Add(1)
		p := registry.NewProblem(http.StatusUnprocessableEntity, "validation failed")
		p.Errors = []registry.ProblemError{
			{Message: fmt.Sprintf(format, args...), Location: "query." + registry.SurfaceParameter}}
		return digest.Digest{}, p
	}
	claimed, err := digest.Parse(text)
	switch {
	case !k.Shows:
		return refuse("is of servers that are packed from source")
	case err != nil || claimed.Algorithm() != digest.SHA256:
		return refuse("is not sha256: and 64 hex digits")
	case packed.IsZero():
		return claimed, nil
	}
	e := evidence.Compare(
		evidence.Claim{Scheme: evidence.APISurface, Authority: evidence.Manifest, Want: []digest.Digest{packed}},
		evidence.Observed{Digests: []digest.Digest{claimed}})
	if e.Outcome != evidence.Match {
		return refuse("is not the %s of server.json in the archive", packed)
	}
	return claimed, nil
}

// readArchive waits for the publisher's turn and reads an upload.
func (s *Server) readArchive(ctx context.Context, k registry.ArchiveKind, u Upload) (*registry.ArchiveContent, error) {
	done, err := s.waitTurn(ctx, publisher(ctx, u.Grant))
	if err != nil {
		return nil, err
	}
	defer done()
	content, err := k.Read(ctx, io.NewSectionReader(u.Bytes, 0, u.Size))
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && evidence.ClassOf(err) == evidence.Validation:
		var invalid *facet.Invalid
		if !errors.As(err, &invalid) {
			return nil, s.invalidBody(err)
		}
		s.Counters.Invalid.Add(1)
		p := registry.NewProblem(http.StatusUnprocessableEntity, "validation failed")
		for _, issue := range invalid.Issues {
			p.Errors = append(p.Errors,
				registry.ProblemError{Message: issue.Message,
					Location: strings.TrimSuffix(invalid.File+"#"+issue.Path, "#")})
		}
		return nil, p
	}
	return content, err
}

// judgeArchive judges what an archive claims of itself, and whether it is what its path
// says. A verdict without an error allows.
func (s *Server) judgeArchive(rec registry.ArchiveRecord, content *registry.ArchiveContent,
	u Upload) (policy.Verdict, error) {
	document, err := rec.Document()
	if err != nil {
		return policy.Verdict{}, s.invalidBody(err)
	}
	report := registry.ReportArchive(rec, content, document)
	verdict := policy.Judge(policy.Accept, policy.Settings{}, report)
	var details []string
	p := registry.NewProblem(http.StatusUnprocessableEntity, "")
	if !verdict.Allowed() {
		p = refusal(verdict, report)
		details = append(details, p.Detail)
		for id := range p.Details {
			s.Counters.fail(p.Details[id].Status)
		}
	}
	if u.Name != rec.Name {
		p.Errors = append(p.Errors,
			registry.ProblemError{Message: fmt.Sprintf("the archive is of %+.200q", rec.Name), Location: "path.name"})
		details = append(details, "the path names another archive than was sent")
	}
	if len(details) > 0 {
		s.Counters.Refused.Add(1)
		p.Detail = strings.Join(details, "; ")
		return policy.Verdict{}, p
	}
	// The blob is kept under the digest of what was received, the record has that of what
	// was read.
	received := evidence.Compare(
		evidence.Claim{Scheme: evidence.File, Authority: evidence.Sidecar, Want: []digest.Digest{u.Digest}},
		evidence.Observed{Digests: []digest.Digest{content.ContentHash}})
	if received.Outcome != evidence.Match {
		return policy.Verdict{}, fmt.Errorf("%s %+q: what was read is not what was received", rec.Kind, rec.Subject())
	}
	return verdict, nil
}

// answerExistingArchive answers an upload of a version that exists. The same bytes are kept again,
// which restores a blob that was lost.
func (s *Server) answerExistingArchive(
	ctx context.Context, first, rec registry.ArchiveRecord, keep func(context.Context) error,
) (int, any, error) {
	if registry.SameArchive(first, rec) {
		if err := keep(ctx); err != nil {
			return 0, nil, err
		}
		s.Counters.Repeated.Add(1)
		answer, err := s.proveArchive(ctx, first, -1)
		return http.StatusOK, answer, err
	}
	s.Counters.Conflicts.Add(1)
	Logger(ctx).Info("conflict", "kind", rec.Kind, "name", rec.Name, "version", rec.Version)
	p := registry.NewProblem(http.StatusConflict, "version %s of %s %s is published already, with other bytes",
		rec.Version, rec.Kind, rec.Name)
	p.Errors = []registry.ProblemError{
		{Message: "a version cannot be published twice; publish a new version", Location: "body.version"}}
	return 0, nil, p
}

// proveArchive waits for the proof of a record's entry in the log, and returns the answer with it.
// It looks the index up if it is negative.
func (s *Server) proveArchive(
	ctx context.Context, rec registry.ArchiveRecord, index int64,
) (*registry.ArchiveAnswer, error) {
	answer := &registry.ArchiveAnswer{ArchiveRecord: rec}
	if s.Log == nil {
		return answer, nil
	}
	if index < 0 {
		var err error
		if index, err = s.Log.Entries().LogIndex(ctx, ledger.Kind(rec.Kind), rec.Name, rec.Version); err != nil {
			return nil, fmt.Errorf("entry of %s %+q: %w", rec.Kind, rec.Subject(), err)
		}
	}
	proof, err := s.Log.Prove(ctx, index, nil)
	if err != nil {
		return nil, s.unprovenError(ctx, rec.Name, rec.Version, index, err)
	}
	answer.ProofText = string(proof)
	return answer, nil
}
