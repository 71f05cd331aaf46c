package hashfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/names"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
)

// namedRoot is an allowed directory as the user or client named it: a path. Each call looks up anew
// which directory has the path, so that one which was moved away is not used any longer, and the one
// in its place is.
type namedRoot struct {
	given  string // absolute
	agreed string // the real path that it had when it was named; "" if it led nowhere

	through []string // where the links lay that it went through then

	mu     sync.Mutex
	latest *directory
	closed bool
}

// directory identifies a directory for as long as it exists; another one of the same path is not equal.
// It is held open only so that the system does not give its inode number to a new directory; no file
// is reached through it.
type directory struct {
	held *os.Root
	info fs.FileInfo
}

// nameRoot names an allowed directory.
func nameRoot(path string) (*namedRoot, error) {
	if path == "" { // as of a variable that is not set; it would be the current one
		return nil, errors.New("an allowed directory has an empty name")
	}
	given, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	n := &namedRoot{given: given}
	if n.agreed, n.through, err = followPath(given); err != nil {
		return n, fmt.Errorf("allowed directory %s: %w", refusal.Show(path), refusal.Cause(err))
	}
	return n, nil
}

// directoryOf tells whether an open directory is the one that was opened last.
func (n *namedRoot) directoryOf(dir *os.Root, info fs.FileInfo) *directory {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.latest != nil && os.SameFile(n.latest.info, info) {
		return n.latest
	}
	d := &directory{info: info}
	if held, err := dir.OpenRoot("."); err == nil && !n.closed {
		n.release()
		d.held, n.latest = held, d
	} else if err == nil {
		held.Close()
	}
	return d
}

// release lets go of the directory that was opened last. n.mu is held.
func (n *namedRoot) release() {
	if n.latest != nil {
		n.latest.held.Close()
		n.latest = nil
	}
}

// close releases the directory; a call that still uses the root goes on.
func (n *namedRoot) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.release()
	n.closed = true
}

// root is an allowed directory as one call finds it.
type root struct {
	given string // absolute, as it was given
	path  string // without links
	name  *namedRoot
	dir   *os.Root // nil until the call needs it
	info  fs.FileInfo
	is    *directory
}

// openRoot opens the directory of a path without links.
func openRoot(path string) (*root, error) {
	r := &root{given: path, path: path, name: &namedRoot{given: path, closed: true}}
	return r, r.open()
}

// open opens the directory that has the root's path now, once for a call. Nothing on the
// path is a link by then, or it would be another path.
func (r *root) open() error {
	if r.dir != nil {
		return nil
	}
	for range openTries {
		dir, err := os.OpenRoot(r.path)
		if err != nil {
			return r.absentProblem(err)
		}
		info, err := dir.Stat(".")
		if err == nil {
			var now fs.FileInfo
			if now, err = statDirect(r.path); err == nil && os.SameFile(info, now) {
				r.dir, r.info, r.is = dir, info, r.name.directoryOf(dir, info)
				return nil
			}
		}
		dir.Close()
	}
	return refusal.New(refusal.IO, "the allowed directory %s was replaced while it was opened; try again", refusal.Show(r.path))
}

// isUnmoved reports whether the directory that was opened still has the root's path.
func (r *root) isUnmoved() bool {
	now, err := statDirect(r.path)
	return err == nil && os.SameFile(now, r.info)
}

func (r *root) absentProblem(err error) error { return absence{r.given, err}.problem() }

// absence is an allowed directory that cannot be used at present.
type absence struct {
	given string
	why   error
}

func (a absence) problem() *refusal.Refusal {
	return refusal.New(refusal.NotFound, "the allowed directory %s cannot be used at present (%s); it is looked for again at each call", refusal.Show(a.given), refusal.Show(refusal.Cause(a.why).Error()))
}

// maxRootLinks is how many links the path of an allowed directory may lead through.
const maxRootLinks = 255

// followPath finds where an absolute path of a directory leads now, and where the links lie that
// it goes through, without links themselves.
func followPath(given string) (real string, links []string, err error) {
	volume := filepath.VolumeName(given)
	at, todo := volume+string(filepath.Separator), names.Elements(given[len(volume):])
	info, err := os.Lstat(at)
	for ; err == nil && len(todo) > 0; todo = todo[1:] {
		if todo[0] == ".." {
			at = filepath.Dir(at)
			info, err = os.Lstat(at)
			continue
		}
		next := filepath.Join(at, todo[0])
		if info, err = os.Lstat(next); err != nil {
			break
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		if links = append(links, next); len(links) > maxRootLinks {
			return "", nil, fmt.Errorf("it leads through more than %d links", maxRootLinks)
		}
		target, err := os.Readlink(next)
		if err != nil {
			return "", nil, err
		}
		if filepath.IsAbs(target) {
			volume = filepath.VolumeName(target)
			at, target = volume+string(filepath.Separator), target[len(volume):]
		}
		if info, err = os.Lstat(at); err != nil {
			return "", nil, err
		}
		todo = slices.Concat(todo[:1], names.Elements(target), todo[1:])
	}
	switch {
	case err != nil:
		return "", nil, err
	case !info.IsDir():
		return "", nil, syscall.ENOTDIR
	case runtime.GOOS == "windows": // in the letter case of the disk, and without short names
		at, err = filepath.EvalSymlinks(at)
	}
	return at, links, err
}

// statWalked is Lstat of a path that had no links; it fails if there is a link on it by now. A link that
// comes and goes between its two steps is not seen.
func statWalked(path string) (fs.FileInfo, error) {
	if real, _, err := followPath(path); err != nil || real != path {
		return nil, errors.Join(err, errReplaced)
	}
	return os.Lstat(path)
}

// errLedElsewhere says why an allowed directory is not used: see settle.
var errLedElsewhere = errors.New("its path goes through a link that was not there when it was named, or that is content of a checkout, and leads elsewhere than it did then; start the server again to agree to that")

// settleRoots looks up where named directories lead now. Whoever names a path with a link in it
// agrees to what that leads to, also later, as links are there to be changed. But what was a
// directory and is a link now is not what was named; and a link that lies in another of these
// directories, or in the work tree of a repository, is content, which a checkout may have
// brought along. Neither may make an allowed directory of what nobody named: such a link is
// believed only as far as it leads where the path did when it was named.
func settleRoots(named []*namedRoot) (roots []*root, absent []absence) {
	var links [][]string
	var found []*root
	for _, n := range named {
		path, through, err := followPath(n.given)
		if err != nil {
			absent = append(absent, absence{n.given, err})
			continue
		}
		found, links = append(found, &root{given: n.given, path: path, name: n}), append(links, through)
	}
	for i, r := range found {
		content := func(link string) bool {
			return !slices.Contains(r.name.through, link) || names.InWorkTree(link) ||
				slices.ContainsFunc(found, func(other *root) bool {
					rel, ok := cutDir(other.path, link)
					return ok && rel != "." && other != r
				})
		}
		if r.path != r.name.agreed && slices.ContainsFunc(links[i], content) {
			absent = append(absent, absence{r.given, errLedElsewhere})
			continue
		}
		roots = append(roots, r)
	}
	return roots, absent
}

// cutDir returns path relative to dir; ok is false unless it is dir or lies below it. Both are absolute
// and clean.
func cutDir(dir, path string) (rel string, ok bool) {
	if path == dir {
		return ".", true
	}
	if !strings.HasSuffix(dir, string(filepath.Separator)) {
		dir += string(filepath.Separator)
	}
	return strings.CutPrefix(path, dir)
}
