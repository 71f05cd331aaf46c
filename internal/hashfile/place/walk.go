package place

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"golang.org/x/text/unicode/norm"

	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// walk resolves a path from an allowed directory downwards.
type walk struct {
	Place
	scope *Scope
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
	r, rest, err := w.begin(abs)
	if err != nil {
		return "", err
	}
	todo := SplitPath(rest)
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
			w.ascend()
			continue
		}
		var info fs.FileInfo
		name, info, err = w.find(name)
		w.Rel = path.Join(append(w.names, name)...)
		if err := w.checkAllowed(); err != nil {
			return "", err
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return "", w.arriveMissing(name, todo)
		case err != nil:
			return "", RefusalOf(w.asked, err)
		case info.Mode()&fs.ModeSymlink != 0 && !(w.name && len(todo) == 0):
			target, err := w.readLink(name)
			if err != nil {
				return "", err
			}
			if filepath.IsAbs(target) {
				return filepath.Join(append([]string{target}, todo...)...), nil
			}
			todo = append(SplitPath(target), todo...)
		case len(todo) == 0:
			return "", w.arrive(name, info)
		case !info.IsDir():
			return "", Refuse(NotFound, "%s does not exist: something above it is not a directory", Show(w.asked))
		default:
			if err := w.descend(name); err != nil {
				return "", err
			}
		}
	}
}

// begin enters the allowed directory that holds an absolute path. rest is the path below it.
func (w *walk) begin(abs string) (r *Root, rest string, err error) {
	r, rest = w.scope.FindRoot(abs)
	if r == nil {
		return nil, "", w.scope.RefuseOutside(w.asked, abs)
	}
	if err := r.Open(); err != nil {
		return nil, "", err
	}
	w.Place.Asked, w.Root, w.chain = w.asked, r, []*os.Root{r.Dir}
	w.enter()
	return r, rest, nil
}

// ascend goes back to the directory above.
func (w *walk) ascend() {
	w.Parent().Close()
	w.chain = w.chain[:len(w.chain)-1]
	w.names = w.names[:len(w.names)-1]
	w.Rules = w.Rules[:len(w.chain)]
}

// find looks at a name in the directory that was reached, and returns it as the file system spells it.
func (w *walk) find(name string) (string, fs.FileInfo, error) {
	info, err := w.Parent().Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		if other := composedAs(w.Parent(), name); other != "" {
			name = other
			info, err = w.Parent().Lstat(name)
		}
	}
	if err == nil {
		name = onDisk(w.Parent(), name, info)
	}
	return name, info, err
}

// arriveMissing ends the walk at a name that does not exist, with those that were to follow.
func (w *walk) arriveMissing(name string, todo []string) error {
	if slices.Contains(todo, "..") {
		return Refuse(NotFound, "%s does not exist", Show(w.asked))
	}
	w.Missing = todo
	w.Rel = path.Join(append([]string{w.Rel}, todo...)...)
	return w.arrive(name, nil)
}

// readLink returns where a link leads.
func (w *walk) readLink(name string) (string, error) {
	if w.links++; w.links > maxLinks {
		return "", Refuse(NotFound, "%s leads through more than %d links", Show(w.asked),
			maxLinks)
	}
	target, err := w.Parent().Readlink(name)
	if err != nil {
		return "", RefusalOf(w.asked, err)
	}
	return target, nil
}

// composedAs returns the only name in a directory that is another one once both are composed; "" if there is none, or
// several. File names that came from macOS are decomposed, and few clients can write them so.
func composedAs(dir *os.Root, name string) (found string) {
	if spelling.IsASCII(name) {
		return ""
	}
	d, err := dir.Open(".")
	if err != nil {
		return ""
	}
	defer d.Close()
	for {
		entries, err := d.ReadDir(1000)
		for _, e := range entries {
			if other := e.Name(); !spelling.IsASCII(other) && norm.NFC.String(other) == norm.NFC.String(name) {
				if found != "" {
					return ""
				}
				found = other
			}
		}
		if err != nil {
			return found
		}
	}
}

// descend opens the directory of a name, one further down.
func (w *walk) descend(name string) error {
	dir, err := OpenDir(w.Parent(), name)
	if err != nil {
		return RefusalOf(w.asked, err)
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
			err = Refuse(IO, "%s was replaced while it was opened; try again", Show(name))
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
		w.Rules = readRootRules(w.Parent(), w.Root.Path)
		return
	}
	w.Rules = w.Rules.Enter(w.Parent(), path.Join(w.names...))
}

// checkAllowed fails if rules forbid the path so far, or if it leads to none of the client's roots.
func (w *walk) checkAllowed() error {
	if !w.scope.LeadsToRoot(w.Real()) {
		return w.scope.RefuseOutside(w.asked, w.Real())
	}
	if file, ok := w.Rules.Forbids(w.Rel); ok {
		return Refuse(Forbidden, "%s is forbidden by %s", Show(w.asked), Show(file))
	}
	return nil
}

// arrive ends the walk at name in the last directory; "." is that directory itself.
func (w *walk) arrive(name string, info fs.FileInfo) error {
	if name == "." { // the last directory itself
		var err error
		if info, err = w.Parent().Stat("."); err != nil {
			return RefusalOf(w.asked, err)
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
	w.listable = w.scope.Permits(w.Directory())
	if !w.scope.Permits(w.Real()) {
		return w.scope.RefuseOutside(w.asked, w.Real())
	}
	return nil
}
