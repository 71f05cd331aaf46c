package obtain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// packedArchive is an archive on its way into the store.
type packedArchive struct {
	body      io.Reader
	from      string           // for messages
	transport *evidence.Claim  // of the archive's bytes; nil for one that we packed ourselves
	claims    []evidence.Claim // of its contents, in the order in which they decide
	document  digest.Digest    // of the manifest, as the registry shows it; zero without a registry
	next      string           // what to do about contents that are not those of the lock; "" is as the policy says
}

// unpack reads an archive into a staging directory, recomputes everything from its bytes, and keeps
// it if all that is claimed of it holds.
func (s *Sources) unpack(ctx context.Context, c claims, p packedArchive, q *inquiry) (stored, error) {
	st, err := s.store.Stage()
	if err != nil {
		return stored{}, err
	}
	defer st.Discard()
	root, err := os.OpenRoot(st.Dir())
	if err != nil {
		return stored{}, err
	}
	defer root.Close()
	h := digest.NewHasher()
	body := io.TeeReader(p.body, h)
	arch, err := facet.Read(body, s.o.Limits, func(e archive.Entry, r io.Reader) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return writeMember(root, e.Path, r)
	})
	if err != nil {
		return stored{}, s.judgeUnreadable(c.subject(), p, body, h, q, err)
	}
	root.Close()
	manifest, err := checkKind(c, arch, st.Dir())
	if err != nil {
		return stored{}, err
	}
	if err := p.checkSubject(&c, arch); err != nil {
		return stored{}, err
	}
	subject := c.subject()
	if p.transport != nil {
		st.ContentHash = arch.ContentHash
	}
	report, err := p.evidence(subject, arch, manifest)
	if err != nil {
		return stored{}, err
	}
	adm, err := q.judge(report...)
	if err != nil {
		return stored{}, err
	}
	slot, err := s.store.Put(ctx, adm, subject, st, subject+" from "+c.entry.Source.String())
	if err != nil {
		return stored{}, err
	}
	return c.accept(slot, q), nil
}

// checkSubject is an error if an archive is another facet, or another version, than the one that is wanted. A version
// that no claim states is the archive's.
func (p packedArchive) checkSubject(c *claims, arch *facet.Archive) error {
	class := evidence.Integrity
	if len(p.claims) == 0 { // no claim says which version it must be
		c.entry.Version, class = arch.Version(), evidence.Validation
	}
	subject := c.subject()
	if got := project.FacetSubject(arch.Name(), arch.Version()); got != subject {
		return evidence.Errorf(class, subject, "", fmt.Errorf("what %s gives is %s", p.from, got))
	}
	return nil
}

// judgeUnreadable is the error of an archive that cannot be read: its own, or that of what it shows.
func (s *Sources) judgeUnreadable(subject string, p packedArchive, body io.Reader, h *digest.Hasher, q *inquiry,
	cause error) error {
	damaged, unreadable := s.explainUnreadable(subject, p, body, h, cause)
	if unreadable != nil {
		return unreadable
	}
	if _, refused := q.judge(damaged); refused != nil {
		return refused
	}
	return cause
}

// evidence compares an archive that was read with all that is claimed of it.
func (p packedArchive) evidence(subject string, arch *facet.Archive,
	manifest manifestFile) (evidence.Report, error) {
	all := p.claims
	if p.transport != nil {
		all = append([]evidence.Claim{*p.transport}, all...)
	}
	report := arch.Evidence(subject, p.from, all...)
	for i, e := range report {
		if e.Authority == evidence.Lock && e.Outcome == evidence.Mismatch {
			report[i].Fix = p.next
		}
	}
	if p.document.IsZero() {
		return report, nil
	}
	canonical, err := serverjson.Canonical(manifest.raw)
	if err != nil {
		return nil, evidence.Errorf(evidence.Validation, subject, "", err)
	}
	claim := RecordClaim(subject, evidence.Document, "manifest", p.document)
	return append(report, evidence.Compare(claim, evidence.Observed{
		Digests: []digest.Digest{digest.FromBytes(canonical)}, From: manifest.file + " in the archive"})), nil
}

// manifestFile is the file of an archive that says what the archive is.
type manifestFile struct {
	file string
	raw  []byte
}

// checkKind demands that a staged archive is a facet or a server, as it is wanted, and returns its
// manifest. The program of a binary server is made executable.
func checkKind(c claims, arch *facet.Archive, dir string) (manifestFile, error) {
	refuse := func(why string) (manifestFile, error) {
		return manifestFile{}, evidence.Errorf(evidence.Validation, c.name, "", errors.New(why))
	}
	switch {
	case c.kind == ledger.Artifact && arch.Source == nil:
		return refuse("holds a facet, and no server that was packed from source")
	case c.kind != ledger.Artifact && arch.Manifest == nil:
		return refuse("holds a server that was packed from source, and no facet")
	case c.kind != ledger.Artifact:
		return manifestFile{facet.ManifestFile, arch.Manifest.Raw}, nil
	case arch.Source.Runtime == facet.RuntimeBinary:
		if err := os.Chmod(filepath.Join(dir, filepath.FromSlash(arch.Source.Entry)), 0o700); err != nil {
			return manifestFile{}, err
		}
	}
	return manifestFile{facet.SourceFile, arch.Source.Raw}, nil
}

// explainUnreadable tells an archive that was damaged on its way, of which the evidence of its
// transport hash is returned, from one that was published so, which is an error.
func (s *Sources) explainUnreadable(subject string, p packedArchive, rest io.Reader, h *digest.Hasher,
	cause error) (damaged evidence.Evidence, err error) {
	if p.transport == nil || evidence.ClassOf(cause) != evidence.Validation {
		return damaged, evidence.Errorf(evidence.ClassOf(cause), subject, "", cause)
	}
	explained := explainLimit(cause, nil, s.o.Limits)
	limit := s.o.Limits.Effective().Packed
	more, drained := io.Copy(io.Discard, io.LimitReader(rest, limit+1))
	switch {
	case drained != nil:
		return damaged, evidence.Errorf(evidence.Operation, subject, "", drained)
	case more > limit: // of which not all was hashed: nothing says that it was damaged
		return damaged, evidence.Errorf(evidence.Validation, subject, "", explained)
	}
	damaged = evidence.Compare(*p.transport,
		evidence.Observed{Digests: []digest.Digest{h.Digest(digest.SHA256)}, Size: h.Size(), From: p.from})
	switch {
	case damaged.Outcome == evidence.Match && errors.As(explained, new(*limitError)):
		return damaged, evidence.Errorf(evidence.Validation, subject, "", explained)
	case damaged.Outcome == evidence.Match:
		return damaged, evidence.Errorf(evidence.Validation, subject, "it was published so; tell its publisher", cause)
	}
	return damaged, nil
}

// writeMember writes one member of an archive below a staging directory.
func writeMember(root *os.Root, path string, r io.Reader) error {
	name := filepath.FromSlash(path)
	if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}
