package obtain

import (
	"cmp"
	"io/fs"
	"maps"
	"slices"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/store"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/project"
)

// claims are what is said of an archive before its bytes are read.
type claims struct {
	kind   ledger.Kind             // zero: a facet
	name   string                  //
	entry  project.FacetLock       // as far as it is known; without a version, the bytes say which
	locked *project.FacetLock      // the entry that binds; nil if the archive is resolved anew
	record *registry.ArchiveRecord // of its registry; nil if that was not asked
}

// subject names the archive in evidence and errors: "NAME@VERSION".
func (c claims) subject() string { return c.entry.Subject(c.name) }

// ledgerKind is what registries and their logs call the kind of the archive.
func (c claims) ledgerKind() ledger.Kind { return cmp.Or(c.kind, ledger.Facet) }

// contents is the claim about the contents of the archive: that of the lock, or that of the
// registry for a new entry.
func (c claims) contents() evidence.Claim {
	if c.locked != nil {
		return evidence.Claim{Subject: c.subject(), Scheme: evidence.FacetTar, Authority: evidence.Lock,
			Where: project.LockFile, Want: []digest.Digest{c.locked.Integrity}}
	}
	return c.recorded()
}

// recorded is the claim of the registry about the contents of the archive.
func (c claims) recorded() evidence.Claim {
	return RecordClaim(c.subject(), evidence.FacetTar, "content_integrity", c.record.ContentIntegrity)
}

// ofLock are the claims of the lock about the contents and about each file of them; none for a new
// entry.
func (c claims) ofLock() []evidence.Claim {
	if c.locked == nil {
		return nil
	}
	all := []evidence.Claim{c.contents()}
	for _, path := range slices.Sorted(maps.Keys(c.locked.Assets)) {
		all = append(all, evidence.Claim{
			Subject: facet.MemberSubject(c.subject(), path), Scheme: evidence.File, Authority: evidence.Lock,
			Where: project.LockFile + ", assets", Want: []digest.Digest{c.locked.Assets[path]},
		})
	}
	return all
}

// stored is an archive whose bytes are in the store and were hashed in this run.
type stored struct {
	entry    project.FacetLock       // with the digests of the slot
	slot     *store.Slot             //
	record   *registry.ArchiveRecord // nil if no registry was asked
	repaired bool                    // the store's copy was damaged
	notes    []facet.Note            // what of a directory that was wrapped now is not installed
	modes    map[string]fs.FileMode  // as in [Archive]
}

// accept takes a slot whose bytes were hashed in this run: the list of its files follows from them.
func (c claims) accept(slot *store.Slot, q *inquiry) stored {
	entry := c.entry
	if c.kind != ledger.Artifact { // the lock has no list of a server's files, which follows from its integrity
		q.add(c.assetsEvidence(slot))
	}
	entry.Integrity, entry.Assets = slot.Digest, slot.Assets
	return stored{entry: entry, slot: slot, record: c.record}
}

// assetsEvidence compares the list of files in the lock with the files of a slot.
func (c claims) assetsEvidence(slot *store.Slot) evidence.Evidence {
	claim := evidence.Claim{Subject: project.AssetsSubject(c.subject()), Scheme: evidence.Document,
		Authority: evidence.Lock, Where: project.LockFile + ", assets"}
	if len(c.entry.Assets) > 0 {
		claim.Want = []digest.Digest{project.AssetsDigest(c.entry.Assets)}
	}
	return evidence.Compare(claim, evidence.Observed{
		Digests: []digest.Digest{project.AssetsDigest(slot.Assets)}, From: "the contents",
	})
}

// RecordClaim is what a member of a registry's record claims of an archive.
func RecordClaim(subject string, scheme evidence.Scheme, member string, want digest.Digest) evidence.Claim {
	return evidence.Claim{Subject: subject, Scheme: scheme, Authority: evidence.Record,
		Where: "the registry's record, " + member, Want: []digest.Digest{want}}
}
