// Package publish publishes servers and archives, logs in, and changes a status. It starts no
// server.
//
// # Archives
//
// [Pack] makes the archive (.facet) of a facet's or a packed server's directory: it decides
// which files belong to the archive, refuses links and special files, and writes the file at once.
// Package facet defines the format; [Options] set the limits.
package publish

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"syscall"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/document"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/client"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/serverjson"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Publication is what [Server] sent and what the registry answered.
type Publication struct {
	Verdict  policy.Verdict // of the packages, unless NoHash, and of the registry's log
	Document []byte         // as sent
	Record   *registry.Envelope

	// Moved means that the registry does not know file_hashes, so that they were sent in the
	// metadata that it leaves to publishers.
	Moved bool

	Entry *int64 // of the registry's log, proven; nil without a log
}

// Options change what [Server] does.
type Options struct {
	Registry *client.Client
	Token    string
	NoHash   bool // fetch nothing and send the document unchanged
	Log      trail.Options

	// CaptureSource starts the server in an archive, to publish which tools it shows.
	CaptureSource SourceCapture

	NoSurface bool          // do not start it
	Variables []string      // names of the variables that it gets from the environment
	Capture   time.Duration // time limit of one start; 0 is a minute
}

// SourceCapture starts the server in archive a, whose bytes body reads, and returns the fingerprint
// of the tools that it shows. It is a parameter, so that a program that starts no server does not
// link the code for that.
type SourceCapture func(ctx context.Context, h *host.Host, a *facet.Archive, body io.Reader, o Options) (digest.Digest,
	error)

// Server hashes the document's packages, compares them with the hashes in the document, adds
// missing hashes, and sends the document. It does not edit the file, and sends nothing if a hash of
// the document does not match.
func Server(ctx context.Context, h *host.Host, doc *serverjson.Document, where string, o Options) (*Publication,
	error) {
	doc.AtRegistries(h.Fetch.AsksAt)
	if err := doc.ValidateForPublish().Err(); err != nil {
		return nil, document.InvalidError(where, err)
	}
	p := &Publication{Document: doc.Raw}
	var report evidence.Report
	var err error
	if !o.NoHash {
		var all []*document.Subject
		if all, report, err = document.Observe(ctx, h, doc, where, true); err != nil {
			return nil, err
		}
		p.Verdict = policy.Judge(policy.Send, policy.Settings{}, report)
		if err := p.Verdict.Err(); err != nil {
			return p, err
		}
		if p.Document, err = addHashes(doc, all); err != nil {
			return nil, evidence.Errorf(evidence.Validation, where, "", err)
		}
	}
	if p.Moved, err = moveHashes(ctx, o.Registry, doc.Name+"@"+doc.Version, p); err != nil {
		return p, err
	}
	log, err := trail.Read(ctx, h, o.Registry, project.Registry{URL: o.Registry.Base}, o.Log)
	if err != nil {
		return p, err
	}
	if log != nil {
		report = append(report, log.Report...)
		// If the log has another key or contradicts itself, send it no record.
		if v := policy.Judge(policy.Send, policy.Settings{}, report); !v.Allowed() {
			p.Verdict = v
			return p, v.Err()
		}
	}
	record, err := sendAgain(ctx, h, func() (*registry.Envelope, error) {
		return o.Registry.Publish(ctx, p.Document, o.Token)
	})
	if err != nil {
		return p, explainPublish(doc, err)
	}
	p.Record = record
	return p, p.judgeProof(ctx, log, doc, report)
}

// judgeProof judges what the log says of the record that was published, with the report of before.
func (p *Publication) judgeProof(ctx context.Context, log *trail.Log, doc *serverjson.Document,
	report evidence.Report) error {
	more, err := p.logEvidence(ctx, log, doc)
	if err == nil {
		p.Verdict = policy.Judge(policy.Send, policy.Settings{}, append(report, more...))
		err = p.Verdict.Err()
	}
	if err != nil {
		return &evidence.Error{
			Subject: doc.Name + "@" + doc.Version,
			Err:     fmt.Errorf("is published, but the registry did not prove that its log has it:\n%w", err),
		}
	}
	return nil
}

