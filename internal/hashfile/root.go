package hashfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// root is an allowed directory, held open.
type root struct {
	given string // absolute, as it was given
	path  string // without links
	dir   *os.Root
}

func openRoot(dir string) (*root, error) {
	if dir == "" { // as of a variable that is not set; it would be the current one
		return nil, errors.New("an allowed directory has an empty name")
	}
	given, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(given)
	if err != nil {
		return nil, fmt.Errorf("allowed directory %s: %w", show(dir), cause(err))
	}
	r, err := os.OpenRoot(real)
	if err != nil {
		return nil, fmt.Errorf("allowed directory %s: %w", show(dir), cause(err))
	}
	return &root{given: given, path: real, dir: r}, nil
}

// cause leaves out the path of a system's error, which is told in another form.
func cause(err error) error {
	if p, ok := err.(*os.PathError); ok {
		return p.Err
	}
	return err
}

// below returns path relative to dir, if it is dir or lies below it. Both are absolute
// and clean.
func below(dir, path string) (rel string, ok bool) {
	if path == dir {
		return ".", true
	}
	if !strings.HasSuffix(dir, string(filepath.Separator)) {
		dir += string(filepath.Separator)
	}
	return strings.CutPrefix(path, dir)
}

// scope is what one call may use.
type scope struct {
	roots  []*root
	narrow bool     // only what lies in within may be used
	within []string // real paths of the client's roots, whether they narrow or not
	given  []string // the same as the client wrote them
}

// find is the outermost allowed directory that path is in by its name alone: rules of a
// directory hold in another one that lies in it, too.
func (s *scope) find(path string) (found *root, rel string) {
	for i, dir := range s.given {
		if rest, ok := below(dir, path); ok {
			path = filepath.Join(s.within[i], rest)
			break
		}
	}
	for _, r := range s.roots {
		if rest, ok := below(r.given, path); ok {
			path = filepath.Join(r.path, rest)
			break
		}
	}
	for _, r := range s.roots {
		if rest, ok := below(r.path, path); ok && (found == nil || len(r.path) < len(found.path)) {
			found, rel = r, rest
		}
	}
	return found, rel
}

// holds reports whether an allowed directory has this real path, or one below it.
func (s *scope) holds(path string) bool {
	for _, r := range s.roots {
		if _, ok := below(path, r.path); ok {
			return true
		}
	}
	for _, dir := range s.within {
		if _, ok := below(path, dir); ok {
			return true
		}
	}
	return false
}

// permits reports whether a real path is in the client's roots.
func (s *scope) permits(path string) bool {
	if !s.narrow {
		return true
	}
	for _, dir := range s.within {
		if _, ok := below(dir, path); ok {
			return true
		}
	}
	return false
}

// leads reports whether a real path is in the client's roots or above one of them.
func (s *scope) leads(path string) bool {
	if s.permits(path) {
		return true
	}
	for _, dir := range s.within {
		if _, ok := below(path, dir); ok {
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
			if _, ok := below(r.path, dir); ok {
				add(dir)
			}
		}
	}
	return dirs
}
