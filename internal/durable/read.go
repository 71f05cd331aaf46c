package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrIrregular is the error of a name that is no regular file: a pipe, a device, a directory.
var ErrIrregular = errors.New("is not a regular file")

// ErrOutside is the error of a name that a link leads out of the directory.
var ErrOutside = errors.New(
	"is a link that leads out of the checkout, and is not followed; put a copy of the file there")

// OpenRegular opens the regular file that name leads to, through links too. It never waits, as the opening
// of a pipe would for a writer, and no signal ends that. A device is not opened, since opening may
// make it act. The error wraps [ErrIrregular] if name leads to anything but a regular file.
func OpenRegular(name string) (*os.File, error) {
	return openChecked(name, func() (fs.FileInfo, error) { return os.Stat(name) },
		func() (*os.File, error) { return os.OpenFile(name, os.O_RDONLY|NoWait, 0) })
}

// OpenIn opens a regular file of a checkout; name is relative to dir and has slashes. Links are
// followed as far as they stay in dir. Like [OpenRegular] it never waits. The error wraps [ErrOutside] if a
// link leads out of dir, and [ErrIrregular] if name leads to anything but a regular file.
func OpenIn(dir, name string) (*os.File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	local := filepath.FromSlash(name)
	f, err := openChecked(name, func() (fs.FileInfo, error) { return root.Stat(local) },
		func() (*os.File, error) { return root.OpenFile(local, os.O_RDONLY|NoWait, 0) })
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) ||
		errors.Is(err, ErrIrregular) {
		return f, err
	}
	if _, there := root.Lstat(local); there == nil { // package os does not export the error for it
		return nil, &fs.PathError{Op: "open", Path: name, Err: ErrOutside}
	}
	return nil, err
}

// openChecked checks that a file is regular before it opens it, and checks the open file again: the
// name may have been given to another one in between.
func openChecked(name string, stat func() (fs.FileInfo, error), open func() (*os.File, error)) (*os.File, error) {
	irregular := &fs.PathError{Op: "open", Path: name, Err: ErrIrregular}
	info, err := stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, irregular
	}
	f, err := open()
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, irregular
	}
	return f, nil
}

// ReadFile reads a file that [OpenRegular] opens, of at most limit bytes.
func ReadFile(name string, limit int64) ([]byte, error) {
	f, err := OpenRegular(name)
	if err != nil {
		return nil, err
	}
	return readBounded(f, limit)
}

// ReadIn reads a file that [OpenIn] opens, of at most limit bytes.
func ReadIn(dir, name string, limit int64) ([]byte, error) {
	f, err := OpenIn(dir, name)
	if err != nil {
		return nil, err
	}
	return readBounded(f, limit)
}

func readBounded(f *os.File, limit int64) ([]byte, error) {
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		return nil, &fs.PathError{Op: "read", Path: f.Name(), Err: fmt.Errorf("larger than %d bytes", limit)}
	}
	return data, err
}
