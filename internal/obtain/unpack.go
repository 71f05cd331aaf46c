package obtain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/hallmark-mcp/hallmark/archive"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/facet"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// lockClaims is what the lock says of an archive; nothing for a new entry.
func lockClaims(subject string, locked *project.FacetLock) []evidence.Claim {
	if locked == nil {
		return nil
	}
	claims := []evidence.Claim{{Subject: subject, Scheme: evidence.FacetTar, Authority: evidence.Lock,
		Where: project.LockFile, Want: []digest.Digest{locked.Integrity}}}
	for _, path := range slices.Sorted(maps.Keys(locked.Assets)) {
		claims = append(claims, evidence.Claim{
			Subject: facet.MemberSubject(subject, path), Scheme: evidence.File, Authority: evidence.Lock,
			Where: project.LockFile + ", assets", Want: []digest.Digest{locked.Assets[path]},
		})
	}
	return claims
}

// packedArchive is an archive on its way into the store.
type packedArchive struct {
	body      io.Reader
	from      string           // for messages
	transport *evidence.Claim  // of the archive's bytes; nil for one that we packed ourselves
	claims    []evidence.Claim // of its contents, in the order in which they decide
	document  digest.Digest    // of the manifest, as the registry shows it; zero if nobody does
}

// unpack reads an archive into a staging directory, recomputes everything from its bytes,
// and keeps it if all that is claimed of it holds.
func (a *Sources) unpack(ctx context.Context, x *Archive, u packedArchive) error {
	st, err := a.store.Stage()
	if err != nil {
		return err
	}
	defer st.Discard()
	root, err := os.OpenRoot(st.Dir())
	if err != nil {
		return err
	}
	defer root.Close()
	h := digest.NewHasher()
	body := io.TeeReader(u.body, h)
	arch, err := facet.Read(body, a.o.Limits, func(e archive.Entry, r io.Reader) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return writeMember(root, e.Path, r)
	})
	if err != nil {
		return a.unreadableError(x, u, body, h, err)
	}
	root.Close()
	manifest, from := []byte(nil), facet.ManifestFile
	switch {
	case x.Kind == ledger.Artifact && arch.Source == nil:
		return evidence.Errorf(evidence.Validation, x.Want.Name, "",
			errors.New("holds a facet, and no server that was packed from source"))
	case x.Kind == ledger.Artifact:
		manifest, from = arch.Source.Raw, facet.SourceFile
		if arch.Source.Runtime == facet.RuntimeBinary {
			if err := os.Chmod(filepath.Join(st.Dir(), filepath.FromSlash(arch.Source.Entry)), 0o700); err != nil {
				return err
			}
		}
	case arch.Manifest == nil:
		return evidence.Errorf(evidence.Validation, x.Want.Name, "",
			errors.New("holds a server that was packed from source, and no facet"))
	default:
		manifest = arch.Manifest.Raw
	}
	if len(u.claims) == 0 { // no claim says which version it must be
		x.Entry.Version = arch.Version()
	}
	subject := x.Subject()
	if got := project.FacetSubject(arch.Name(), arch.Version()); got != subject {
		kind := evidence.Integrity
		if len(u.claims) == 0 {
			kind = evidence.Validation
		}
		return evidence.Errorf(kind, subject, "", fmt.Errorf("what %s gives is %s", u.from, got))
	}
	claims := u.claims
	if u.transport != nil {
		claims = append([]evidence.Claim{*u.transport}, claims...)
		st.ContentHash = arch.ContentHash
	}
	report := arch.Evidence(subject, u.from, claims...)
	if !u.document.IsZero() {
		canonical, err := serverjson.Canonical(manifest)
		if err != nil {
			return evidence.Errorf(evidence.Validation, subject, "", err)
		}
		report = append(report, evidence.Compare(
			evidence.Claim{Subject: subject, Scheme: evidence.Document, Authority: evidence.Record,
				Where: "the registry's record, manifest", Want: []digest.Digest{u.document}},
			evidence.Observed{Digests: []digest.Digest{digest.FromBytes(canonical)}, From: from + " in the archive"}))
	}
	x.Report = append(x.Report, report...)
	adm, err := a.Judge(x, nil)
	if err != nil {
		return err
	}
	slot, err := a.store.Put(ctx, adm, subject, st, subject+" from "+x.Entry.Source.String())
	if err != nil {
		return err
	}
	a.acceptSlot(x, slot)
	return nil
}

// unreadableError is the error for an archive that cannot be read. One that was damaged on its
// way is told from one that was published so by its transport hash.
func (a *Sources) unreadableError(x *Archive, u packedArchive, rest io.Reader, h *digest.Hasher, err error) error {
	if u.transport == nil || evidence.ClassOf(err) != evidence.Validation {
		return evidence.Errorf(evidence.ClassOf(err), x.Subject(), "", err)
	}
	limit := a.o.Limits.Packed
	if limit == 0 {
		limit = archive.MaxPacked
	}
	if _, drained := io.Copy(io.Discard, io.LimitReader(rest, limit+1)); drained != nil {
		return evidence.Errorf(evidence.Operation, x.Subject(), "", drained)
	}
	e := evidence.Compare(*u.transport,
		evidence.Observed{Digests: []digest.Digest{h.Digest(digest.SHA256)}, Size: h.Size(), From: u.from})
	if e.Outcome == evidence.Match {
		return evidence.Errorf(evidence.Validation, x.Subject(), "it was published so; tell its publisher", err)
	}
	x.Report = append(x.Report, e)
	_, err = a.Judge(x, nil)
	return err
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
