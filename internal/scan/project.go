package scan

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/clients"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/installed"
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

// unmanagedEvidence is evidence of skills, agents and commands in the projects of the checkout that no locked facet put
// there. What is in no project of Hallmark is left out: nothing is locked there.
func (sc *scan) unmanagedEvidence(ctx context.Context) (report evidence.Report, err error) {
	start, err := filepath.Abs(sc.o.Dir)
	if err != nil {
		return nil, err
	}
	for dirs := []string{start}; len(dirs) > 0; dirs = dirs[1:] {
		w, locked := sc.projectWith(dirs[0])
		if w == nil {
			continue
		}
		placed := &installed.LockedFacets{Workspace: w}
		for _, name := range w.Lock.Facets() {
			entry, _ := w.Lock.Facet(name)
			placed.Add(name, entry, nil) // where its files are follows from the lock
		}
		dir := dirs[0]
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real // as that of the workspace is
		}
		found, err := placed.Unmanaged(ctx, dir)
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, found.Nested...)
		if !locked {
			continue
		}
		var flags []string
		if !host.SameFile(w.Dir, sc.o.Dir) {
			flags = []string{"--project", host.RelativeTo(sc.o.Dir, w.Dir)}
		}
		for _, u := range found.Found {
			e := u.Evidence(w, flags...)
			e.Subject = host.RelativeTo(sc.root, w.Place(u.Path))
			e.Place.File = e.Subject
			runs, err := u.Runs(w)
			switch {
			case err != nil:
				e.Reason += "; Hallmark does not know what it may run: " + err.Error()
			case runs != "":
				e.Reason += "; of it runs: " + runs
			}
			report = append(report, e)
		}
		report = append(report, found.Rest()...)
	}
	return report, nil
}

// projectWith returns the project that a directory is in. Without one it is a workspace in which nothing is locked, and
// so it is if its files cannot be read, which hallmark check reports; nil if the directory is gone.
func (sc *scan) projectWith(dir string) (w *workspace.Workspace, isProject bool) {
	at := sc.projectOf("", dir)
	if at != "" {
		if v, err := sc.openProject(at); err == nil {
			return v.w, true
		}
	}
	w, err := workspace.Peek(sc.h, cmp.Or(at, dir))
	if err != nil {
		return nil, false
	}
	w.Config, w.Lock = &project.Config{}, &project.Lock{}
	return w, at != ""
}
