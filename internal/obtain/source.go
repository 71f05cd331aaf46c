package obtain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/hallmark-mcp/hallmark/archive"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/facet"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// ReadSource parses the server.json of a server from its slot, whose bytes were just audited.
func (x *Archive) ReadSource() error {
	data, err := host.ReadFile(filepath.Join(x.Slot.Dir(), facet.SourceFile), facet.MaxManifest)
	if err != nil {
		return err
	}
	if !evidence.Same(x.Slot.Assets[facet.SourceFile], digest.FromBytes(data)) {
		return evidence.Errorf(evidence.Integrity, x.Subject(), "",
			errors.New(facet.SourceFile+" changed after the audit"))
	}
	if x.Source, err = facet.ParseSource(data); err != nil {
		return err
	}
	if x.Source.Name != x.Want.Name || x.Source.Version != x.Entry.Version {
		return evidence.Errorf(evidence.Integrity, x.Subject(), "",
			fmt.Errorf("its %s is that of %s", facet.SourceFile, project.FacetSubject(x.Source.Name, x.Source.Version)))
	}
	return nil
}

// CheckStart is an error if the lock starts something else of the archive than its author says.
func (x *Archive) CheckStart(entry project.ServerLock) error {
	if x.Source.Entry == entry.Entry && x.Source.Runtime == entry.Runtime {
		return nil
	}
	return evidence.Errorf(evidence.Integrity, x.Subject(), "run 'hallmark pin' for this server again",
		fmt.Errorf("its %s names another entry or runtime than %s", facet.SourceFile, project.LockFile))
}

// DocumentEvidence compares the server.json of the slot with what the registry shows as
// the manifest of its record.
func (x *Archive) DocumentEvidence(recorded digest.Digest) (evidence.Evidence, error) {
	canonical, err := serverjson.Canonical(x.Source.Raw)
	if err != nil {
		return evidence.Evidence{}, evidence.Errorf(evidence.Validation, x.Subject(), "", err)
	}
	return evidence.Compare(
		evidence.Claim{Subject: x.Subject(), Scheme: evidence.Document, Authority: evidence.Record,
			Where: "the registry's record, manifest", Want: []digest.Digest{recorded}},
		evidence.Observed{Digests: []digest.Digest{digest.FromBytes(canonical)}, Size: int64(len(canonical)),
			From: facet.SourceFile + " in the store"}), nil
}

// UnpackSource gets an archive that was packed on this machine into the store.
func UnpackSource(ctx context.Context, h *host.Host, a *facet.Archive, body io.Reader) (*Archive, error) {
	st, err := h.Store()
	if err != nil {
		return nil, err
	}
	s := &Sources{store: st.WithScheme(evidence.FacetTar)}
	x := &Archive{Kind: ledger.Artifact, Want: project.Facet{Name: a.Name()},
		Entry: project.FacetLock{Version: a.Version(),
			Source: project.SourceLock{Kind: project.FromLocal, Path: "archive"}}}
	err = s.unpack(ctx, x, packedArchive{body: body, from: "the archive", claims: []evidence.Claim{{
		Subject: a.Name() + "@" + a.Version(), Scheme: evidence.FacetTar, Authority: evidence.Manifest,
		Where: archive.BuildManifest, Want: []digest.Digest{a.Integrity},
	}}})
	if err != nil {
		return nil, err
	}
	return x, x.ReadSource()
}
