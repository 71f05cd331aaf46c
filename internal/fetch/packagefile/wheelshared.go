package packagefile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// SharedFile is a path to which several wheels of one tree install different files. Installers install all of them, in
// an order of their own, and the last one stays.
type SharedFile struct {
	Path    string       // in the wheels, and below the directory that they are installed to
	By      artifact.Ref // the wheel whose file is to stay
	Instead artifact.Ref // one whose file is not

	file, sum string // of the wheel, and of what it has at Path
}

// FindShared finds the paths to which wheels install different files. The file of root stays, else that of the wheel
// whose name is the last one. Equal files are no matter, nor are scripts of entry_points.txt, which no tree of Hallmark
// keeps. It refuses wheels of which one path is a file and a directory, or lies otherwise in each of them.
func FindShared(wheels []*Wheel, root artifact.Ref) ([]SharedFile, error) {
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
	by, owners, shared := map[string]*Wheel{}, map[string]*Wheel{}, map[string]SharedFile{}
	refuse := func(w, other *Wheel, place string) ([]SharedFile, error) {
		return nil, evidence.Errorf(evidence.Refused, w.ref.String(),
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
				shared[place] = SharedFile{Path: now.path, By: w.ref, Instead: other.ref, file: w.file, sum: now.sum}
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
	return all, nil
}

// Put writes the file that is to stay into dir, to which an installer installed the wheels.
func (s SharedFile) Put(dir string) error {
	sum, err := digest.Parse(s.sum)
	if err != nil {
		return err
	}
	wheel, err := os.Open(s.file)
	if err != nil {
		return err
	}
	defer wheel.Close()
	z, err := openZip(wheel, maxWheelList)
	if err != nil {
		return err
	}
	in, err := z.open(s.Path)
	if err != nil {
		return err
	}
	defer in.Close()
	name := filepath.Join(dir, filepath.FromSlash(s.Path))
	if err := os.Remove(name); err != nil { // also for its mode, which is that of the file that is there
		return err
	}
	out, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, digest.NewVerifier(in, sum, -1))
	return errors.Join(err, out.Close())
}
