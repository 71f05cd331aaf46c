package tree

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// UnhashedEntry is something in a directory that no fingerprint of a tree covers: a directory
// without any file below it, or an entry with one of the modes setuid, setgid and sticky.
// A directory that was written from a tree has none.
type UnhashedEntry struct {
	Path string      // as found, not escaped
	Kind string      // what it is: "an empty directory", "a setuid file"
	Mode fs.FileMode // fs.ModeDir and the special bits; fs.ModeDir alone is an empty directory
}

// specialModes are the modes beside permissions that an entry may have.
const specialModes = fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

func newUnhashed(path string, mode fs.FileMode) UnhashedEntry {
	mode &= fs.ModeDir | specialModes
	kind := "file"
	if mode.IsDir() {
		kind = "directory"
	}
	for _, bit := range []struct {
		mode fs.FileMode
		name string
	}{{fs.ModeSticky, "sticky"}, {fs.ModeSetgid, "setgid"}, {fs.ModeSetuid, "setuid"}} {
		if mode&bit.mode != 0 {
			kind = bit.name + " " + kind
		}
	}
	return UnhashedEntry{path, "a " + kind, mode}
}

// SpecialMode describes an entry with one of the modes setuid, setgid and sticky. It returns
// false if mode has none of them.
func SpecialMode(path string, mode fs.FileMode) (UnhashedEntry, bool) {
	return newUnhashed(path, mode), mode&specialModes != 0
}

// Inventory is all that lies in a directory, each list in byte order of the paths.
type Inventory struct {
	Files    []File
	Refused  []*EntryError   // what no tree may hold
	Unhashed []UnhashedEntry // what no fingerprint covers
}

// Inspect is [Scan] for a directory that was written from a tree: it also lists what
// fingerprints leave out, so that everything that was added to the directory is found. The
// root of fsys is not listed.
func Inspect(fsys fs.FS, limits Limits) (Inventory, error) {
	w := &walker{fsys: fsys, limits: limits.orDefault(), inspecting: true}
	if err := w.walk(); err != nil {
		return Inventory{}, err
	}
	unhashed := append(w.unhashed, w.emptyDirs()...)
	slices.SortFunc(unhashed, func(a, b UnhashedEntry) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.Mode, b.Mode))
	})
	return Inventory{w.files, w.refused, unhashed}, nil
}

// noteDir keeps a directory for Inspect.
func (w *walker) noteDir(path string, entry fs.DirEntry) error {
	if !w.inspecting {
		return nil
	}
	info, err := entry.Info()
	if err != nil {
		return fmt.Errorf("list directory: %w", err)
	}
	if info.Mode()&specialModes != 0 {
		w.unhashed = append(w.unhashed, newUnhashed(path, info.Mode()))
	}
	w.dirs = append(w.dirs, path)
	return nil
}

// emptyDirs lists the directories with neither a file nor a refused entry anywhere below
// them. A directory below another empty one is not listed again.
func (w *walker) emptyDirs() (out []UnhashedEntry) {
	used := map[string]bool{".": true}
	use := func(file string) {
		for dir := path.Dir(file); !used[dir]; dir = path.Dir(dir) {
			used[dir] = true
		}
	}
	for _, f := range w.files {
		use(f.Path)
	}
	for _, e := range w.refused {
		use(e.Path)
	}
	for _, dir := range w.dirs {
		if !used[dir] && used[path.Dir(dir)] {
			out = append(out, UnhashedEntry{dir, "an empty directory", fs.ModeDir})
		}
	}
	return out
}
