package hallmark

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/facet"
	"github.com/hallmark-mcp/hallmark/internal/store"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// checkFacets verifies the facets of the lock: how each is declared, its contents in the
// store, the proof that it is in its registry's log, and the files that were installed.
func (w *workspace) checkFacets(ctx context.Context) (evidence.Report, error) {
	st, err := w.host.store()
	if err != nil {
		return nil, err
	}
	brought := map[string]bool{}
	for _, name := range w.lock.Facets() {
		entry, _ := w.lock.Facet(name)
		for other := range entry.Composes {
			brought[other] = true
		}
	}
	var report evidence.Report
	names := slices.Concat(slices.Collect(maps.Keys(w.config.Facets)), w.lock.Facets())
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		declared, ok := w.config.Facets[name]
		entry, locked := w.lock.Facet(name)
		switch {
		case ok:
			report = append(report, sourceEvidence(w.config.Registry, declared, entry, locked))
		case !brought[name]:
			e := evidence.Fact(sourceClaim(name), "")
			e.Reason = "is locked, but no longer declared"
			report = append(report, e)
		}
		if !locked {
			continue
		}
		more, err := w.checkFacet(ctx, st.As(evidence.FacetTar), name, entry)
		if err != nil {
			return nil, err
		}
		report = append(report, more...)
	}
	installed, err := w.checkInstalled()
	return append(report, installed...), err
}

// checkFacet audits the contents of one facet and verifies its proof.
func (w *workspace) checkFacet(ctx context.Context, st *store.Store, name string, entry project.FacetLock) (evidence.Report, error) {
	subject := entry.Subject(name)
	record := project.RecordLock{
		Kind: ledger.Facet, Registry: entry.Source.Registry, Name: name, Version: entry.Version, Integrity: entry.Integrity, Proof: entry.Proof,
	}
	slot, report, err := st.Audit(ctx, subject, entry.Integrity)
	switch {
	case errors.Is(err, store.ErrNotStored):
		report = evidence.Report{evidence.CannotVerify(evidence.Claim{
			Subject: subject, Scheme: evidence.FacetTar, Authority: evidence.Lock, Want: []digest.Digest{entry.Integrity}, Where: project.LockFile,
		}, evidence.NotFound, "not in this machine's store; the next install fetches and verifies it")}
	case err != nil:
		return nil, err
	case slot != nil:
		report = append(report, evidence.Compare(evidence.Claim{
			Subject: project.AssetsSubject(subject), Scheme: evidence.Document, Authority: evidence.Lock,
			Want: []digest.Digest{project.AssetsDigest(entry.Assets)}, Where: project.LockFile + ", assets",
		}, evidence.Observed{Digests: []digest.Digest{project.AssetsDigest(slot.Assets)}, From: "the contents"}))
		data, err := os.ReadFile(filepath.Join(slot.Dir(), facet.ManifestFile))
		if err != nil {
			return nil, err
		}
		canonical, err := serverjson.Canonical(data)
		if err != nil {
			return nil, evidence.Errorf(evidence.Validation, subject, "", err)
		}
		record.Document = digest.FromBytes(canonical)
		m, err := facet.ParseManifest(data)
		if err != nil {
			return nil, err
		}
		for _, server := range w.lock.Servers() {
			if locked, _ := w.lock.Server(server); locked.Launch.Facet == name {
				report = append(report, declaredBy(m, subject, server, locked))
			}
		}
	}
	if entry.Source.Kind != project.FromRegistry {
		return report, nil
	}
	proof, err := w.lockedProof(&record)
	return append(report, proof...), err
}

// checkInstalled compares the files that were installed with what was written.
func (w *workspace) checkInstalled() (evidence.Report, error) {
	known, err := w.readReceipt()
	if err != nil {
		return nil, err
	}
	report, ours := known.report, known.receipt.Files()
	present, err := w.allInstalled(slices.Collect(maps.Keys(ours)))
	if err != nil {
		return nil, err
	}
	for _, path := range slices.Sorted(maps.Keys(ours)) {
		before := known.sums.Files[path]
		now, exists := present[path]
		switch {
		case !exists:
			report = append(report, evidence.CannotVerify(evidence.Claim{
				Subject: path, Scheme: evidence.Installed, Authority: evidence.Machine, Where: "what was installed here",
			}, evidence.NotFound, "is missing; 'hallmark install' puts it back"))
		default:
			report = append(report, editedEvidence(path, before, now, false))
		}
	}
	return report, nil
}
