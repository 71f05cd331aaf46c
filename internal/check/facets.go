package check

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/internal/facets"
	"github.com/hallmark-mcp/hallmark/internal/installed"
	"github.com/hallmark-mcp/hallmark/internal/obtain"
	"github.com/hallmark-mcp/hallmark/internal/owed"
	"github.com/hallmark-mcp/hallmark/internal/store"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// checkFacets verifies the facets of the lock: how each is declared, its contents in the store, the
// proof that it is in its registry's log, and the files that were installed. It returns each facet
// with what is about it, the common report, and for people of which facets nothing is installed and, unless strict is
// set, what clients read that is of none.
func checkFacets(ctx context.Context, w *workspace.Workspace, logs *trail.Logs, demands owed.Demands,
	strict bool) (each []Entry, all evidence.Report, unseen []string, err error) {
	st, err := w.Host.Store()
	if err != nil {
		return nil, nil, nil, err
	}
	placed := &installed.LockedFacets{Workspace: w}
	audit := facetAudit{w, logs, st.WithScheme(evidence.FacetTar), demands, placed}
	servers := serversOfFacets(w)
	for _, name := range demands.Facets() {
		entry, err := audit.checkEntry(ctx, name, servers[name])
		if err != nil {
			return nil, nil, nil, err
		}
		each, all = append(each, entry), append(all, entry.Report...)
	}
	there, absent, err := placed.Check()
	if err != nil {
		return nil, nil, nil, err
	}
	for _, e := range there {
		for i := range each {
			if each[i].What != "" && e.Where == project.LockFile+", "+each[i].What {
				each[i].Report = append(each[i].Report, e)
			}
		}
	}
	witnessed, err := checkInstalled(w, there)
	if err != nil {
		return nil, nil, nil, err
	}
	unmanaged, counted, err := checkUnmanaged(ctx, placed, strict)
	return each, slices.Concat(all, there, witnessed, unmanaged), append(absent, counted...), err
}

// serversOfFacets returns by facet those servers that are locked as servers of it.
func serversOfFacets(w *workspace.Workspace) map[string][]string {
	servers := map[string][]string{}
	for _, server := range w.Lock.Servers() {
		if locked, _ := w.Lock.Server(server); locked.Launch.Facet != "" {
			servers[locked.Launch.Facet] = append(servers[locked.Launch.Facet], server)
		}
	}
	return servers
}

// facetAudit holds what the check of a facet needs to know about the project.
type facetAudit struct {
	w       *workspace.Workspace
	logs    *trail.Logs
	store   *store.Store
	demands owed.Demands
	placed  *installed.LockedFacets // those that are locked
}

// checkEntry checks a facet that is declared or locked: how it is declared, and if it is locked the rest, too. A locked
// one is added to those that are placed.
func (a facetAudit) checkEntry(ctx context.Context, name string, servers []string) (Entry, error) {
	var report evidence.Report
	what := ""
	declared, ok := a.w.Config.Facets[name]
	entry, locked := a.w.Lock.Facet(name)
	if ok {
		report = append(report, obtain.SourceEvidence(a.w.Config.Registry, declared, entry, locked))
	}
	if ok && locked {
		now, err := obtain.Inspect(ctx, a.w, declared, entry)
		if err != nil {
			return Entry{}, err
		}
		report = append(report, now...)
	}
	if locked {
		what = entry.Subject(name)
		report = append(report, facets.BroughtEvidence(a.w, a.demands.Bringing(name), name, entry, locked)...)
		more, slot, err := a.checkFacet(ctx, name, entry, servers)
		if err != nil {
			return Entry{}, err
		}
		report = append(report, more...)
		a.placed.Add(name, entry, slot)
	}
	report = a.demands.Facet(name).Settle(report).About(a.w.FacetEntry(name))
	return Entry{Name: name, What: what, Report: report}, nil
}

// checkFacet audits the contents of one facet, verifies its proof, and compares the servers that
// are locked as its own with its manifest. The slot is nil if the
// contents are not in the store, or not sound.
func (a facetAudit) checkFacet(ctx context.Context, name string, entry project.FacetLock,
	servers []string) (evidence.Report, *store.Slot, error) {
	subject := entry.Subject(name)
	record := project.RecordLock{
		Kind: ledger.Facet, Registry: entry.Source.Registry, Name: name, Version: entry.Version,
		Integrity: entry.Integrity, Proof: entry.Proof,
	}
	slot, report, err := a.store.Audit(ctx, subject, entry.Integrity)
	switch {
	case errors.Is(err, store.ErrNotStored):
		report = evidence.Report{evidence.CannotVerify(evidence.Claim{
			Subject: subject, Scheme: evidence.FacetTar, Authority: evidence.Lock,
			Want: []digest.Digest{entry.Integrity}, Where: project.LockFile,
		}, evidence.NotFound, "not in this machine's store; the next install fetches and verifies it")}
		for _, server := range servers {
			report = append(report, workspace.UnseenOriginEvidence(subject, server))
		}
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
		report = append(report, facets.ComposedEvidence(m, subject, entry))
		for _, server := range servers {
			locked, _ := a.w.Lock.Server(server)
			report = append(report, workspace.DeclaredEvidence(a.w.Config, m, subject, server, locked))
		}
	}
	if !entry.Source.Kind.HasRecords() {
		return report, slot, nil
	}
	proof, err := a.logs.LockedProof(&record)
	return append(report, proof...), slot, err
}

// checkInstalled compares the installed files with what was written, except those that the lock's
// own evidence already covers.
func checkInstalled(w *workspace.Workspace, judged evidence.Report) (evidence.Report, error) {
	known := map[string]bool{}
	for _, e := range judged {
		known[e.Subject] = e.Outcome != evidence.Unverifiable
	}
	report, err := witnessedFiles(w)
	return slices.DeleteFunc(report, func(e evidence.Evidence) bool { return known[e.Subject] }), err
}

// witnessedFiles compares the files that this machine installed with what it wrote.
func witnessedFiles(w *workspace.Workspace) (evidence.Report, error) {
	known, err := installed.ReadReceipt(w)
	if err != nil {
		return nil, err
	}
	report, ours := known.Report, known.Receipt.Installed()
	present, err := installed.Digests(w, slices.Collect(maps.Keys(ours)))
	if err != nil {
		return nil, err
	}
	for _, path := range slices.Sorted(maps.Keys(ours)) {
		before := known.Sums.Sum(path)
		now, exists := present[path]
		switch {
		case !exists:
			report = append(report, evidence.CannotVerify(evidence.Claim{
				Subject: path, Scheme: evidence.Installed, Authority: evidence.Machine,
				Where: "what was installed here",
			}, evidence.NotFound, "is missing; 'hallmark install' puts it back"))
		default:
			report = append(report, installed.EditedEvidence(path, before, now, false))
		}
	}
	return report, nil
}
