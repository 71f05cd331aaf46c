package hashfile

import (
	"path/filepath"
	"slices"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
)

// scope is what one call may use: the allowed directories as they are when it begins.
type scope struct {
	roots  []*root
	absent []absence // allowed directories that are not there
	narrow bool      // only what lies in within may be used
	within []string  // real paths of the client's roots, whether they narrow or not
	given  []string  // the same as the client wrote them
}

// close closes what the call opened.
func (s *scope) close() {
	for _, r := range s.roots {
		if r.dir != nil {
			r.dir.Close()
		}
	}
}

// outsideProblem is the refusal of an absolute path that is in no allowed directory. It does not mention
// directories that the client's roots hide.
func (s *scope) outsideProblem(asked, path string) *refusal.Refusal {
	for _, a := range s.absent {
		if _, ok := cutDir(a.given, path); ok && !s.narrow {
			return a.problem()
		}
	}
	return refusal.Outside(asked)
}

// findRoot returns the outermost allowed directory above path, by names alone, and the path from there;
// nil if there is none. It is the outermost, because the rules of a directory hold in another allowed
// one that lies in it too.
func (s *scope) findRoot(path string) (found *root, rel string) {
	for i, dir := range s.given {
		if rest, ok := cutDir(dir, path); ok {
			path = filepath.Join(s.within[i], rest)
			break
		}
	}
	for _, r := range s.roots {
		if rest, ok := cutDir(r.given, path); ok {
			path = filepath.Join(r.path, rest)
			break
		}
	}
	for _, r := range s.roots {
		if rest, ok := cutDir(r.path, path); ok && (found == nil || len(r.path) < len(found.path)) {
			found, rel = r, rest
		}
	}
	return found, rel
}

// holdsRoot reports whether an allowed directory has this real path, or one below it, or is
// named by such a path.
func (s *scope) holdsRoot(path string) bool {
	var all []string
	for _, r := range s.roots {
		all = append(all, r.path, r.given)
	}
	for _, a := range s.absent {
		all = append(all, a.given)
	}
	all = slices.Concat(all, s.within, s.given)
	return slices.ContainsFunc(all, func(dir string) bool { _, ok := cutDir(path, dir); return ok })
}

// permits reports whether a real path is in the client's roots.
func (s *scope) permits(path string) bool {
	if !s.narrow {
		return true
	}
	for _, dir := range s.within {
		if _, ok := cutDir(dir, path); ok {
			return true
		}
	}
	return false
}

// leadsToRoot reports whether a real path is in the client's roots or above one of them.
func (s *scope) leadsToRoot(path string) bool {
	if s.permits(path) {
		return true
	}
	for _, dir := range s.within {
		if _, ok := cutDir(path, dir); ok {
			return true
		}
	}
	return false
}

// directories are the real paths that may be used.
func (s *scope) directories() []string {
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
		if s.permits(r.path) {
			add(r.path)
			continue
		}
		for _, dir := range s.within {
			if _, ok := cutDir(r.path, dir); ok {
				add(dir)
			}
		}
	}
	return dirs
}
