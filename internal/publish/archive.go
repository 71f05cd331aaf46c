package publish

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/internal/document"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/client"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// ArchivePublication is what [Archive] or [Plugin] sent, and what the registry answered.
type ArchivePublication struct {
	Verdict policy.Verdict // of the archive, of the registry's record, and of its log
	Record  *registry.ArchiveRecord
	Entry   *int64 // of the registry's log, proven; nil without a log

	APISurface digest.Digest // published for a server that is packed from source; else zero
	Profile    string        // of a plugin's dist.hash; else ""
	Unsigned   bool          // a plugin that nobody signed
}

// IsArchive reports whether a file is a .facet, by its name or its first bytes.
func IsArchive(name string) bool {
	if strings.HasSuffix(name, ".facet") {
		return true
	}
	f, err := durable.OpenRegular(name)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, len(archive.BuildManifest))
	_, err = io.ReadFull(f, head)
	return err == nil && string(head) == archive.BuildManifest
}

// archiveLimits bounds what is read of an archive; the registry's limit may be lower.
var archiveLimits = archive.Limits{Packed: registry.MaxBlob}

// HoldsServer reports whether a .facet holds a server, which [Archive] starts. It returns false for
// an unreadable file; Archive reports why.
func HoldsServer(name string) bool {
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	a, err := facet.Read(f, archiveLimits, nil)
	return err == nil && a.Source != nil
}

