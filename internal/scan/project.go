package scan

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/clients"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/project"
)

// projectOf is the nearest directory at or above dir that is a project of Hallmark's, "" if there
// is none. A client's directory belongs to the project that holds it, if there is one, whatever
// files of Hallmark's lie in it: see [clients.OwnerDir], as of within.
func (sc *scan) projectOf(within, dir string) string {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	if within, err = filepath.Abs(within); err != nil {
		return ""
	}
	holder := clients.OwnerDir(within, dir)
	found := sc.findProjectAbove(holder)
	if found == "" && holder != dir {
		found = sc.findProjectAbove(dir)
	}
	if found != "" && !slices.Contains(sc.found, found) {
		sc.found = append(sc.found, found)
	}
	return found
}

func (sc *scan) findProjectAbove(dir string) string {
	for {
		if sc.isProject(dir) {
			return dir
		}
		above := filepath.Dir(dir)
		if above == dir {
			return ""
		}
		dir = above
	}
}

// isProject reports whether dir has any file of Hallmark's, so that taking hallmark.toml and
// hallmark.lock away is seen, or this machine accepted something in it, so that taking all of
// them away is. Each directory is looked at once.
func (sc *scan) isProject(dir string) bool {
	is, known := sc.projects[dir]
	if !known {
		is = holdsProject(dir) || sc.isAccepted(dir)
		sc.projects[dir] = is
	}
	return is
}

func holdsProject(dir string) bool {
	for _, name := range []string{project.ConfigFile, project.LockFile, project.SurfacesDir, project.ClosuresDir} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// isAccepted reports whether this machine accepted something in dir, or may have: what it remembers
// cannot be read.
func (sc *scan) isAccepted(dir string) bool {
	w, err := workspace.Peek(sc.h, dir)
	if err != nil {
		return false // nothing is there
	}
	return w.ReadApprovals() != nil || len(w.Approvals.Names()) > 0
}

// removedEvidence is evidence of what this machine accepted in the projects that the scan came by, where
// hallmark.toml is gone. Nothing else would say so: without it, and the lock, no entry of a
// client's need be guarded.
func (sc *scan) removedEvidence() (report evidence.Report) {
	for _, dir := range sc.found {
		at := filepath.Join(dir, project.ConfigFile)
		w, err := workspace.Peek(sc.h, dir)
		if err != nil {
			continue // it went away
		}
		missing, err := w.RemovedEvidence()
		if err != nil {
			report = append(report, unreadableEvidence(w.ApprovalsPath(), err))
			continue
		}
		for _, e := range missing {
			e.Rule, e.Place = launcher.RuleRemoved, evidence.Place{File: host.RelativeTo(sc.o.Dir, at)}
			report = append(report, e)
		}
	}
	return report
}
