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
	"github.com/hallmark-mcp/hallmark/internal/record"
	"github.com/hallmark-mcp/hallmark/internal/registry"
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
	o         Options
	store     *store.Store           // of contents of archives
	Fresh     func(name string) bool // reports whether to resolve anew, whatever the lock has
	Declared  map[string]bool        // declared by this very command, which accepts what the source has now
	Books     func() (owed.Books, error)

	mu     sync.Mutex      // guards report
	Report evidence.Report // of no single archive: the log's key and head

	logMu sync.Mutex // one at a time talks with the log
}

// Open opens the store for the archives of a project, whose records logs prove. fresh may be
// nil: nothing is resolved anew.
func Open(w *workspace.Workspace, logs *trail.Logs, o Options, fresh func(string) bool) (*Sources, error) {
	st, err := w.Host.Store()
	if err != nil {
		return nil, err
	}
	if fresh == nil {
		fresh = func(string) bool { return false }
	}
	return &Sources{
		Workspace: w, Logs: logs, o: o, store: st.WithScheme(evidence.FacetTar), Fresh: fresh,
		Books: sync.OnceValues(func() (owed.Books, error) { return w.Books(logs) }),
	}, nil
}

// Judge decides about the evidence of x together with more.
func (a *Sources) Judge(x *Archive, more evidence.Report) (policy.Admitted, error) {
	v := policy.Judge(policy.Install, a.Settings(), slices.Concat(x.Report, more))
	return v.Admitted(), v.Err()
}

// Settings are those of every judgement about these archives.
func (a *Sources) Settings() policy.Settings { return policy.Settings{RequireLock: a.o.Frozen} }

