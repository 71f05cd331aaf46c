package obtain

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/facet"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/store"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/project"
)

// Archive is a facet whose contents are in the store, or the evidence of why not.
type Archive struct {
	Kind     ledger.Kind // zero: a facet; else an artifact, a server that is packed from source
	Floor    facet.Floor // of an artifact
	Want     project.Facet
	before   *project.FacetLock
	Entry    project.FacetLock
	Slot     *store.Slot
	Manifest *facet.Manifest         // nil for an artifact
	Source   *facet.Source           // nil for a facet
	Record   *registry.ArchiveRecord // that confirmed it; nil if nobody was asked
	Report   evidence.Report
	Repaired bool // the store had a slot that was bad
}

// Subject names x in evidence and errors: "NAME@VERSION", or the name alone without a version.
func (x *Archive) Subject() string { return x.Entry.Subject(x.Want.Name) }

// LockedRecord is the record of a facet as its entry has it; nil if it is of no registry.
func (x *Archive) LockedRecord() *project.RecordLock {
	if x.Entry.Source.Kind != project.FromRegistry {
		return nil
	}
	return &project.RecordLock{Registry: x.Entry.Source.Registry, Proof: x.Entry.Proof}
}

// ledgerKind is how registries and their logs call what x is.
func (x *Archive) ledgerKind() ledger.Kind { return cmp.Or(x.Kind, ledger.Facet) }

// ReadManifest parses the manifest of a facet from its slot, whose bytes were just audited.
func (x *Archive) ReadManifest() error {
	data, err := host.ReadFile(filepath.Join(x.Slot.Dir(), facet.ManifestFile), facet.MaxManifest)
	if err != nil {
		return err
	}
	if !evidence.Same(x.Entry.Assets[facet.ManifestFile], digest.FromBytes(data)) {
		return evidence.Errorf(evidence.Integrity, x.Subject(), "",
			errors.New(facet.ManifestFile+" changed after the audit"))
	}
	if x.Manifest, err = facet.ParseManifest(data); err != nil {
		return err
	}
	if x.Manifest.Name != x.Want.Name || x.Manifest.Version != x.Entry.Version {
		return evidence.Errorf(evidence.Integrity, x.Subject(), "",
			fmt.Errorf("its %s is that of %s", facet.ManifestFile,
				project.FacetSubject(x.Manifest.Name, x.Manifest.Version)))
	}
	return nil
}
