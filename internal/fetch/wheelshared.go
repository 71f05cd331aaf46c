package fetch

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// SharedFile is a path for which several wheels of one tree have different files.
type SharedFile struct {
	Path    string       // below the directory that they are installed to
	By      artifact.Ref // the wheel whose file is installed
	Instead artifact.Ref // one whose file is not
}

// findShared finds the wheel whose file is installed to each place, by key, and the paths for which wheels have
// different files. The file of root is installed, else that of the wheel whose name is the last one. Equal files are no
// matter, nor are scripts of entry_points.txt, which no tree of Hallmark keeps. It refuses wheels of which one path is
// a file and a directory, or lies otherwise in each of them.
func findShared(wheels []*Wheel, root artifact.Ref) (by map[string]*Wheel, _ []SharedFile, err error) {
	wheels = slices.Clone(wheels)
	slices.SortFunc(wheels, func(a, b *Wheel) int {
		switch root {
		case a.ref:
			return 1
		case b.ref:
			return -1
		}
		return cmp.Compare(a.ref.Normal().String(), b.ref.Normal().String())
	})
	by = map[string]*Wheel{}
	owners, shared := map[string]*Wheel{}, map[string]SharedFile{}
	refuse := func(w, other *Wheel, place string) (map[string]*Wheel, []SharedFile, error) {
		return nil, nil, evidence.Errorf(evidence.Refused, w.ref.String(),
			"choose versions that can be installed together, and tell the publishers",
			fmt.Errorf("installs %s otherwise than %s; which of the two stays depends on the installer",
				wire.Quoted(place), other.ref))
	}
	for _, w := range wheels {
		for _, place := range slices.Sorted(maps.Keys(w.files)) {
			if other, ok := by[place]; ok && other.files[place] != w.files[place] {
				before, now := other.files[place], w.files[place]
				if before.path != now.path {
					return refuse(w, other, place)
				}
				shared[place] = SharedFile{now.place, w.ref, other.ref}
			}
			by[place] = w
		}
		for top, owner := range w.owners {
			if other, ok := owners[top]; ok && other.owners[top] != owner {
				return refuse(w, other, top)
			}
			owners[top] = w
		}
	}
	for _, place := range slices.Sorted(maps.Keys(by)) {
		for dir := path.Dir(place); dir != "."; dir = path.Dir(dir) {
			if other, ok := by[dir]; ok {
				return refuse(by[place], other, dir)
			}
		}
	}
	all := make([]SharedFile, 0, len(shared))
	for _, place := range slices.Sorted(maps.Keys(shared)) {
		all = append(all, shared[place])
	}
	return by, all, nil
}
