// Package obtain gets the archive of a facet, or of a server that is packed from source, from a
// registry, a git repository or a directory, and admits it into the store. A locked archive is
// taken from the store without a request. A new one of a registry is fetched only if that registry
// and its log confirm it now. Every digest is recomputed from the bytes in the same run.
//
// It also fetches the [Record] of a server from its registry, and verifies the proof that it is in the
// registry's log.
//
// # What a registry has
//
// [Search] and [Look] show what a registry has before any of it is installed: names, and what one
// version of a facet or server contains, with what the registry's log proves of that.
// Nothing is stored or started. What a listing says is proven by nobody, and is said to be unproven.
package obtain

import (
	"context"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/project"
)

// Obtain gets an archive into the store: a locked one from the store without a request, a new one
// only if its registry confirms it now. The report has the evidence of it, beside an error too. The
// error is of class Integrity if bytes differ from what is claimed of them, Refused if a claim that
// is owed is missing, and Operation if nothing was decided.
func (s *Sources) Obtain(ctx context.Context, r Request) (*Archive, evidence.Report, error) {
	q := &inquiry{settings: s.Settings(), of: s.Workspace.FacetEntry(r.Want.Name)}
	obtain := s.obtainFacet
	if r.Kind == ledger.Artifact {
		q.of, obtain = evidence.Entry{}, s.obtainServer
	}
	a, err := obtain(ctx, r, q)
	return a, q.report, err
}

// obtainServer gets a server that is packed from source. The flow that locks or starts it demands
// what is owed about it.
func (s *Sources) obtainServer(ctx context.Context, r Request, q *inquiry) (*Archive, error) {
	found, err := registrySource{}.obtain(ctx, s, r, r.Locked, q)
	if err != nil {
		return nil, err
	}
	return completeServer(r.Want, found)
}

// obtainFacet gets a facet, with the evidence of its entry and its proof.
func (s *Sources) obtainFacet(ctx context.Context, r Request, q *inquiry) (*Archive, error) {
	f := r.Want
	locked := s.bindingEntry(r)
	expected, err := s.expectations(f.Name)
	if err != nil {
		return nil, err
	}
	if err := s.judgeEntry(r, locked, expected, q); err != nil {
		return nil, err
	}
	found, err := sourceOf(f).obtain(ctx, s, r, locked, q)
	if err != nil {
		return nil, err
	}
	if locked != nil && f.Kind().HasRecords() {
		proof, err := s.verifyLockedProof(ctx, f.Name, *locked)
		if err != nil {
			return nil, err
		}
		q.add(expected.Of(evidence.Proof, evidence.LogKey, evidence.Checkpoint,
			evidence.Cosignature).Settle(proof)...)
	}
	if _, err := q.judge(); err != nil {
		return nil, err
	}
	return completeFacet(f, found)
}

// completeFacet is the archive of a facet whose contents are in the store. Its entry names the
// facets that its manifest brings along.
func completeFacet(want project.Facet, found stored) (*Archive, error) {
	m, err := ReadManifest(found.slot, want.Name, found.entry.Version)
	if err != nil {
		return nil, err
	}
	found.entry.Composes = nil
	for _, c := range m.Facets {
		if found.entry.Composes == nil {
			found.entry.Composes = map[string]string{}
		}
		found.entry.Composes[c.Name] = c.Version
	}
	return &Archive{Want: want, Entry: found.entry, Slot: found.slot, Manifest: m, Record: found.record,
		Repaired: found.repaired, Notes: found.notes, Modes: found.modes}, nil
}
