package workspace

import (
	"context"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"path/filepath"
	"slices"

	"github.com/hallmark-mcp/hallmark/internal/clients"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/owed"
	"github.com/hallmark-mcp/hallmark/project"
)

// maxNested bounds how many nested projects are named.
const maxNested = 20

// NestedProjects names the projects below this one, whose locks a check of this one does not cover,
// and the hallmark.toml files in clients' directories, which Hallmark ignores. It skips the
// directories of installed packages.
func (w *Workspace) NestedProjects(ctx context.Context) (unseen []string, err error) {
	count, found := 0, 0
	var last string
	err = filepath.WalkDir(w.Dir, func(name string, d fs.DirEntry, err error) error {
		if count++; count > clients.MaxEntries {
			unseen = append(unseen, fmt.Sprintf("projects in more than %d files", clients.MaxEntries))
			return fs.SkipAll
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return nil // nor can a client read it
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules") && name != w.Dir:
			return fs.SkipDir
		case d.Name() != project.ConfigFile && d.Name() != project.LockFile:
			return nil
		}
		dir := filepath.Dir(name)
		if dir == w.Dir || dir == last {
			return nil
		}
		if last, found = dir, found+1; found > maxNested {
			return nil
		}
		shown := host.RelativeTo(w.Dir, name)
		if clients.OwnerDir(w.Dir, dir) != dir {
			unseen = append(unseen, shown+" (in a client's directory, where it counts for nothing)")
		} else {
			unseen = append(unseen,
				fmt.Sprintf("%s (a project of its own: 'hallmark check --project %s')", shown,
					host.RelativeTo(w.Dir, dir)))
		}
		return nil
	})
	if found > maxNested {
		unseen = append(unseen, fmt.Sprintf("%d more projects below this one", found-maxNested))
	}
	return unseen, err
}

// DroppedNames names what this machine accepted and neither hallmark.toml nor the lock names any
// more. Removing both is legitimate, so nothing is refused; but no check covers it any more, so a
// person is told.
func (w *Workspace) DroppedNames(demands owed.Demands) (unseen []string) {
	dropped := func(known []string, accepted iter.Seq[string]) {
		for name := range accepted {
			if !slices.Contains(known, name) {
				unseen = append(unseen, name)
			}
		}
	}
	dropped(slices.Concat(demands.Servers(), demands.Withdrawn()), maps.Keys(w.Approvals.Servers))
	dropped(demands.Facets(), maps.Keys(w.Approvals.Facets))
	slices.Sort(unseen)
	unseen = slices.Compact(unseen) // a facet and its server may have one name, and are forgotten together
	for i, name := range unseen {
		unseen[i] = fmt.Sprintf("%s (accepted on this machine, and neither declared nor locked now: "+
			"'hallmark forget %[1]s' if that is right)", name)
	}
	return unseen
}
