package scan

import (
	"cmp"
	"context"
	"os"
	"path/filepath"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/installed"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// unmanagedEvidence is evidence of skills, agents and commands in the projects of the checkout that no locked facet put
// there. What is in no project of Hallmark is left out: nothing is locked there.
func (sc *scan) unmanagedEvidence(ctx context.Context) (report evidence.Report, err error) {
	start, err := filepath.Abs(sc.o.Dir)
	if err != nil {
		return nil, err
	}
	for dirs := []string{start}; len(dirs) > 0; dirs = dirs[1:] {
		w, locked := sc.projectWith(dirs[0], &report)
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
				e.Reason += "; what of it runs is not known: " + err.Error()
			case runs != "":
				e.Reason += "; of it runs: " + runs
			}
			report = append(report, e)
		}
		report = append(report, found.Rest()...)
	}
	return report, nil
}

// projectWith returns the project that a directory is in. Without one, or without its hallmark.toml, it is a workspace in
// which nothing is locked; it is nil, with a finding in report, if the project cannot be read.
func (sc *scan) projectWith(dir string, report *evidence.Report) (w *workspace.Workspace, isProject bool) {
	at := sc.projectOf("", dir)
	config := filepath.Join(at, project.ConfigFile)
	if _, err := os.Lstat(config); at != "" && err == nil {
		v, err := sc.openProject(at)
		if err != nil {
			*report = append(*report, unreadableEvidence(host.RelativeTo(sc.o.Dir, config), err))
		}
		return v.w, err == nil
	}
	w, err := workspace.Peek(sc.h, cmp.Or(at, dir))
	if err != nil {
		return nil, false // it is gone
	}
	w.Config, w.Lock = &project.Config{}, &project.Lock{}
	return w, at != ""
}
