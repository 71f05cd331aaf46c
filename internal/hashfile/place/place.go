// Package place finds where a path leads, for the tools of the editing server.
//
// A path is resolved here, element by element, from the handle of an allowed directory. Links are read and followed by
// this package; each directory on the way is opened below the one before it (os.Root) and compared with the one that
// was looked at; and the last element is opened without following a link, without blocking, and must be a regular file
// by fstat. So what was checked is what is used, whatever is renamed or replaced meanwhile: no path is resolved a
// second time.
//
// # Limits
//
// A hard link to a forbidden file is a file of its own name.
package place

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/names"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/roots"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/rules"
)

// maxLinks is how many links a path may lead through.
const maxLinks = 40

// maxPath is the greatest length of a path, in bytes.
const maxPath = 4096

// Place is where a path leads: a name in a directory that is held open.
type Place struct {
	Asked   string // the path as the caller wrote it
	Root    *roots.Root
	Rel     string      // from the root, without links, with slashes; "." is the root itself
	chain   []*os.Root  // open directories, from the root to the one that holds the name
	Name    string      // the last element of Rel
	Info    fs.FileInfo // what has the name; nil if nothing has
	Missing []string    // the elements after the name, if nothing has the name
	Rules   rules.Sets  // of the directories in chain
}

// Real returns the absolute path without links.
func (p *Place) Real() string { return filepath.Join(p.Root.Path, filepath.FromSlash(p.Rel)) }

// Parent returns the open directory that holds the name.
func (p *Place) Parent() *os.Root { return p.chain[len(p.chain)-1] }

// In returns the place of a name in an open directory that belongs to no scope. Info describes what the caller found
// there.
func In(dir *os.Root, name string, info fs.FileInfo) *Place {
	return &Place{Asked: name, chain: []*os.Root{dir}, Name: name, Info: info}
}

// Below returns the place of an entry that a walk below p visits in dir. Rel is its path from the root, info describes
// it, and sets are the rules of dir.
func (p *Place) Below(dir *os.Root, rel string, info fs.FileInfo, sets rules.Sets) *Place {
	return &Place{Asked: filepath.Join(p.Root.Path, filepath.FromSlash(rel)), Root: p.Root, Rel: rel,
		chain: []*os.Root{dir}, Name: path.Base(rel), Info: info, Rules: sets}
}

// Sibling returns the place of another name in the same directory. Its Info is that of p until the caller sets it.
func (p *Place) Sibling(name string) *Place {
	other := *p
	other.Name, other.Rel = name, path.Join(path.Dir(p.Rel), name)
	return &other
}

// Directory returns the real path of the directory that Parent returns, the deepest one on the way that exists.
func (p *Place) Directory() string {
	above := names.Elements(p.Rel)[:len(p.chain)-1]
	return filepath.Join(p.Root.Path, filepath.Join(above...))
}

// CheckUnmoved fails if a directory on the way no longer has the path at which it was opened. It is called before
// writing, so that nothing is written to a directory that was moved out of an allowed one meanwhile.
func (p *Place) CheckUnmoved() error {
	names := names.Elements(p.Rel)
	ok := p.Root.IsUnmoved()
	for i := 1; ok && i < len(p.chain); i++ {
		opened, err := p.chain[i].Stat(".")
		now, err2 := p.chain[i-1].Lstat(names[i-1])
		ok = err == nil && err2 == nil && os.SameFile(opened, now)
	}
	if !ok {
		return refusal.New(refusal.IO,
			"a directory above %s was replaced meanwhile, and nothing was written; try again",
			refusal.Show(p.Asked))
	}
	return nil
}

// Close closes the directories that the place holds open, except that of the root.
func (p *Place) Close() {
	for _, d := range p.chain[1:] { // the first is the root's own
		d.Close()
	}
}

// CheckExists fails if nothing is at the place.
func (p *Place) CheckExists() error {
	if p.Info == nil {
		return refusal.New(refusal.NotFound, "%s does not exist", refusal.Show(p.Asked))
	}
	return nil
}

// Resolve finds where a path leads, and refuses what lies outside the allowed directories or is forbidden. The name
// need not exist, and if it does not, neither need directories above it. The caller closes the place.
func Resolve(s *roots.Scope, asked string) (*Place, error) { return resolve(s, asked, false) }

// ResolveName is Resolve for a name itself: if a link has it, the place is that of the link, which is not followed.
func ResolveName(s *roots.Scope, asked string) (*Place, error) { return resolve(s, asked, true) }

func resolve(s *roots.Scope, asked string, name bool) (*Place, error) {
	if asked == "" || len(asked) > maxPath || strings.ContainsRune(asked, 0) {
		return nil, refusal.New("invalid", "%s is no path", refusal.Show(asked))
	}
	abs := filepath.Clean(asked)
	if !filepath.IsAbs(abs) {
		dirs := s.Directories()
		if absent := s.Absent(); len(dirs) == 0 && len(absent) == 1 {
			return nil, absent[0].Refusal()
		}
		if len(dirs) != 1 {
			return nil, refusal.New("invalid",
				"%s is relative, and there are %d allowed directories; give an absolute path",
				refusal.Show(asked), len(dirs))
		}
		abs = filepath.Join(dirs[0], abs)
	}
	for links := 0; ; {
		w := walk{scope: s, asked: asked, name: name, links: links}
		next, err := w.walkFrom(abs)
		if next == "" || err != nil {
			if err != nil {
				w.close()
				return nil, err
			}
			return &w.Place, nil
		}
		w.close()
		abs, links = next, w.links
	}
}

