package place

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Named is an allowed directory as the user or client named it: a path, which each call looks up anew.
type Named struct {
	given  string // absolute
	agreed string // the real path that it had when it was named; "" if it led nowhere

	through []string // the paths of the links that it led through then

	mu     sync.Mutex
	latest *Identity
	closed bool
}

// Identity identifies a directory for as long as it exists. Another directory that gets the same path has another
// identity. The directory is held open only so that the system does not give its inode number to a new one; no file is
// opened through it.
type Identity struct {
	held *os.Root
	info fs.FileInfo
}

// nameRoot returns an allowed directory by its path. The directory has to exist.
func nameRoot(path string) (*Named, error) {
	if path == "" { // from a variable that is not set; filepath.Abs would return the working directory
		return nil, errors.New("an allowed directory has an empty name")
	}
	given, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	n := &Named{given: given}
	if n.agreed, n.through, err = FollowPath(given); err != nil {
		if strings.HasPrefix(path, "~") || strings.Contains(path, "$") {
			err = fmt.Errorf("%w; ~ and variables are replaced by a shell, and not here: give the path itself",
				Cause(err))
		}
		return n, fmt.Errorf("allowed directory %s: %w", Show(path), Cause(err))
	}
	return n, nil
}

// identify returns the identity of an open directory: the last one, if it is still the same directory.
func (n *Named) identify(dir *os.Root, info fs.FileInfo) *Identity {
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

// release closes the directory that was opened last. The caller holds n.mu.
func (n *Named) release() {
	if n.latest != nil {
		n.latest.held.Close()
		n.latest = nil
	}
}

// close releases the directory. A call that still uses the root continues.
func (n *Named) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.release()
	n.closed = true
}

// Root is an allowed directory as one call finds it.
type Root struct {
	given    string   // absolute, as it was given
	Path     string   // without links
	links    []string // the real paths of the links on the way from one to the other
	name     *Named
	Dir      *os.Root // nil until the call needs it
	info     fs.FileInfo
	Identity *Identity // of Dir
}

// openTries is how often a directory may be replaced while it is opened, before that is an error.
const openTries = 10

// Open opens the directory that has the root's path now, once for a call. If an element of the path has become a link
// since it was resolved, the directory is not opened.
func (r *Root) Open() error {
	if r.Dir != nil {
		return nil
	}
	for range openTries {
		dir, err := os.OpenRoot(r.Path)
		if err != nil {
			return Absence{r.given, err}.Refusal()
		}
		info, err := dir.Stat(".")
		if err == nil {
			var now fs.FileInfo
			if now, err = statDirect(r.Path); err == nil && os.SameFile(info, now) {
				r.Dir, r.info, r.Identity = dir, info, r.name.identify(dir, info)
				return nil
			}
		}
		dir.Close()
	}
	return Refuse(IO, "the allowed directory %s was replaced while it was opened; try again",
		Show(r.Path))
}

// IsUnmoved reports whether the directory that was opened still has the root's path.
func (r *Root) IsUnmoved() bool {
	now, err := statDirect(r.Path)
	return err == nil && os.SameFile(now, r.info)
}

// Absence is an allowed directory that cannot be used at present, and why.
type Absence struct {
	given string
	why   error
}

// Refusal returns the refusal of a path in the directory.
func (a Absence) Refusal() *Refusal {
	return Refuse(NotFound,
		"the allowed directory %s cannot be used at present (%s); it is looked for again at each call",
		Show(a.given), Show(Cause(a.why).Error()))
}
