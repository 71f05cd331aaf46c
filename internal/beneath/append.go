package beneath

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ErrLink is the error of a name that is a link, or lies behind one.
var ErrLink = errors.New("is a link, or lies behind one, and nothing is written there")

// OpenAppend opens a file that lines are appended to, and creates it if it is not there.
// Below each of dirs no link is followed, and only a regular file is opened: what stands
// there may be somebody else's, and would choose the file that is written to. Elsewhere it is
// what the user says. Like [Open] it never waits.
func OpenAppend(name string, dirs ...string) (*os.File, error) {
	inside, err := Inside(name, dirs...)
	if err != nil {
		return nil, err
	}
	flags := os.O_APPEND | os.O_CREATE | os.O_WRONLY | NoWait
	if inside {
		flags |= NoFollow
	}
	f, err := os.OpenFile(name, flags, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && inside && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: name, Err: ErrIrregular}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Inside reports whether name lies below one of dirs. It is an error if a part of its path
// below one is a link ([ErrLink]), or if what stands there is no regular file ([ErrIrregular]).
func Inside(name string, dirs ...string) (inside bool, err error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return false, err
	}
	for _, dir := range dirs {
		dir, err := filepath.Abs(dir)
		if err != nil {
			return false, err
		}
		below, err := filepath.Rel(dir, abs)
		if err != nil || below == "." || !filepath.IsLocal(below) {
			continue
		}
		inside = true
		at := dir
		for part := range strings.SplitSeq(below, string(filepath.Separator)) {
			at = filepath.Join(at, part)
			info, err := os.Lstat(at)
			switch {
			case err != nil: // opening says what is wrong, if anything is
			case info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0:
				return true, &fs.PathError{Op: "open", Path: name, Err: ErrLink}
			case at == abs && !info.Mode().IsRegular():
				return true, &fs.PathError{Op: "open", Path: name, Err: ErrIrregular}
			}
		}
	}
	return inside, nil
}
