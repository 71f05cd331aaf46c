package check

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// Locked is all that a project has locked.
type Locked struct {
	Project  string // the name of its directory
	Lock     *project.Lock
	Closures map[string]*project.Closure // by server
	Unlocked []string                    // servers that hallmark.toml leaves without an entry, sorted
}

// ReadLocked reads the lock of the project in dir with the files beside it, which it compares with the lock. It reads
// nothing else and asks nobody. What hallmark.toml declares and the lock does not have is an error, and so is a file
// that an entry owes and that is not there.
func ReadLocked(ctx context.Context, h *host.Host, dir string) (out Locked, err error) {
	w, done, err := workspace.Open(ctx, h, dir, false)
	if err != nil {
		return out, err
	}
	defer done()
	out = Locked{Project: filepath.Base(w.Dir), Lock: w.Lock, Closures: map[string]*project.Closure{}}
	if out.Unlocked, err = findUnlocked(w); err != nil {
		return out, err
	}
	if w.Lock.IsEmpty() && len(out.Unlocked) == 0 {
		return out, evidence.Errorf(evidence.Validation, project.LockFile,
			"add a server to "+project.ConfigFile+" and run 'hallmark pin', or run 'hallmark add' for a facet",
			errors.New("locks nothing yet"))
	}
	var report evidence.Report
	for _, name := range w.Lock.Servers() {
		entry, _ := w.Lock.Server(name)
		stored, err := workspace.ReadStored(w, name, entry)
		if err != nil {
			return out, err
		}
		for _, e := range stored.Report {
			if e.Outcome == evidence.Absent {
				return out, evidence.Errorf(evidence.Integrity, e.Subject,
					"restore it from version control; or run 'hallmark pin "+name+"' and review what it shows",
					errors.New(e.Reason+", and an entry of "+project.LockFile+" is about it"))
			}
		}
		report = append(report, stored.Report.About(w.ServerEntry(name))...)
		if stored.Closure != nil {
			out.Closures[name] = stored.Closure
		}
	}
	return out, policy.Judge(policy.Check, policy.Settings{}, report).Err()
}

// findUnlocked returns the servers that hallmark.toml leaves without an entry of the lock. It is an error if any other
// server or facet has none.
func findUnlocked(w *workspace.Workspace) (names []string, err error) {
	for _, name := range slices.Sorted(maps.Keys(w.Config.Servers)) {
		if _, ok := w.Lock.Server(name); ok {
			continue
		}
		switch s := w.Config.Servers[name]; {
		case s.WhyUnlocked() != "":
			names = append(names, name)
		case s.Facet != "":
			return nil, notLocked(name, "run 'hallmark install'")
		default:
			return nil, notLocked(name, "run 'hallmark pin "+name+"'")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.Config.Facets)) {
		if _, ok := w.Lock.Facet(name); !ok {
			return nil, notLocked(name, "run 'hallmark install'")
		}
	}
	return names, nil
}

func notLocked(name, hint string) error {
	return evidence.Errorf(evidence.Validation, fmt.Sprintf("%+q", name), hint, errors.New("is not locked"))
}
