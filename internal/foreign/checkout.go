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

// Checkout is a set of directories that somebody else may have written. No file in them is started,
// or decides what is started, before a person agreed. The zero Checkout has no known place, and so
// holds every file.
type Checkout struct {
	known bool
	dirs  []string
}

// maxLinks bounds how many links are followed to where a file really lies.
const maxLinks = 255

// FindCheckout returns the checkout of the project in dir: that directory, and the top directory of
// each repository that it lies in. The user's home and the root of the file system are never part of
// one, since what the user installed for everything lies below them.
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

// isSameDir reports whether two names lead to one directory.
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

// Holds reports whether file lies in the checkout: under its name, where its links lead, or at a link
// on the way there, since anyone who writes the checkout could change that link.
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
			real, err := filepath.EvalSymlinks(file) // resolves ".." as the system does
			return err == nil && c.contains(real)
		}
		at = next
	}
	return true
}

// contains reports whether at is, or lies below, a directory of the checkout, under whatever name.
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

// followLink returns path with its first link replaced by the target of that; "" if it has no link.
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

// childPrograms are the programs that the tools which we start look for in PATH themselves.
var childPrograms = []string{"node", "git", "ssh", "sh", "bash", "env", "python3", "python", "go", "hg"}

// FilterPath returns a PATH without the directories from which a tool could start a program of the
// checkout: relative ones, those in the checkout, and those with a link into it under the name of one
// of childPrograms.
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

// Find returns the absolute path of the first tool called name in the directories of path that is
// not a file of the checkout. If only the checkout has one the error is of class Refused and names
// it; if there is none it is [ErrNotFound].
func (c Checkout) Find(path, name string) (string, error) {
	var refused error // for the first tool that was passed over
	for _, dir := range filepath.SplitList(path) {
		at, err := filepath.Abs(filepath.Join(dir, name))
		if err != nil {
			continue
		}
		found, err := exec.LookPath(at)
		switch {
		case err != nil:
		case c.Holds(found):
			refused = cmp.Or(refused, refuseCheckoutProgram(found, name))
		case !filepath.IsAbs(dir):
			refused = cmp.Or(refused, refuseProgram(found, name,
				"PATH names its directory as a relative one, which is another wherever it is used"))
		default:
			return found, nil
		}
	}
	return "", cmp.Or(refused, ErrNotFound)
}

// refuseCheckoutProgram is the error for a tool that is a file of the checkout.
func refuseCheckoutProgram(path, name string) error {
	return refuseProgram(path, name, "it is a program of the project, which is not started before somebody agreed")
}

// refuseProgram is the error for a tool that must not be started, because of why.
func refuseProgram(path, name, why string) error {
	return evidence.Errorf(evidence.Refused, path,
		fmt.Sprintf("put %s of the machine, from outside of the project, into PATH: "+
			"'PATH=/directory/of/%[1]s:$PATH hallmark ...'", name), errors.New(why))
}
