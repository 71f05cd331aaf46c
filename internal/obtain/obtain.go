// Package obtain gets the archive of a facet, or of a server that is packed from source, from a
// registry, a git repository or a directory, and admits it into the store. A locked archive is
// taken from the store without a request. A new one of a registry is fetched only if that registry
// and its log confirm it now. Every digest is recomputed from the bytes in the same run.
package obtain

import (
	"context"
	"slices"
	"sync"

	"github.com/hallmark-mcp/hallmark/archive"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/facet"
	"github.com/hallmark-mcp/hallmark/internal/store"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/owed"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// Options say how archives are got from their sources.
type Options struct {
	Frozen   bool // hallmark.lock is the only authority
	Offline  bool // ask nobody
	Limits   archive.Limits
	Progress func(what string, done, total int64)
}

// Sources are where the archives of a project come from, registry, git and disk, and the store
// that admits them.
type Sources struct {
	Workspace *workspace.Workspace
	Logs      *trail.Logs
	Books     func() (owed.Books, error) // what is owed in the project, read once
	o         Options
	store     *store.Store // of contents of archives

	logMu     sync.Mutex      // one at a time talks with the log; guards logReport
	logReport evidence.Report // of the log itself
}

// Open opens the store for the archives of a project, whose records logs prove.
func Open(w *workspace.Workspace, logs *trail.Logs, o Options) (*Sources, error) {
	st, err := w.Host.Store()
	if err != nil {
		return nil, err
	}
	return &Sources{
		Workspace: w, Logs: logs, o: o, store: st.WithScheme(evidence.FacetTar),
		Books: sync.OnceValues(func() (owed.Books, error) { return w.Books(logs) }),
	}, nil
}

// Settings are those of every judgement about these archives.
func (s *Sources) Settings() policy.Settings { return policy.Settings{RequireLock: s.o.Frozen} }

// LogReport is the evidence of the registry's log that is of no single archive: its key and head.
func (s *Sources) LogReport() evidence.Report {
	s.logMu.Lock()
	defer s.logMu.Unlock()
	return slices.Clone(s.logReport)
}

// Request says which archive is wanted.
type Request struct {
	Kind     ledger.Kind        // zero: a facet; else an artifact, a server that is packed from source
	Want     project.Facet      // its name, and where it comes from
	Floor    facet.Floor        // of a server that is not locked: the least version
	Locked   *project.FacetLock // its entry in the lock; nil without one
	Anew     bool               // resolve it anew, whatever the entry says
	Declared bool               // declared by this very command, which accepts what the source has now
}

// Obtain gets an archive into the store: a locked one from the store without a request, a new one
// only if its registry confirms it now. The report has the evidence of it, beside an error too. The
// error is of class Integrity if bytes differ from what is claimed of them, Refused if a claim that
// is owed is missing, and Operation if nothing was decided.
func (s *Sources) Obtain(ctx context.Context, r Request) (*Archive, evidence.Report, error) {
	q := &inquiry{settings: s.Settings()}
	obtain := s.obtainFacet
	if r.Kind == ledger.Artifact {
		obtain = s.obtainServer
	}
	a, err := obtain(ctx, r, q)
	return a, q.report, err
}

// obtainServer gets a server that is packed from source. What is owed about it is for the flow that
// locks or starts it to say.
func (s *Sources) obtainServer(ctx context.Context, r Request, q *inquiry) (*Archive, error) {
	found, err := s.fromRegistry(ctx, r, r.Locked, q)
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
	var found stored
	switch f.Kind() {
	case project.FromLocal:
		found, err = s.fromDirectory(ctx, f, locked, q)
	case project.FromGit:
		found, err = s.fromGit(ctx, r, locked, q)
	default:
		found, err = s.fromRegistry(ctx, r, locked, q)
	}
	if err != nil {
		return nil, err
	}
	if locked != nil && f.Kind() == project.FromRegistry {
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

// bindingEntry is the entry that a facet is held to; nil if it is resolved anew.
func (s *Sources) bindingEntry(r Request) *project.FacetLock {
	if r.Locked != nil && r.Locked.Covers(r.Want, s.Workspace.Config.Registry) && (s.o.Frozen || !r.Anew) {
		return r.Locked
	}
	return nil
}

// judgeEntry judges what is owed about the entry of a facet before anything is fetched: what is
// refused must not cause a request.
func (s *Sources) judgeEntry(r Request, locked *project.FacetLock, expected owed.List, q *inquiry) error {
	f, registry := r.Want, s.Workspace.Config.Registry
	if s.o.Frozen && locked == nil { // a frozen installation resolves nothing, whichever facet brings it along
		var entry project.FacetLock
		if r.Locked != nil {
			entry = *r.Locked
		}
		declared := evidence.Report{SourceEvidence(registry, f, entry, r.Locked != nil)}
		if _, err := q.judge(expected.Of(evidence.Source).Settle(declared)...); err != nil {
			return err
		}
	}
	if r.Locked == nil {
		if _, err := q.judge(expected.Of(evidence.Source).Settle(nil)...); err != nil {
			return err
		}
	}
	if f.Kind() == project.FromRegistry {
		return nil
	}
	if err := s.settleProof(f.Name, project.FacetLock{Source: f.Source(registry)}, q); err != nil {
		return err
	}
	_, err := q.judge()
	return err
}

// expectations is what is owed about a facet. That hallmark.toml declares it is what an
// installation is for, if it may write the lock.
func (s *Sources) expectations(name string) (owed.List, error) {
	books, err := s.Books()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(books.Facet(name), func(e owed.Expectation) bool {
		return e.Scheme == evidence.Source && (e.Authority != evidence.Lock || e.By == evidence.Project)
	}), nil
}

// settleProof adds what is owed about the proof of the entry that a facet is to get, and not there.
func (s *Sources) settleProof(name string, entry project.FacetLock, q *inquiry) error {
	books, err := s.Books()
	if err != nil {
		return err
	}
	q.settle(books.FacetProof(name, entry))
	return nil
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
		Repaired: found.repaired}, nil
}

// SourceClaim is the claim of the lock about where a facet comes from.
func SourceClaim(name string) evidence.Claim {
	return evidence.Claim{Subject: name, Scheme: evidence.Source, Authority: evidence.Lock, Where: project.LockFile}
}

// SourceEvidence compares how a facet is declared with how its entry says that it was.
func SourceEvidence(registry project.Registry, f project.Facet, entry project.FacetLock,
	locked bool) evidence.Evidence {
	c := SourceClaim(f.Name)
	if !locked {
		return evidence.Fact(c, "")
	}
	c.Text = entry.Source.String() + " " + entry.Version
	if entry.Covers(f, registry) {
		return evidence.Fact(c, c.Text)
	}
	found := f.Source(registry).String()
	if f.Kind() == project.FromRegistry {
		found += " " + f.Requirement.String()
	} else if f.Commit != "" {
		found += " commit " + f.Commit
	}
	e := evidence.Fact(c, found)
	e.Observed.From = project.ConfigFile
	return e
}
