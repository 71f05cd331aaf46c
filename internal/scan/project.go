package scan

import (
	"errors"
	"io/fs"
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

// projectOf returns the nearest directory at or above dir that is a project of Hallmark, "" if there
// is none. A client's own directory belongs to the project that holds it, even if it has files of
// Hallmark itself: see [clients.OwnerDir].
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

// findProjectAbove returns the nearest project at or above dir, "" if there is none.
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

// isProject reports whether dir has any file of Hallmark, or this machine accepted something there.
// The first reveals that hallmark.toml and hallmark.lock were removed, the second that all files
// were. The answer is kept for the scan.
func (sc *scan) isProject(dir string) bool {
	is, known := sc.projects[dir]
	if !known {
		is = holdsProject(dir) || sc.isAccepted(dir)
		sc.projects[dir] = is
	}
	return is
}

// holdsProject reports whether dir has a file of Hallmark.
func holdsProject(dir string) bool {
	for _, name := range []string{project.ConfigFile, project.LockFile, project.SurfacesDir, project.ClosuresDir} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// isAccepted reports whether this machine accepted something in dir, or may have because its record
// cannot be read.
func (sc *scan) isAccepted(dir string) bool {
	w, err := workspace.Peek(sc.h, dir)
	if err != nil {
		return false // nothing is there
	}
	return w.ReadApprovals() != nil || len(w.Approvals.Names()) > 0
}

// removedEvidence returns evidence of what this machine accepted in the scanned projects whose
// hallmark.toml is gone. Nothing else reports that: without this file and the lock no entry of a
// client needs to be guarded.
func (sc *scan) removedEvidence() (report evidence.Report) {
	for _, dir := range sc.found {
		at := filepath.Join(dir, project.ConfigFile)
		w, err := workspace.Peek(sc.h, dir)
		if errors.Is(err, fs.ErrNotExist) {
			w, _ = workspace.Gone(sc.h, dir) // an error of what is remembered comes again below
		}
		if w == nil {
			continue
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
