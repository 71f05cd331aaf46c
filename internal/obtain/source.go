package obtain

import (
	"context"
	"fmt"
	"io"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/store"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// ReadSource parses the server.json in a slot that was just audited, and demands that it is that
// of the version of a server.
func ReadSource(slot *store.Slot, name, version string) (*facet.Source, error) {
	data, err := ReadMember(slot, facet.SourceFile, slot.Assets[facet.SourceFile],
		project.FacetSubject(name, version), facet.MaxManifest)
	if err != nil {
		return nil, err
	}
	s, err := facet.ParseSource(data)
	if err != nil {
		return nil, err
	}
	if s.Name != name || s.Version != version {
		return nil, otherArchiveError(facet.SourceFile, project.FacetSubject(name, version),
			project.FacetSubject(s.Name, s.Version))
	}
	return s, nil
}

// CheckStart is an error if the lock starts something else of the server name than its author says.
func CheckStart(name string, source *facet.Source, entry project.ServerLock) error {
	if source.Entry == entry.Entry && source.Runtime == entry.Runtime {
		return nil
	}
	return evidence.Errorf(evidence.Integrity, project.FacetSubject(source.Name, source.Version),
		"run 'hallmark pin "+name+"' again",
		fmt.Errorf("its %s names another entry or runtime than %s", facet.SourceFile, project.LockFile))
}

// DocumentEvidence compares the server.json of a server with what the registry shows as the
// manifest of its record.
func DocumentEvidence(source *facet.Source, recorded digest.Digest) (evidence.Evidence, error) {
	subject := project.FacetSubject(source.Name, source.Version)
	canonical, err := serverjson.Canonical(source.Raw)
	if err != nil {
		return evidence.Evidence{}, evidence.Errorf(evidence.Validation, subject, "", err)
	}
	return evidence.Compare(RecordClaim(subject, evidence.Document, "manifest", recorded), evidence.Observed{
		Digests: []digest.Digest{digest.FromBytes(canonical)}, Size: int64(len(canonical)),
		From: facet.SourceFile + " in the store"}), nil
}

// UnpackSource gets a server that was packed on this machine into the store. The evidence of it is
// returned beside an error too.
func UnpackSource(ctx context.Context, h *host.Host, a *facet.Archive,
	body io.Reader) (*Archive, evidence.Report, error) {
	st, err := h.Store()
	if err != nil {
		return nil, nil, err
	}
	s := &Sources{store: st.WithScheme(evidence.FacetTar)}
	c := claims{kind: ledger.Artifact, name: a.Name(), entry: project.FacetLock{Version: a.Version(),
		Source: project.Facet{Path: "archive"}.Source(project.Registry{})}}
	q := &inquiry{settings: s.Settings()}
	found, err := s.unpack(ctx, c, packedArchive{body: body, from: "the archive", claims: []evidence.Claim{{
		Subject: c.subject(), Scheme: evidence.FacetTar, Authority: evidence.Manifest,
		Where: archive.BuildManifest, Want: []digest.Digest{a.Integrity},
	}}}, q)
	if err != nil {
		return nil, q.report, err
	}
	x, err := completeServer(project.Facet{Name: a.Name()}, found)
	return x, q.report, err
}

// completeServer is the archive of a server whose contents are in the store.
func completeServer(want project.Facet, found stored) (*Archive, error) {
	source, err := ReadSource(found.slot, want.Name, found.entry.Version)
	if err != nil {
		return nil, err
	}
	return &Archive{Want: want, Entry: found.entry, Slot: found.slot, Source: source, Record: found.record,
		Repaired: found.repaired}, nil
}
