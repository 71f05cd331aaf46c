package installed

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/obtain"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// CheckSources refuses facets of hallmark.toml whose source is a directory that overlaps one in which some client looks
// for skills, agents or commands, whether the project has that client or not: what is installed would be its own
// source, and taking it away would delete the only copy.
func CheckSources(w *workspace.Workspace) error {
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(w.Config.Facets)) {
		if f := w.Config.Facets[name]; f.Path != "" {
			problems = append(problems, checkSource(w, f))
		}
	}
	return errors.Join(problems...)
}

// checkSource refuses a facet whose source overlaps a client's directory.
func checkSource(w *workspace.Workspace, f project.Facet) error {
	dir := obtain.LocalPath(w, f.Path)
	for _, place := range clientDirs(w) {
		at := w.Place(place)
		switch in := isWithin(dir, at); {
		case in:
			return refuseSource(w, f, "lies in "+place, "'"+host.QuoteArguments([]string{"hallmark", "adopt", f.Path})+
				"' takes a skill under the lock where it lies")
		case isWithin(at, dir) && readsBelow(dir, at):
			return refuseSource(w, f, "holds "+place, "name a directory that has nothing but the facet, or its "+
				"repository with --git")
		}
	}
	return nil
}

// refuseSource is the error for a source that overlaps a client's directory, with what leads on.
func refuseSource(w *workspace.Workspace, f project.Facet, why, hint string) error {
	if _, locked := w.Lock.Facet(f.Name); locked {
		hint = "'hallmark remove --keep " + f.Name + "' first, which leaves the files where they lie; then " + hint
	}
	return evidence.Errorf(evidence.Refused, f.Name, hint,
		fmt.Errorf("its source, %s, %s, where clients read skills, agents or commands: installing would overwrite "+
			"it, and removing would delete it",
			f.Path, why))
}

// readsBelow reports whether the facet in a directory has files in another one below it: what is wrapped has all files,
// a facet those that its manifest names.
func readsBelow(dir, below string) bool {
	data, err := host.ReadFile(filepath.Join(dir, facet.ManifestFile), facet.MaxManifest)
	if err != nil || data == nil {
		return true
	}
	m, err := facet.ParseManifest(data)
	if err != nil {
		return true
	}
	return slices.ContainsFunc(m.Paths(), func(p string) bool {
		return isWithin(filepath.Join(dir, filepath.FromSlash(p)), below)
	})
}

// clientDirs are the directories in which a target of the project or any other client looks for what facets deliver.
func clientDirs(w *workspace.Workspace) (dirs []string) {
	for _, t := range Adapters(w) {
		dirs = append(dirs, t.Dirs()...)
	}
	for _, t := range All() {
		dirs = append(dirs, placed(w, t).Dirs()...)
	}
	return dirs
}

// SourceDirs are the directories of this machine that are the sources of declared and of locked facets.
func SourceDirs(w *workspace.Workspace) (dirs []string) {
	for _, f := range w.Config.Facets {
		if f.Path != "" {
			dirs = append(dirs, obtain.LocalPath(w, f.Path))
		}
	}
	for _, name := range w.Lock.Facets() {
		if entry, _ := w.Lock.Facet(name); entry.Source.Path != "" {
			dirs = append(dirs, obtain.LocalPath(w, entry.Source.Path))
		}
	}
	return dirs
}

// isWithin reports whether a file or directory is, or is in, a directory, links followed. Neither need exist.
func isWithin(name, dir string) bool {
	inside, err := os.Stat(dir)
	if err != nil {
		rel, err := filepath.Rel(dir, name)
		return err == nil && filepath.IsLocal(rel)
	}
	for resolved := false; ; name = filepath.Dir(name) {
		if real, err := filepath.EvalSymlinks(name); err == nil && !resolved {
			name, resolved = real, true
		}
		if info, err := os.Stat(name); err == nil && os.SameFile(info, inside) {
			return true
		}
		if name == filepath.Dir(name) {
			return false
		}
	}
}