// Obtain gets one facet into the store, audited, with its evidence.
func (a *Sources) Obtain(ctx context.Context, x *Archive) error {
	f := x.Want
	var locked *project.FacetLock
	if entry, ok := a.Workspace.Lock.Facet(f.Name); ok {
		x.before = &entry
		if entry.Covers(f, a.Workspace.Config.Registry) && (a.o.Frozen || !a.Fresh(f.Name)) {
			locked = &entry
		}
	}
	expected, err := a.expectations(x)
	if err != nil {
		return err
	}
	if a.o.Frozen && locked == nil && x.Kind != ledger.Artifact { // a frozen installation resolves nothing, whichever facet brings it along
		entry, ok := a.Workspace.Lock.Facet(f.Name)
		declared := evidence.Report{SourceEvidence(a.Workspace.Config.Registry, f, entry, ok)}
		x.Report = append(x.Report, expected.Of(evidence.Source).Settle(declared)...)
		if _, err := a.Judge(x, nil); err != nil {
			return err
		}
	}
	if x.before == nil { // judge before any request: what must not be resolved anew causes none
		x.Report = append(x.Report, expected.Of(evidence.Source).Settle(nil)...)
		if _, err := a.Judge(x, nil); err != nil {
			return err
		}
	}
	if f.Kind() != project.FromRegistry {
		if err := a.settleProof(x, project.FacetLock{Source: f.Source(a.Workspace.Config.Registry)}); err != nil {
			return err
		}
		if _, err := a.Judge(x, nil); err != nil {
			return err
		}
	}
	switch f.Kind() {
	case project.FromLocal:
		err = a.obtainFromDirectory(ctx, x, locked)
	case project.FromGit:
		err = a.obtainFromGit(ctx, x, locked)
	default:
		err = a.ObtainFromRegistry(ctx, x, locked)
	}
	if err != nil {
		return err
	}
	if locked != nil && f.Kind() == project.FromRegistry {
		proof, err := a.verifyLockedProof(ctx, f.Name, *locked)
		if err != nil {
			return err
		}
		x.Report = append(x.Report, expected.Of(evidence.Proof, evidence.LogKey, evidence.Checkpoint,
			evidence.Cosignature).Settle(proof)...)
	}
	if _, err := a.Judge(x, nil); err != nil {
		return err
	}
	return x.ReadManifest()
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

// expectations is what is owed about a facet. That hallmark.toml declares it is what an
// installation is for, if it may write the lock.
func (a *Sources) expectations(x *Archive) (owed.List, error) {
	if x.Kind == ledger.Artifact { // a server, whose own flow says what is owed
		return nil, nil
	}
	books, err := a.Books()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(books.Facet(x.Want.Name), func(e owed.Expectation) bool {
		return e.Scheme == evidence.Source && (e.Authority != evidence.Lock || e.By == evidence.Project)
	}), nil
}

// settleProof adds what is owed about the proof of the entry that x is to get, and not there.
func (a *Sources) settleProof(x *Archive, entry project.FacetLock) error {
	if x.Kind == ledger.Artifact {
		return nil
	}
	books, err := a.Books()
	if err == nil {
		x.Report = books.FacetProof(x.Want.Name, entry).Settle(x.Report)
	}
	return err
}

// verifyLockedProof verifies the proof that the lock has of a facet, as [trail.Logs.InstalledProof] does.
func (a *Sources) verifyLockedProof(ctx context.Context,
	name string, entry project.FacetLock) (evidence.Report, error) {
	return a.Logs.InstalledProof(ctx, a.Workspace.Lock, &project.RecordLock{
		Kind: ledger.Facet, Registry: entry.Source.Registry, Name: name, Version: entry.Version,
		Integrity: entry.Integrity, Proof: entry.Proof,
	}, a.o.Offline)
}

// addRecord adds what the record of x says of it, and what its registry's log does, and returns
// the proof that it is in the log.
func (a *Sources) addRecord(ctx context.Context, x *Archive, rec registry.ArchiveRecord) (proof string, err error) {
	x.Report = append(x.Report, record.ArchiveStatus(rec))
	document, err := rec.Document()
	if err != nil {
		return "", evidence.Errorf(evidence.Validation, x.Subject(), "", err)
	}
	logged := project.RecordLock{
		Kind: x.ledgerKind(), Registry: a.Workspace.Config.Registry.Name(), Name: rec.Name, Version: rec.Version,
		Document: document, Integrity: rec.ContentIntegrity,
	}
	log, more, err := a.proveRecord(ctx, rec.Proof, &logged)
	if x.Report = append(x.Report, more...); err != nil {
		return "", err
	}
	if logged.Proof != "" {
		more, err = log.ArchiveEvidence(ctx, rec, logged.Proof)
		if x.Report = append(x.Report, more...); err != nil {
			return "", err
		}
	}
	entry := x.Entry
	entry.Proof = logged.Proof
	if err := a.settleProof(x, entry); err != nil {
		return "", err
	}
	_, err = a.Judge(x, nil) // judge before downloading: a refused record must not cause a request
	return logged.Proof, err
}

// addLater adds the present status of a facet that is locked and had to be fetched again. The
// record was confirmed when it was locked: if no log key is configured, the log is skipped and no
// person is asked for one. A server that is being started asks no log.
func (a *Sources) addLater(ctx context.Context, x *Archive, rec registry.ArchiveRecord) error {
	if x.Kind == ledger.Artifact {
		return nil
	}
	if known, err := a.Logs.KnowsKey(a.Workspace.Config.Registry.Name()); err != nil || !known {
		return err
	}
	_, err := a.addRecord(ctx, x, rec)
	return err
}

// proveRecord verifies the proof that a record is in its registry's log, puts it into r, and
// returns the log; nil if there is none.
func (a *Sources) proveRecord(ctx context.Context, proof []byte,
	r *project.RecordLock) (*trail.Log, evidence.Report, error) {
	a.logMu.Lock()
	defer a.logMu.Unlock()
	log, first, err := a.Logs.Open(ctx)
	if err != nil {
		return nil, nil, err
	}
	if log == nil {
		return nil, evidence.Report{trail.NoProofEvidence(*r, "the registry has no log")}, nil
	}
	if first {
		a.mu.Lock()
		a.Report = append(a.Report, log.Report...)
		a.mu.Unlock()
	}
	if log.Key == "" {
		return log, log.Report, nil
	}
	if len(proof) == 0 {
		none := evidence.CannotVerify(trail.ProofClaim(*r, log.Head.Origin), evidence.NotFound, "the registry has a log, and gave no proof")
		return log, append(slices.Clone(log.Report), none), nil
	}
	more, err := log.VerifyProof(ctx, proof, r)
	return log, slices.Concat(log.Report, more), err
}