// walk resolves a path from an allowed directory downwards.
type walk struct {
	Place
	scope *roots.Scope
	asked string
	name  bool // a link that has the last name is not followed
	links int
	names []string // of the directories below the root
}

func (w *walk) close() {
	if len(w.chain) > 0 {
		w.Place.Close()
	}
}

// walkFrom walks to the absolute path abs. If a link leads out of the directory, next is the path to resolve instead.
func (w *walk) walkFrom(abs string) (next string, err error) {
	r, rest := w.scope.FindRoot(abs)
	if r == nil {
		return "", w.scope.RefuseOutside(w.asked, abs)
	}
	if err := r.Open(); err != nil {
		return "", err
	}
	w.Place.Asked, w.Root, w.chain = w.asked, r, []*os.Root{r.Dir}
	w.enter()
	todo := names.Elements(rest)
	for {
		if len(todo) == 0 {
			return "", w.arrive(".", nil)
		}
		name := todo[0]
		todo = todo[1:]
		if name == ".." {
			if len(w.names) == 0 {
				return filepath.Join(append([]string{filepath.Dir(r.Path)}, todo...)...), nil
			}
			w.Parent().Close()
			w.chain = w.chain[:len(w.chain)-1]
			w.names = w.names[:len(w.names)-1]
			w.Rules = w.Rules[:len(w.chain)]
			continue
		}
		info, err := w.Parent().Lstat(name)
		if err == nil {
			name = names.OnDisk(w.Parent(), name, info)
		}
		w.Rel = path.Join(append(w.names, name)...)
		if err := w.checkAllowed(); err != nil {
			return "", err
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			for _, n := range todo {
				if n == ".." {
					return "", refusal.New(refusal.NotFound, "%s does not exist", refusal.Show(w.asked))
				}
			}
			w.Missing = todo
			w.Rel = path.Join(append([]string{w.Rel}, todo...)...)
			return "", w.arrive(name, nil)
		case err != nil:
			return "", refusal.Of(w.asked, err)
		case info.Mode()&fs.ModeSymlink != 0 && !(w.name && len(todo) == 0):
			if w.links++; w.links > maxLinks {
				return "", refusal.New(refusal.NotFound, "%s leads through more than %d links", refusal.Show(w.asked),
					maxLinks)
			}
			target, err := w.Parent().Readlink(name)
			if err != nil {
				return "", refusal.Of(w.asked, err)
			}
			if filepath.IsAbs(target) {
				return filepath.Join(append([]string{target}, todo...)...), nil
			}
			todo = append(names.Elements(target), todo...)
		case len(todo) == 0:
			return "", w.arrive(name, info)
		case !info.IsDir():
			return "", refusal.New(refusal.NotFound, "%s does not exist: something above it is not a directory",
				refusal.Show(w.asked))
		default:
			if err := w.descend(name); err != nil {
				return "", err
			}
		}
	}
}

// descend opens the directory of a name, one further down.
func (w *walk) descend(name string) error {
	dir, err := OpenDir(w.Parent(), name)
	if err != nil {
		return refusal.Of(w.asked, err)
	}
	w.chain = append(w.chain, dir)
	w.names = append(w.names, name)
	w.enter()
	return nil
}

// OpenDir opens the directory of a name that is not a link. The two are compared while the directory is open, because
// the system gives the inode numbers of removed files to new ones.
func OpenDir(parent *os.Root, name string) (*os.Root, error) {
	dir, err := parent.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	opened, err := dir.Stat(".")
	if err == nil && name != "." {
		var now fs.FileInfo
		if now, err = parent.Lstat(name); err == nil && !os.SameFile(opened, now) {
			err = refusal.New(refusal.IO, "%s was replaced while it was opened; try again", refusal.Show(name))
		}
	}
	if err != nil {
		dir.Close()
		return nil, err
	}
	return dir, nil
}

// enter reads the rules of the directory that was just opened.
func (w *walk) enter() {
	if len(w.Rules) == 0 {
		w.Rules = rules.Sets{rules.ReadRoot(w.Parent(), w.Root.Path)}
		return
	}
	w.Rules = append(w.Rules, rules.Read(w.Parent(), path.Join(w.names...)))
}

// checkAllowed fails if rules forbid the path so far, or if it leads to none of the client's roots.
func (w *walk) checkAllowed() error {
	if !w.scope.LeadsToRoot(w.Real()) {
		return refusal.Outside(w.asked)
	}
	if file, ok := w.Rules.Forbids(w.Rel); ok {
		return refusal.New(refusal.Forbidden, "%s is forbidden by %s", refusal.Show(w.asked), refusal.Show(file))
	}
	return nil
}

// arrive ends the walk at name in the last directory; "." is that directory itself.
func (w *walk) arrive(name string, info fs.FileInfo) error {
	if name == "." { // the last directory itself
		var err error
		if info, err = w.Parent().Stat("."); err != nil {
			return refusal.Of(w.asked, err)
		}
		w.Rel = path.Join(append([]string{"."}, w.names...)...)
		if n := len(w.names); n > 0 {
			name = w.names[n-1]
			w.Parent().Close()
			w.chain = w.chain[:n]
			w.Rules = w.Rules[:n]
		}
	}
	w.Name, w.Info = name, info
	if err := w.checkAllowed(); err != nil {
		return err
	}
	if !w.scope.Permits(w.Real()) {
		return refusal.Outside(w.asked)
	}
	return nil
}
