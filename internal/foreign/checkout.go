package foreign

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// Checkout are the directories that somebody else may have written: none of their files is
// started, or says what is, before a person agreed. The zero Checkout, of which nobody said
// where it is, holds every file.
type Checkout struct {
	known bool
	dirs  []string
}

// maxLinks bounds how many links are followed to where a file really lies.
const maxLinks = 255

// FindCheckout is the checkout of the project in dir: that directory, and those of all
// repositories that it lies in. The user's home and the root of the file system are no
// checkout: what the user installed for everything lies below them.
func FindCheckout(dir, home string) Checkout {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Checkout{}
	}
	c := Checkout{known: true}
	add := func(dir string) {
		if filepath.Dir(dir) != dir && (home == "" || !isSameDir(dir, home)) {
			c.dirs = append(c.dirs, dir)
		}
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		real = dir
	}
	for _, named := range []string{dir, real} {
		add(named)
		for at := filepath.Dir(named); at != filepath.Dir(at); at = filepath.Dir(at) {
			if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
				add(at)
			}
		}
		if dir == real {
			break
		}
	}
	return c
}

// isSameDir reports whether two names are of one directory.
func isSameDir(a, b string) bool {
	if a == filepath.Clean(b) {
		return true
	}
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// Holds reports whether file lies in the checkout: as it is named, where all links lead, or
// at a link on the way there, which the checkout could let lead elsewhere.
func (c Checkout) Holds(file string) bool {
	at, err := filepath.Abs(file)
	if !c.known || err != nil {
		return true
	}
	if len(c.dirs) == 0 {
		return false
	}
	for range maxLinks {
		if c.contains(at) {
			return true
		}
		next := followLink(at)
		if next == "" {
			real, err := filepath.EvalSymlinks(file) // which knows each "..": the system's own answer
			return err == nil && c.contains(real)
		}
		at = next
	}
	return true
}

// contains reports whether a directory of the checkout is among those above at, under
// whatever name.
func (c Checkout) contains(at string) bool {
	for ; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		for _, dir := range c.dirs {
			if at == dir {
				return true
			}
			if theirs, e := os.Stat(dir); err == nil && e == nil && info.IsDir() && os.SameFile(info, theirs) {
				return true
			}
		}
		if at == filepath.Dir(at) {
			return false
		}
	}
}

// followLink is path with the first link on it replaced by what that leads to; "" if there is
// none.
func followLink(path string) string {
	volume := filepath.VolumeName(path)
	at := volume + string(filepath.Separator)
	rest := strings.Split(strings.Trim(path[len(volume):], string(filepath.Separator)), string(filepath.Separator))
	for i, name := range rest {
		here := filepath.Join(at, name)
		if to, err := os.Readlink(here); err == nil {
			if !filepath.IsAbs(to) {
				to = filepath.Join(at, to)
			}
			return filepath.Join(append([]string{to}, rest[i+1:]...)...)
		}
		at = here
	}
	return ""
}

// childPrograms are the programs that programs of ours start by their names.
var childPrograms = []string{"node", "git", "ssh", "sh", "bash", "env", "python3", "python", "go", "hg"}

// FilterPath are the directories of a PATH in which programs of ours look for others: those that
// are absolute and do not lie in the checkout, nor hold a link that makes one of the checkout
// a program which they start.
func (c Checkout) FilterPath(path string) string {
	var kept []string
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) || c.Holds(dir) || slices.ContainsFunc(childPrograms, func(name string) bool {
			to, err := os.Readlink(filepath.Join(dir, name))
			return err == nil && to != "" && c.Holds(filepath.Join(dir, name))
		}) {
			continue
		}
		kept = append(kept, dir)
	}
	return strings.Join(kept, string(filepath.ListSeparator))
}

// Find finds a program of ours, one that resolves or answers a question, in the directories
// of path. Files of the checkout are passed over; where there is no other of that name the
// error is a refusal that names it, and else it is ErrNotFound.
func (c Checkout) Find(path, name string) (string, error) {
	var passed error
	for _, dir := range filepath.SplitList(path) {
		at, err := filepath.Abs(filepath.Join(dir, name))
		if err != nil {
			continue
		}
		found, err := exec.LookPath(at)
		switch {
		case err != nil:
		case c.Holds(found):
			passed = cmp.Or(passed, refuseCheckoutProgram(found, name))
		case !filepath.IsAbs(dir):
			passed = cmp.Or(passed, refuseProgram(found, name, "PATH names its directory as a relative one, which is another wherever it is used"))
		default:
			return found, nil
		}
	}
	return "", cmp.Or(passed, ErrNotFound)
}

// refuseCheckoutProgram refuses to start a program of the checkout.
func refuseCheckoutProgram(path, name string) error {
	return refuseProgram(path, name, "it is a program of the project, which is not started before somebody agreed")
}

func refuseProgram(path, name, why string) error {
	return evidence.Errorf(evidence.Refused, path, fmt.Sprintf("put %s of the machine, from outside of the project, into PATH: 'PATH=/directory/of/%[1]s:$PATH hallmark ...'", name), errors.New(why))
}
