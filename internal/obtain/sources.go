package obtain

import (
	"slices"
	"sync"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/internal/owed"
	"github.com/hallmark-mcp/hallmark/internal/store"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// Options say how archives are got from their sources.
type Options struct {
	Frozen   bool // hallmark.lock is the only authority
	Offline  bool // make no requests
	Limits   archive.Limits
	Progress func(what string, done, total int64)
}

// Sources are where the archives of a project come from, registry, git and disk, and the store
// that admits them.
type Sources struct {
	Workspace *workspace.Workspace
	Logs      *trail.Logs
	Demands   func() (owed.Demands, error) // what is owed in the project, read once
	o         Options
	folders   map[string]string // of facets, by name: see TakeFrom
	store     *store.Store      // of contents of archives

	logMu     sync.Mutex      // one at a time talks with the log; guards logReport
	logReport evidence.Report // of the log itself
}

// Open opens the store for the archives of a project, whose records logs prove.
func Open(w *workspace.Workspace, logs *trail.Logs, o Options) (*Sources, error) {
	st, err := w.Host.Store()
	if err != nil {
		return nil, err
	}
	o.Limits = limitsOf(w, o.Limits)
	return &Sources{
		Workspace: w, Logs: logs, o: o, store: st.WithScheme(evidence.FacetTar),
		Demands: sync.OnceValues(func() (owed.Demands, error) { return w.Demands(logs) }),
	}, nil
}

// Settings hold for every judgement about these archives.
func (s *Sources) Settings() policy.Settings { return policy.Settings{RequireLock: s.o.Frozen} }

// LogReport is the evidence of the registry's log that is of no single archive: its key and head.
func (s *Sources) LogReport() evidence.Report {
	s.logMu.Lock()
	defer s.logMu.Unlock()
	return slices.Clone(s.logReport)
}

// Request says which archive is wanted.
type Request struct {
	Kind   ledger.Kind        // zero: a facet; else an artifact, a server that is packed from source
	Want   project.Facet      // its name, and where it comes from
	Floor  artifact.Floor     // of a server that is not locked: the least version
	Locked *project.FacetLock // its entry in the lock; nil without one
	Anew   bool               // resolve it anew, whatever the entry says

	// AcceptTag follows the tag of a repository that was moved since it was locked. The caller shows what changes
	// by it, and asks, before it writes anything.
	AcceptTag bool

	// KeepLocked takes what is locked and in the store where a directory cannot be read: the command changes other
	// facets.
	KeepLocked bool
}