// Archive reads a .facet file, recomputes all its claims about itself, and sends it. It compares
// the record that the registry made, and the proof that the record is in the registry's log, with
// the recomputed values.
func Archive(ctx context.Context, h *host.Host, name string, o Options) (*ArchivePublication, error) {
	where := filepath.ToSlash(name)
	f, err := os.Open(name)
	if err != nil {
		return nil, document.OpenError(where, err)
	}
	defer f.Close()
	a, err := facet.Read(f, archiveLimits, nil)
	if err != nil {
		return nil, evidence.Errorf(evidence.ClassOf(err), where, "'hallmark pack' makes archives", err)
	}
	kind, manifest := ledger.Artifact, []byte(nil)
	switch {
	case a.Source != nil:
		manifest = a.Source.Raw
	case a.Manifest.Private:
		return nil, evidence.Errorf(evidence.Refused, where,
			"remove private from facet.json and pack it again, if it is meant for others",
			errors.New("is a private facet, which is not published"))
	default:
		kind, manifest = ledger.Facet, a.Manifest.Raw
	}
	canonical, err := serverjson.Canonical(manifest)
	if err != nil {
		return nil, evidence.Errorf(evidence.Validation, where, "", err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, evidence.Errorf(evidence.Operation, where, "", err)
	}
	x := Outgoing{
		Kind: kind, Name: a.Name(), Version: a.Version(), Document: digest.FromBytes(canonical),
		Integrity: a.Integrity, Contents: a.TarSize, Hash: a.ContentHash, Size: a.Size, Body: io.LimitReader(f, a.Size),
		source: a.Source,
	}
	x.capture = func(ctx context.Context) (digest.Digest, error) {
		if o.CaptureSource == nil {
			return digest.Digest{}, errors.New("this program starts no servers")
		}
		shown, err := o.CaptureSource(ctx, h, a, io.LimitReader(f, a.Size), o)
		if err == nil {
			_, err = f.Seek(0, io.SeekStart)
		}
		return shown, err
	}
	return SendArchive(ctx, h, x, a.Evidence(a.Name()+"@"+a.Version(), where), o)
}

// Outgoing is an archive that is to be published, with what was computed of it.
type Outgoing struct {
	Kind          ledger.Kind
	Name, Version string
	Document      digest.Digest // of the canonical manifest
	Integrity     digest.Digest // content_integrity
	Contents      int64         // bytes that it is of
	Hash          digest.Digest // content_hash
	Size          int64         // bytes that it is of
	Body          io.Reader

	// Only for a server that is packed from source.
	source  *facet.Source
	capture func(context.Context) (digest.Digest, error) // starts it, and leaves Body at its beginning
}

func (x Outgoing) subject() string { return x.Name + "@" + x.Version }

// captureTools starts a server that is packed from source to list the tools that it shows, and
// judges what its author claims of them. It returns the zero digest if the server is not to be
// started.
func (x Outgoing) captureTools(ctx context.Context, o Options, judge func(...evidence.Evidence) error) (digest.Digest,
	error) {
	claim := evidence.Claim{Subject: x.subject(), Scheme: evidence.APISurface, Authority: evidence.Manifest,
		Where: facet.SourceFile + ", api_surface"}
	if !x.source.APISurface.IsZero() {
		claim.Want = []digest.Digest{x.source.APISurface}
	}
	if o.NoSurface {
		return digest.Digest{}, judge(evidence.Waive(claim, evidence.Observed{},
			"it was not started to see what it shows"))
	}
	shown, err := x.capture(ctx)
	if err != nil {
		kind := evidence.ClassOf(err)
		if why, ok := errors.AsType[*evidence.Error](err); ok {
			err = why.Err // without its hint, which is for pinning
		}
		return shown, &evidence.Error{
			Subject: x.subject(), Kind: kind, Err: fmt.Errorf("its tools could not be listed: %w", err),
			Hint: "--variable NAME gives it a variable that it needs; --no-surface publishes it without saying what " +
				"it shows",
		}
	}
	return shown, judge(evidence.Compare(claim,
		evidence.Observed{Digests: []digest.Digest{shown}, From: "what the server shows"}))
}

// SendArchive sends the archive if the report allows it, and judges the answer.
func SendArchive(ctx context.Context, h *host.Host, x Outgoing, report evidence.Report, o Options) (*ArchivePublication,
	error) {
	p := new(ArchivePublication)
	judge := func(more ...evidence.Evidence) error {
		report = append(report, more...)
		p.Verdict = policy.Judge(policy.Send, policy.Settings{}, report)
		return p.Verdict.Err()
	}
	if err := judge(); err != nil {
		return p, err
	}
	log, err := trail.Read(ctx, h, o.Registry, project.Registry{URL: o.Registry.Base}, o.Log)
	if err != nil {
		return p, err
	}
	if log != nil {
		// If the log has another key or contradicts itself, send it no record.
		if err := judge(log.Report...); err != nil {
			return p, err
		}
	}
	var shown digest.Digest
	if x.source != nil {
		if shown, err = x.captureTools(ctx, o, judge); err != nil {
			return p, err
		}
	}
	sent := client.Upload{Body: x.Body, Size: x.Size, Token: o.Token}
	var rec registry.ArchiveRecord
	if x.source != nil {
		rec, err = o.Registry.PublishServer(ctx, x.Name, shown, sent)
	} else {
		rec, err = o.Registry.PublishArchive(ctx, string(x.Kind), x.Name, sent)
	}
	if err != nil {
		return p, client.ExplainAnswer(x.subject(), evidence.Operation, err)
	}
	p.Record = &rec
	if !shown.IsZero() {
		p.APISurface = shown
	} else if x.source != nil {
		p.APISurface = x.source.APISurface
	}
	if err := p.judgeRecord(ctx, log, x, judge); err != nil {
		return p, &evidence.Error{Subject: x.subject(),
			Err: fmt.Errorf("is published, but not as it was sent, or without a proof that the log has it:\n%w", err)}
	}
	return p, nil
}

// judgeRecord judges the registry's record, and the proof that came with it.
func (p *ArchivePublication) judgeRecord(ctx context.Context, log *trail.Log, x Outgoing,
	judge func(...evidence.Evidence) error) error {
	rec, subject := p.Record, x.subject()
	if rec.Version != x.Version {
		return evidence.Errorf(evidence.Integrity, subject, "",
			fmt.Errorf("the registry recorded version %+.200q", rec.Version))
	}
	recorded, err := rec.Document()
	if err != nil {
		return evidence.Errorf(evidence.Integrity, subject, "", err)
	}
	claim := func(scheme evidence.Scheme, want digest.Digest, where string, got digest.Digest, size int64,
		from string) evidence.Evidence {
		return evidence.Compare(evidence.Claim{Subject: subject, Scheme: scheme, Authority: evidence.Record,
			Want: []digest.Digest{want}, Where: where},
			evidence.Observed{Digests: []digest.Digest{got}, Size: size, From: from})
	}
	more := evidence.Report{
		claim(trail.ContentsScheme(x.Kind), rec.ContentIntegrity, "the registry's record, content_integrity",
			x.Integrity, x.Contents, "the contents of the archive"),
		claim(evidence.File, rec.ContentHash, "the registry's record, content_hash", x.Hash, x.Size, "the archive"),
		claim(evidence.Document, recorded, "the registry's record, manifest", x.Document, 0, "the archive's manifest"),
	}
	if x.source != nil && (!p.APISurface.IsZero() || !rec.APISurface.IsZero()) {
		e := evidence.Claim{Subject: subject, Scheme: evidence.APISurface, Authority: evidence.Record,
			Where: "the registry's record, api_surface"}
		if !rec.APISurface.IsZero() {
			e.Want = []digest.Digest{rec.APISurface}
		}
		o := evidence.Observed{From: "what was sent"}
		if !p.APISurface.IsZero() {
			o.Digests = []digest.Digest{p.APISurface}
		}
		more = append(more, evidence.Compare(e, o))
	}
	r := project.RecordLock{Kind: ledger.Kind(rec.Kind), Name: x.Name, Version: x.Version, Document: x.Document,
		Integrity: x.Integrity}
	proven, entry, err := proofEvidence(ctx, log, r, rec.Proof)
	p.Entry = entry
	if err != nil {
		return errors.Join(judge(more...), err)
	}
	return judge(append(more, proven...)...)
}
