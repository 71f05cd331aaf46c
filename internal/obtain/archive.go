package obtain

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/store"
	"github.com/hallmark-mcp/hallmark/project"
)

// Archive is a facet, or a server that is packed from source, whose bytes are in the store and
// were admitted. It is complete: nothing of it is filled in later.
type Archive struct {
	Want     project.Facet           // what was asked for
	Entry    project.FacetLock       // as it is to be locked
	Slot     *store.Slot             // its bytes, hashed in this run
	Manifest *facet.Manifest         // nil for a server
	Source   *facet.Source           // nil for a facet
	Record   *registry.ArchiveRecord // what its registry says of it; nil if no registry was asked
	Repaired bool                    // the store's copy was damaged, and was replaced
	Notes    []facet.Note            // what of a directory that was wrapped now is not installed
	// Modes has members that not everybody may read where they come from, a directory of this machine. What is
	// written of them is not open to more.
	Modes map[string]fs.FileMode
}

// Subject names the archive in evidence and errors: "NAME@VERSION".
func (a *Archive) Subject() string { return a.Entry.Subject(a.Want.Name) }

// LockedRecord is the record of a facet as its entry has it; nil if it is of no registry.
func (a *Archive) LockedRecord() *project.RecordLock {
	if !a.Entry.Source.Kind.HasRecords() {
		return nil
	}
	return &project.RecordLock{Registry: a.Entry.Source.Registry, Proof: a.Entry.Proof}
}

// ReadManifest parses the facet.json in a slot that was just audited, and demands that it is that
// of the version of a facet.
func ReadManifest(slot *store.Slot, name, version string) (*facet.Manifest, error) {
	data, err := ReadMember(slot, facet.ManifestFile, slot.Assets[facet.ManifestFile],
		project.FacetSubject(name, version), facet.MaxManifest)
	if err != nil {
		return nil, err
	}
	m, err := facet.ParseManifest(data)
	if err != nil {
		return nil, err
	}
	if m.Name != name || m.Version != version {
		return nil, otherArchiveError(facet.ManifestFile, project.FacetSubject(name, version),
			project.FacetSubject(m.Name, m.Version))
	}
	return m, nil
}

// ReadMember reads a file of at most limit bytes of a slot that was audited, and demands that it is
// the one that the audit hashed.
func ReadMember(slot *store.Slot, file string, want digest.Digest, subject string, limit int64) ([]byte, error) {
	data, err := host.ReadFile(filepath.Join(slot.Dir(), filepath.FromSlash(file)), limit)
	if err != nil {
		return nil, err
	}
	if !evidence.Same(want, digest.FromBytes(data)) {
		return nil, evidence.Errorf(evidence.Integrity, subject, "", errors.New(file+" changed after the audit"))
	}
	return data, nil
}

// otherArchiveError is the error for a file of an archive that describes another archive.
func otherArchiveError(file, subject, described string) error {
	return evidence.Errorf(evidence.Integrity, subject, "", fmt.Errorf("its %s is that of %s", file, described))
}
