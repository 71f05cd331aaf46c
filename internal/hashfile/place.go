package hashfile

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

// maxPath is the length of a path, in bytes.
const maxPath = 4096

// place is where a path leads: a name in a directory that is held open.
type place struct {
	asked   string // as the caller wrote it
	root    *roots.Root
	rel     string     // from the root, without links, with slashes; "." is the root itself
	chain   []*os.Root // the directories from the root to the one that holds the name
	name    string     // its last element
	info    fs.FileInfo
	missing []string // what follows the name, if that is missing, too
	rules   rules.Sets
}

// real is the absolute path without links.
func (p *place) real() string { return filepath.Join(p.root.Path, filepath.FromSlash(p.rel)) }

// parent returns the open directory that holds the name.
func (p *place) parent() *os.Root { return p.chain[len(p.chain)-1] }

// snapshotKey returns the key for snapshots of the file: its path in this directory, which another
// directory that has the root's path before or after does not share.
func (p *place) snapshotKey() snapshotKey { return snapshotKey{p.root.Identity, p.rel} }

// checkUnmoved fails if a directory on the way has another place than when it was opened: nothing is
// written to a directory that was moved out of an allowed one meanwhile.
func (p *place) checkUnmoved() error {
	names := names.Elements(p.rel)
	ok := p.root.IsUnmoved()
	for i := 1; ok && i < len(p.chain); i++ {
		opened, err := p.chain[i].Stat(".")
		now, err2 := p.chain[i-1].Lstat(names[i-1])
		ok = err == nil && err2 == nil && os.SameFile(opened, now)
	}
	if !ok {
		return refusal.New(refusal.IO, "a directory above %s was replaced meanwhile, and nothing was written; try again",
			refusal.Show(p.asked))
	}
	return nil
}

func (p *place) close() {
	for _, d := range p.chain[1:] { // the first is the root's own
		d.Close()
	}
}

// checkExists fails if nothing is at the place.
func (p *place) checkExists() error {
	if p.info == nil {
		return refusal.New(refusal.NotFound, "%s does not exist", refusal.Show(p.asked))
	}
	return nil
}

// resolve finds where a path leads, and refuses what leads out of the allowed
// directories or is forbidden. The name need not exist, nor, then, directories above it.
// The caller closes the place.
func resolve(s *roots.Scope, asked string) (*place, error) {
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
			return nil, refusal.New("invalid", "%s is relative, and there are %d allowed directories; give an absolute path",
				refusal.Show(asked), len(dirs))
		}
		abs = filepath.Join(dirs[0], abs)
	}
	for links := 0; ; {
		w := walk{scope: s, asked: asked, links: links}
		next, err := w.walkFrom(abs)
		if next == "" || err != nil {
			if err != nil {
				w.close()
				return nil, err
			}
			return &w.place, nil
		}
		w.close()
		abs, links = next, w.links
	}
}

// walk is one way from an allowed directory downwards.
type walk struct {
	place
	scope *roots.Scope
	asked string
	links int
	names []string // of the directories below the root
}

func (w *walk) close() {
	if len(w.chain) > 0 {
		w.place.close()
	}
}

// walkFrom walks to the absolute path abs. Next is where a link out of the directory leads,
// to be looked up anew.
func (w *walk) walkFrom(abs string) (next string, err error) {
	r, rest := w.scope.FindRoot(abs)
	if r == nil {
		return "", w.scope.RefuseOutside(w.asked, abs)
	}
	if err := r.Open(); err != nil {
		return "", err
	}
	w.place.asked, w.root, w.chain = w.asked, r, []*os.Root{r.Dir}
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
			w.parent().Close()
			w.chain = w.chain[:len(w.chain)-1]
			w.names = w.names[:len(w.names)-1]
			w.rules = w.rules[:len(w.chain)]
			continue
		}
		info, err := w.parent().Lstat(name)
		if err == nil {
			name = names.OnDisk(w.parent(), name, info)
		}
		w.rel = path.Join(append(w.names, name)...)
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
			w.missing = todo
			w.rel = path.Join(append([]string{w.rel}, todo...)...)
			return "", w.arrive(name, nil)
		case err != nil:
			return "", refusal.Of(w.asked, err)
		case info.Mode()&fs.ModeSymlink != 0:
			if w.links++; w.links > maxLinks {
				return "", refusal.New(refusal.NotFound, "%s leads through more than %d links", refusal.Show(w.asked), maxLinks)
			}
			target, err := w.parent().Readlink(name)
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
			return "", refusal.New(refusal.NotFound, "%s does not exist: something above it is not a directory", refusal.Show(w.asked))
		default:
			if err := w.descend(name); err != nil {
				return "", err
			}
		}
	}
}

// descend opens a directory.
func (w *walk) descend(name string) error {
	dir, err := openDir(w.parent(), name)
	if err != nil {
		return refusal.Of(w.asked, err)
	}
	w.chain = append(w.chain, dir)
	w.names = append(w.names, name)
	w.enter()
	return nil
}

// openDir opens the directory of a name that is no link. The comparison is made while it
// is open, as the system gives the numbers of removed files to new ones.
func openDir(parent *os.Root, name string) (*os.Root, error) {
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
	if len(w.rules) == 0 {
		w.rules = rules.Sets{rules.ReadRoot(w.parent(), w.root.Path)}
		return
	}
	w.rules = append(w.rules, rules.Read(w.parent(), path.Join(w.names...)))
}

// checkAllowed fails if rules forbid the path so far, or if it leads to no root of the client.
func (w *walk) checkAllowed() error {
	if !w.scope.LeadsToRoot(w.real()) {
		return refusal.Outside(w.asked)
	}
	if file, ok := w.rules.Forbids(w.rel); ok {
		return refusal.New(refusal.Forbidden, "%s is forbidden by %s", refusal.Show(w.asked), refusal.Show(file))
	}
	return nil
}

// arrive ends the walk at name in the last directory; "." is that directory itself.
func (w *walk) arrive(name string, info fs.FileInfo) error {
	if name == "." { // the last directory itself
		var err error
		if info, err = w.parent().Stat("."); err != nil {
			return refusal.Of(w.asked, err)
		}
		w.rel = path.Join(append([]string{"."}, w.names...)...)
		if n := len(w.names); n > 0 {
			name = w.names[n-1]
			w.parent().Close()
			w.chain = w.chain[:n]
			w.rules = w.rules[:n]
		}
	}
	w.name, w.info = name, info
	if err := w.checkAllowed(); err != nil {
		return err
	}
	if !w.scope.Permits(w.real()) {
		return refusal.Outside(w.asked)
	}
	return nil
}
