package roots

import (
	"path/filepath"
	"slices"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
)

// scope is what one call may use: the allowed directories as they are when it begins.
type Scope struct {
	roots  []*Root
	absent []absence // allowed directories that are not there
	narrow bool      // only what lies in within may be used
	within []string  // real paths of the client's roots, whether they narrow or not
	given  []string  // the same as the client wrote them
}

// close closes what the call opened.
func (s *Scope) Close() {
	for _, r := range s.roots {
		if r.Dir != nil {
			r.Dir.Close()
		}
	}
}

// Absent returns the allowed directories that cannot be used at present, as far as a refusal may name them: none if
// the client's roots narrow the configured ones.
func (s *Scope) Absent() []absence {
	if s.narrow {
		return nil
	}
	return s.absent
}

// outsideProblem is the refusal of an absolute path that is in no allowed directory. It does not mention
// directories that the client's roots hide.
func (s *Scope) RefuseOutside(asked, path string) *refusal.Refusal {
	for _, a := range s.Absent() {
		if _, ok := CutDir(a.given, path); ok {
			return a.Refusal()
		}
	}
	return refusal.Outside(asked)
}

// findRoot returns the outermost allowed directory above path, by names alone, and the path from there;
// nil if there is none. It is the outermost, because the rules of a directory hold in another allowed
// one that lies in it too.
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

// holdsRoot reports whether an allowed directory has this real path, or one below it, or is
// named by such a path.
func (s *Scope) HoldsRoot(path string) bool {
	var all []string
	for _, r := range s.roots {
		all = append(all, r.Path, r.given)
	}
	for _, a := range s.absent {
		all = append(all, a.given)
	}
	all = slices.Concat(all, s.within, s.given)
	return slices.ContainsFunc(all, func(dir string) bool { _, ok := CutDir(path, dir); return ok })
}

// permits reports whether a real path is in the client's roots.
func (s *Scope) Permits(path string) bool {
	if !s.narrow {
		return true
	}
	for _, dir := range s.within {
		if _, ok := CutDir(dir, path); ok {
			return true
		}
	}
	return false
}

// leadsToRoot reports whether a real path is in the client's roots or above one of them.
func (s *Scope) LeadsToRoot(path string) bool {
	if s.Permits(path) {
		return true
	}
	for _, dir := range s.within {
		if _, ok := CutDir(path, dir); ok {
			return true
		}
	}
	return false
}

// directories are the real paths that may be used.
func (s *Scope) Directories() []string {
	var dirs []string
	add := func(dir string) {
		for _, d := range dirs {
			if d == dir {
				return
			}
		}
		dirs = append(dirs, dir)
	}
	for _, r := range s.roots {
		if s.Permits(r.Path) {
			add(r.Path)
			continue
		}
		for _, dir := range s.within {
			if _, ok := CutDir(r.Path, dir); ok {
				add(dir)
			}
		}
	}
	return dirs
}
