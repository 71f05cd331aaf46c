package durable

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// Check refuses a state or cache directory that somebody else could fill: one in a checkout, or one
// that is not this user's alone. What lies there decides what is started without a question, so a
// checkout must not bring it. Its error is of class Refused. It makes no directory.
//
// A checkout is a directory with .git. The home directory may be one, as it is of people who keep
// their own configuration in git, provided that it is this user's, and that HALLMARK_HOME does not
// choose the directory.
//
// Nobody but this user and root may write the directory. If it does not exist yet, that counts for
// the first that does of those above it: but a sticky one, such as /tmp, may be everybody's, one of
// this user may be writable by its group, and root may begin one below a directory of any user.
func (p Places) Check() error {
	isCheckout := func(at string) bool {
		_, err := os.Lstat(filepath.Join(at, ".git"))
		return err == nil && !p.isOwnHome(at)
	}
	for _, dir := range []string{p.State, p.Cache} {
		real, existing := resolve(dir)
		if err := refuseOthers(real, existing); err != nil {
			return err
		}
		if err := refuseBelow("checkout", isCheckout, dir, real); err != nil {
			return err
		}
	}
	return nil
}

// CheckProject refuses a state or cache directory in the directory of a project, unless that is the
// home directory as for [Places.Check]. Its error is of class Refused.
func (p Places) CheckProject(dir string) error {
	project, err := os.Stat(dir)
	if err != nil || p.isOwnHome(dir) {
		return err
	}
	isProject := func(at string) bool {
		info, err := os.Stat(at)
		return err == nil && os.SameFile(info, project)
	}
	for _, dir := range []string{p.State, p.Cache} {
		real, _ := resolve(dir)
		if err := refuseBelow("project", isProject, dir, real); err != nil {
			return err
		}
	}
	return nil
}

// refuseBelow refuses a directory at or below one that is what the caller says: as it is named, since
// a link there may lead elsewhere tomorrow, and with all links resolved. The root of the file system
// is neither checkout nor project.
func refuseBelow(what string, is func(at string) bool, dir, real string) error {
	for _, named := range []string{real, dir} {
		for at := named; at != filepath.Dir(at); at = filepath.Dir(at) {
			if is(at) {
				return refusal(dir, fmt.Errorf("lies in the %s %s, which could bring what is kept there", what, at))
			}
		}
	}
	return nil
}

// isOwnHome reports whether dir is the home directory by which the places were found, and this
// user's.
func (p Places) isOwnHome(dir string) bool {
	if p.home == "" {
		return false
	}
	home, err := os.Stat(p.home)
	if err != nil || !isOwn(home) {
		return false
	}
	other, err := os.Stat(dir)
	return err == nil && os.SameFile(home, other)
}

// resolve follows all links of a path as far as it exists. It also returns that part.
func resolve(path string) (real, existing string) {
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		return real, real
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path, path
	}
	real, existing = resolve(parent)
	return filepath.Join(real, filepath.Base(path)), existing
}

// refuseOthers refuses dir if others than this user and root could write it, or make it; existing is
// the part of its path that exists.
func refuseOthers(dir, existing string) error {
	info, err := os.Stat(existing)
	if err != nil {
		return nil // making or reading the directory reports it
	}
	switch mode := info.Mode(); {
	case !isTrusted(info) && (dir == existing || !isRoot()):
		return refusal(existing, errors.New("belongs to another user"))
	case !hasOwners || mode&os.ModeSticky != 0 && dir != existing:
		return nil
	case mode&0o002 != 0 || mode&0o020 != 0 && (dir == existing || !isOwn(info)):
		return refusal(existing, fmt.Errorf("can be written by others: its mode is %04o", mode.Perm()))
	}
	return nil
}

func refusal(dir string, err error) error { return evidence.Errorf(evidence.Refused, dir, hint, err) }

const hint = "set HALLMARK_HOME to a directory outside of every checkout that only you can write"
