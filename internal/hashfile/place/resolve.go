package place

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// Resolve finds where a path leads, and refuses what lies outside the allowed directories or is forbidden. The path is
// absolute, a file URI, or relative to an allowed directory. The name need not exist, and if it does not, neither need
// directories above it. The caller closes the place.
func Resolve(s *Scope, asked string) (*Place, error) { return resolve(s, asked, false) }

// ResolveName is Resolve for a name itself: if a link has it, the place is the link's own, which is not followed.
func ResolveName(s *Scope, asked string) (*Place, error) { return resolve(s, asked, true) }

func resolve(s *Scope, asked string, name bool) (*Place, error) {
	if asked == "" || len(asked) > maxPath || strings.ContainsRune(asked, 0) {
		return nil, refuseNoPath(s, asked)
	}
	path := asked
	if strings.HasPrefix(path, "file:") {
		if local, ok := ParseFileURI(path); ok {
			path = local
		}
	}
	path = filepath.Clean(path)
	var p *Place
	var err error
	if filepath.IsAbs(path) {
		p, err = resolveAbsolute(s, asked, path, name)
	} else {
		p, err = resolveRelative(s, asked, path, name)
	}
	if err == nil && p.Info == nil {
		p.odd = oddness(s, asked)
	}
	return p, err
}

// refuseNoPath refuses a text that no file can have as its path.
func refuseNoPath(s *Scope, asked string) *Refusal {
	what := "a text with a NUL"
	switch {
	case asked == "":
		what = "an empty text"
	case len(asked) > maxPath:
		what = fmt.Sprintf("a text of %d bytes", len(asked))
	}
	return Refuse("invalid", "%s is no path; give a path in %s", what, allowed(s))
}

// resolveRelative resolves a path relative to the only allowed directory or, if there are several, to the only one in
// which something is there.
func resolveRelative(s *Scope, asked, path string, name bool) (*Place, error) {
	dirs := s.Directories()
	switch absent := s.Absent(); {
	case len(dirs) == 1:
		p, err := resolveAbsolute(s, asked, filepath.Join(dirs[0], path), name)
		if p != nil {
			p.base = dirs[0]
		}
		return p, err
	case len(dirs) == 0 && len(absent) == 1:
		return nil, absent[0].Refusal()
	case len(dirs) == 0:
		return nil, s.RefuseAll()
	}
	var found *Place
	var full []string
	var refused error
	for _, dir := range dirs {
		p, err := resolveAbsolute(s, asked, filepath.Join(dir, path), name)
		if err != nil { // forbidden, or leads out: not what is meant, if there is another one
			refused = err
			continue
		}
		if p.Info == nil {
			p.Close()
			continue
		}
		if full = append(full, p.Real()); found == nil {
			found = p
			continue
		}
		same := found.Real() == p.Real()
		if p.Close(); same {
			full = full[:len(full)-1]
		}
	}
	if len(full) == 1 {
		return found, nil
	}
	if found != nil {
		found.Close()
		return nil, Refuse("invalid", "%s is relative, and is in several allowed directories; give one of %s",
			Show(asked), Show(strings.Join(full, ", ")))
	}
	if refused != nil {
		return nil, refused
	}
	return nil, refuseRelative(s, asked, path)
}

// refuseRelative refuses a relative path of which there is nothing in any allowed directory.
func refuseRelative(s *Scope, asked, path string) *Refusal {
	dirs := s.Directories()
	if why := oddness(s, asked); why != "" {
		return Refuse("invalid", "%s %s", Show(asked), why)
	}
	first, rest, _ := strings.Cut(filepath.ToSlash(path), "/")
	for _, dir := range dirs {
		if filepath.Base(dir) == first {
			return Refuse("invalid", "%s is relative, and in none of the %d allowed directories; is it %s?",
				Show(asked), len(dirs), Show(filepath.Join(dir, rest)))
		}
	}
	return Refuse("invalid", "%s is relative, and in none of the %d allowed directories; give an absolute "+
		"path in %s", Show(asked), len(dirs), allowed(s))
}

// explainLink returns the error of a path that leads outside through a link as one that says so.
func explainLink(err error, asked string, links int) error {
	var r *Refusal
	if links > 0 && errors.As(err, &r) && r.Code == OutsideRoots {
		return Refuse(OutsideRoots, "%s is a link, or lies behind one, that leads outside the allowed directories; "+
			"give a path that does not", Show(asked))
	}
	return err
}

// resolveAbsolute resolves an absolute path.
func resolveAbsolute(s *Scope, asked, abs string, name bool) (*Place, error) {
	for links := 0; ; {
		w := walk{scope: s, asked: asked, name: name, links: links}
		next, err := w.walkFrom(abs)
		if next == "" || err != nil {
			if err != nil {
				w.close()
				return nil, explainLink(err, asked, links)
			}
			return &w.Place, nil
		}
		w.close()
		abs, links = next, w.links
	}
}
