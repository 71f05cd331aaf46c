package roots

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
)

// namedRoot is an allowed directory as the user or client named it: a path. Each call looks up anew
// which directory has the path, so that one which was moved away is not used any longer, and the one
// in its place is.
type Named struct {
	given  string // absolute
	agreed string // the real path that it had when it was named; "" if it led nowhere

	through []string // where the links lay that it went through then

	mu     sync.Mutex
	latest *Identity
	closed bool
}

// directory identifies a directory for as long as it exists; another one of the same path is not equal.
// It is held open only so that the system does not give its inode number to a new directory; no file
// is reached through it.
type Identity struct {
	held *os.Root
	info fs.FileInfo
}

// nameRoot names an allowed directory.
func nameRoot(path string) (*Named, error) {
	if path == "" { // as of a variable that is not set; it would be the current one
		return nil, errors.New("an allowed directory has an empty name")
	}
	given, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	n := &Named{given: given}
	if n.agreed, n.through, err = followPath(given); err != nil {
		return n, fmt.Errorf("allowed directory %s: %w", refusal.Show(path), refusal.Cause(err))
	}
	return n, nil
}

// directoryOf tells whether an open directory is the one that was opened last.
func (n *Named) directoryOf(dir *os.Root, info fs.FileInfo) *Identity {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.latest != nil && os.SameFile(n.latest.info, info) {
		return n.latest
	}
	d := &Identity{info: info}
	if held, err := dir.OpenRoot("."); err == nil && !n.closed {
		n.release()
		d.held, n.latest = held, d
	} else if err == nil {
		held.Close()
	}
	return d
}

// release lets go of the directory that was opened last. n.mu is held.
func (n *Named) release() {
	if n.latest != nil {
		n.latest.held.Close()
		n.latest = nil
	}
}

// close releases the directory; a call that still uses the root goes on.
func (n *Named) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.release()
	n.closed = true
}

// root is an allowed directory as one call finds it.
type Root struct {
	given    string // absolute, as it was given
	Path     string // without links
	name     *Named
	Dir      *os.Root // nil until the call needs it
	info     fs.FileInfo
	Identity *Identity
}

// openTries is how often a directory may be replaced while it is opened.
const openTries = 10

// open opens the directory that has the root's path now, once for a call. Nothing on the
// path is a link by then, or it would be another path.
func (r *Root) Open() error {
	if r.Dir != nil {
		return nil
	}
	for range openTries {
		dir, err := os.OpenRoot(r.Path)
		if err != nil {
			return r.absentProblem(err)
		}
		info, err := dir.Stat(".")
		if err == nil {
			var now fs.FileInfo
			if now, err = statDirect(r.Path); err == nil && os.SameFile(info, now) {
				r.Dir, r.info, r.Identity = dir, info, r.name.directoryOf(dir, info)
				return nil
			}
		}
		dir.Close()
	}
	return refusal.New(refusal.IO, "the allowed directory %s was replaced while it was opened; try again", refusal.Show(r.Path))
}

// isUnmoved reports whether the directory that was opened still has the root's path.
func (r *Root) IsUnmoved() bool {
	now, err := statDirect(r.Path)
	return err == nil && os.SameFile(now, r.info)
}

func (r *Root) absentProblem(err error) error { return absence{r.given, err}.Refusal() }

// absence is an allowed directory that cannot be used at present.
type absence struct {
	given string
	why   error
}

func (a absence) Refusal() *refusal.Refusal {
	return refusal.New(refusal.NotFound, "the allowed directory %s cannot be used at present (%s); it is looked for again at each call", refusal.Show(a.given), refusal.Show(refusal.Cause(a.why).Error()))
}