// addHashes returns the document with the hashes of its packages that it does not list; as it is if it lists all.
func addHashes(doc *serverjson.Document, all []*document.Subject) ([]byte, error) {
	var hashes []serverjson.FileHash // each once, as _meta may have the same
	for _, h := range doc.FileHashes {
		if !slices.ContainsFunc(hashes, func(other serverjson.FileHash) bool { return other.Key == h.Key }) {
			hashes = append(hashes, h)
		}
	}
	listed := len(hashes)
	for _, s := range all {
		if s.Hash.Key != "" && !isListed(doc, s) {
			hashes = append(hashes, s.Hash)
		}
	}
	if len(hashes) == listed {
		return doc.Raw, nil
	}
	return serverjson.SetFileHashes(doc.Raw, hashes)
}

// explainPublish adds to the error of a publish what to do about it.
func explainPublish(doc *serverjson.Document, err error) error {
	err = client.ExplainAnswer(doc.Name+"@"+doc.Version, evidence.Operation, err)
	e, ok := errors.AsType[*evidence.Error](err)
	problem, answered := errors.AsType[*registry.Problem](err)
	switch {
	case ok && e.Kind == evidence.Operation && e.Hint == "":
		e.Hint = "run the command again: what has arrived is not published twice"
	case ok && answered && slices.ContainsFunc(problem.Errors,
		func(e registry.ProblemError) bool { return e.Message == registry.WasDeleted }):
		e.Hint = "give the document a new version, or take back the deletion: '" +
			host.QuoteArguments([]string{"hallmark", "restore", doc.Name, doc.Version}) + "'"
	}
	return err
}

// sendAgain calls send up to three times while what is between us and the registry fails, or the answer is lost: a
// version is published once, however often it is sent.
func sendAgain(ctx context.Context, h *host.Host, send func() (*registry.Envelope, error)) (*registry.Envelope, error) {
	for pause := time.Second; ; pause *= 2 {
		record, err := send()
		if err == nil || !isPassing(err) || pause > 2*time.Second {
			return record, err
		}
		h.Logger.Warn("the registry did not answer; sending again: " + surface.Escape(err.Error()))
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// isPassing reports whether an error is of a proxy before the registry, or of an answer that was lost on its way. A
// registry that says itself when to try again is not sent the same at once.
func isPassing(err error) bool {
	if p, ok := errors.AsType[*registry.Problem](err); ok {
		return p.RetryAfter == 0 &&
			slices.Contains([]int{http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout},
				p.Status)
	}
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET)
}

// logEvidence is evidence that the registry's log has what was published, from the proof in the
// registry's answer.
func (p *Publication) logEvidence(ctx context.Context, log *trail.Log,
	doc *serverjson.Document) (evidence.Report, error) {
	canonical, err := serverjson.Canonical(p.Document)
	if err != nil {
		return nil, err
	}
	var proof []byte
	if i := p.Record.Meta.Integrity; i != nil {
		proof = []byte(i.Proof)
	}
	r := project.RecordLock{Name: doc.Name, Version: doc.Version, Document: digest.FromBytes(canonical)}
	report, entry, err := proofEvidence(ctx, log, r, proof)
	p.Entry = entry
	return report, err
}

// proofEvidence verifies the proof that came with a registry's record, and returns which entry of the log it is of,
// nil if it proves none.
func proofEvidence(ctx context.Context, log *trail.Log, r project.RecordLock,
	proof []byte) (report evidence.Report, entry *int64, err error) {
	report, err = log.VerifyProof(ctx, proof, &r)
	if proven, bad := ledger.ParseProof([]byte(r.Proof)); bad == nil {
		entry = &proven.Index
	}
	return report, entry, err
}

// moveHashes moves file_hashes into the publisher's metadata if the registry does not know the
// member, and reports whether it moved any.
func moveHashes(ctx context.Context, c *client.Client, subject string, p *Publication) (bool, error) {
	about, err := c.About(ctx)
	if err != nil {
		return false, client.ExplainAnswer(subject, evidence.Operation, err)
	}
	if about.FileHashes != "" {
		return false, nil
	}
	moved, err := serverjson.MoveFileHashes(p.Document)
	if err != nil {
		return false, evidence.Errorf(evidence.Validation, subject,
			"the registry does not take file_hashes itself; publish fewer files, or use --no-hash without file_hashes",
			err)
	}
	if bytes.Equal(moved, p.Document) {
		return false, nil
	}
	p.Document = moved
	return true, nil
}

// isListed reports whether file_hashes has an entry for s; a fileSha256 alone is not an entry.
func isListed(doc *serverjson.Document, s *document.Subject) bool {
	return slices.ContainsFunc(doc.FileHashes,
		func(f serverjson.FileHash) bool { return f.Ref.Normal() == s.Ref.Normal() })
}
