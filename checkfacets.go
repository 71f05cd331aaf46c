package hallmark

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/facet"
	"github.com/hallmark-mcp/hallmark/internal/store"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/owed"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// checkFacets verifies the facets of the lock: how each is declared, its contents in the
// store, the proof that it is in its registry's log, and the files that were installed. The
// report of each facet is among all of them. Absent are those of which nothing is installed.
func (w *workspace) checkFacets(ctx context.Context, books owed.Books) (each []evidence.Report, all evidence.Report, absent []string, err error) {
	st, err := w.host.store()
	if err != nil {
		return nil, nil, nil, err
	}
	placed := &placedFacets{w: w}
	servers := map[string][]string{} // by facet, those that are locked as servers of it
	for _, server := range w.lock.Servers() {
		if locked, _ := w.lock.Server(server); locked.Launch.Facet != "" {
			servers[locked.Launch.Facet] = append(servers[locked.Launch.Facet], server)
		}
	}
	for _, name := range books.Facets() {
		var report evidence.Report
		declared, ok := w.config.Facets[name]
		entry, locked := w.lock.Facet(name)
		if ok {
			report = append(report, sourceEvidence(w.config.Registry, declared, entry, locked))
		}
		if locked {
			report = append(report, w.broughtEvidence(books.Bringing(name), name, entry, locked)...)
		}
		if locked {
			more, slot, err := w.checkFacet(ctx, st.WithScheme(evidence.FacetTar), name, entry, servers[name])
			if err != nil {
				return nil, nil, nil, err
			}
			report = append(report, more...)
			placed.add(name, entry, slot)
		}
		report = books.Facet(name).Settle(report)
		each, all = append(each, report), append(all, report...)
	}
	installed, err := placed.check()
	if err != nil {
		return nil, nil, nil, err
	}
	witnessed, err := w.checkInstalled(installed)
	return each, slices.Concat(all, installed, witnessed), placed.absent, err
}

// composedEvidence compares what an entry says that its facet brings along with its manifest.
func composedEvidence(m *facet.Manifest, subject string, entry project.FacetLock) evidence.Evidence {
	text := func(versions map[string]string) string {
		var names []string
		for _, name := range slices.Sorted(maps.Keys(versions)) {
			names = append(names, name+"@"+versions[name])
		}
		return cmp.Or(strings.Join(names, " "), "nothing")
	}
	declared := map[string]string{}
	for _, c := range m.Facets {
		declared[c.Name] = c.Version
	}
	e := evidence.Fact(evidence.Claim{
		Subject: subject, Scheme: evidence.Source, Authority: evidence.Manifest, Text: "brings along " + text(declared), Where: facet.ManifestFile,
	}, "brings along "+text(entry.Composes))
	e.Observed.From = project.LockFile + ", composes"
	return e
}

// checkFacet audits the contents of one facet, verifies its proof, and compares the servers that
// are locked as its own with its manifest. The slot is nil if the
// contents are not in the store, or not sound.
func (w *workspace) checkFacet(ctx context.Context, st *store.Store, name string, entry project.FacetLock, servers []string) (evidence.Report, *store.Slot, error) {
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
		return nil, nil, err
	case slot != nil:
		report = append(report, evidence.Compare(evidence.Claim{
			Subject: project.AssetsSubject(subject), Scheme: evidence.Document, Authority: evidence.Lock,
			Want: []digest.Digest{project.AssetsDigest(entry.Assets)}, Where: project.LockFile + ", assets",
		}, evidence.Observed{Digests: []digest.Digest{project.AssetsDigest(slot.Assets)}, From: "the contents"}))
		data, err := os.ReadFile(filepath.Join(slot.Dir(), facet.ManifestFile))
		if err != nil {
			return nil, nil, err
		}
		canonical, err := serverjson.Canonical(data)
		if err != nil {
			return nil, nil, evidence.Errorf(evidence.Validation, subject, "", err)
		}
		record.Document = digest.FromBytes(canonical)
		m, err := facet.ParseManifest(data)
		if err != nil {
			return nil, nil, err
		}
		report = append(report, composedEvidence(m, subject, entry))
		for _, server := range servers {
			locked, _ := w.lock.Server(server)
			report = append(report, declaredBy(m, subject, server, locked))
		}
	}
	if entry.Source.Kind != project.FromRegistry {
		return report, slot, nil
	}
	proof, err := w.lockedProof(&record)
	return append(report, proof...), slot, err
}

// checkInstalled compares the files that were installed with what was written. Those that
// the lock's own evidence is about already are left out.
func (w *workspace) checkInstalled(judged evidence.Report) (evidence.Report, error) {
	known := map[string]bool{}
	for _, e := range judged {
		known[e.Subject] = e.Outcome != evidence.Unverifiable
	}
	report, err := w.witnessedFiles()
	return slices.DeleteFunc(report, func(e evidence.Evidence) bool { return known[e.Subject] }), err
}

// witnessedFiles compares the files that this machine installed with what it wrote.
func (w *workspace) witnessedFiles() (evidence.Report, error) {
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
