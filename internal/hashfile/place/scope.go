package place

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Scope is what one call may use: the allowed directories as they are when it begins.
type Scope struct {
	roots  []*Root
	absent []Absence // allowed directories that are not there
	narrow bool      // only what lies in within may be used: the client's roots narrow the configured ones
	within []string  // real paths of the client's roots, whether they narrow or not
	given  []string  // the same as the client wrote them
	links  []string  // the links on the way from one to the other
	cut    bool      // the client lists more roots than are used
}

// Close closes the directories that the call opened.
func (s *Scope) Close() {
	for _, r := range s.roots {
		if r.Dir != nil {
			r.Dir.Close()
		}
	}
}

// Absent returns the allowed directories that cannot be used at present, as far as a refusal may name them: none if
// the client's roots narrow the configured ones.
func (s *Scope) Absent() []Absence {
	if s.narrow {
		return nil
	}
	return s.absent
}

// RefuseOutside returns the refusal of an absolute path that is in no allowed directory. It does not mention
// directories that the client's roots hide. Asked is the path as the caller wrote it.
func (s *Scope) RefuseOutside(asked, path string) *Refusal {
	for _, a := range s.Absent() {
		if isWithin(a.given, path) {
			return a.Refusal()
		}
	}
	if len(s.Directories()) == 0 {
		return s.RefuseAll()
	}
	return s.tellCut(refuseOutside(asked, s.Directories()))
}

// tellCut adds to a refusal that the client listed more roots than count, if it did.
func (s *Scope) tellCut(r *Refusal) *Refusal {
	if s.cut {
		r.Message += fmt.Sprintf("; of the client's roots only the first %d count", maxClientRoots)
	}
	return r
}

// RefuseAll returns the refusal of every path, for a call that may use no directory.
func (s *Scope) RefuseAll() *Refusal { return s.tellCut(s.refuseAll()) }

func (s *Scope) refuseAll() *Refusal {
	switch {
	case s.narrow && len(s.within) == 0:
		return Refuse(OutsideRoots, "no directory is allowed: the server was started with --root, but "+
			"the client offers roots, which narrow that, and lists none that is a directory of this machine; have the "+
			"client list a directory of --root, or offer no roots")
	case s.narrow:
		return Refuse(OutsideRoots, "no directory is allowed: the server was started with --root, which "+
			"the client's roots narrow, and none of these (%s) lies in it", Show(strings.Join(s.given, ", ")))
	}
	return Refuse(OutsideRoots, "no directory is allowed: the client lists no root that is a directory of "+
		"this machine, and the server was started without --root; start it with --root DIR")
}

// FindRoot returns the outermost allowed directory above path, by names alone, and the path from there; nil if there
// is none. It returns the outermost one, because the rules of a directory apply also in another allowed directory that
// lies in it.
func (s *Scope) FindRoot(path string) (found *Root, rel string) {
	for i, dir := range s.given {
		if rest, ok := CutDir(dir, path); ok {
			path = filepath.Join(s.within[i], rest)
			break
		}
	}
	for _, r := range s.roots {
		if rest, ok := CutDir(r.given, path); ok {
			path = filepath.Join(r.Path, rest)
			break
		}
	}
	for _, r := range s.roots {
		if rest, ok := CutDir(r.Path, path); ok && (found == nil || len(r.Path) < len(found.Path)) {
			found, rel = r, rest
		}
	}
	return found, rel
}

// HoldsRoot reports whether an allowed directory has this real path or lies below it, is named by such a path, or is
// led to by a link there.
func (s *Scope) HoldsRoot(path string) bool {
	var all []string
	for _, r := range s.roots {
		all = append(append(all, r.Path, r.given), r.links...)
	}
	for _, a := range s.absent {
		all = append(all, a.given)
	}
	all = slices.Concat(all, s.within, s.given, s.links)
	return slices.ContainsFunc(all, func(dir string) bool { return isWithin(path, dir) })
}

// Permits reports whether a real path is in the client's roots, or these narrow nothing.
func (s *Scope) Permits(path string) bool {
	return !s.narrow || slices.ContainsFunc(s.within, func(dir string) bool { return isWithin(dir, path) })
}

// LeadsToRoot reports whether Permits does for a real path or for one below it.
func (s *Scope) LeadsToRoot(path string) bool {
	return s.Permits(path) || slices.ContainsFunc(s.within, func(dir string) bool { return isWithin(path, dir) })
}

// Directories returns the real paths of the directories that may be used.
func (s *Scope) Directories() (dirs []string) {
	for _, r := range s.roots {
		usable := []string{r.Path}
		if !s.Permits(r.Path) {
			usable = slices.DeleteFunc(slices.Clone(s.within), func(dir string) bool { return !isWithin(r.Path, dir) })
		}
		for _, dir := range usable {
			if !slices.Contains(dirs, dir) {
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs
}
