package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ErrLink is the error of a name that is a link, or lies behind one.
var ErrLink = errors.New("is a link, or lies behind one, and nothing is written there")

// OpenAppend opens a file for appending, and creates it with mode 0600 if it does not exist. Below
// each of dirs it follows no link and opens only a regular file: somebody else may have written
// there, and must not choose which file grows. Elsewhere the name is the user's own choice. Like
// [OpenRegular] it never waits. Its error wraps [ErrLink], [ErrIrregular] or that of the system.
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
			case err != nil: // OpenFile reports the error, if there is one
			case info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0:
				return true, &fs.PathError{Op: "open", Path: name, Err: ErrLink}
			case at == abs && !info.Mode().IsRegular():
				return true, &fs.PathError{Op: "open", Path: name, Err: ErrIrregular}
			}
		}
	}
	return inside, nil
}
