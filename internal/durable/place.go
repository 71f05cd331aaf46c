package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Place gives the complete file temp the name path, for files that are too large for
// WriteFile or that another library writes. Temp lies in the directory of path; it is
// synced before it gets its name, and the directory after. A file that has the name
// already is an error that wraps fs.ErrExist, and stays. Only one process at a time may
// place a file under a name, because the check for an existing file and the rename are two steps.
func Place(temp, path string) error {
	if filepath.Dir(temp) != filepath.Dir(path) {
		return errors.New("the temporary file lies in another directory")
	}
	f, err := os.OpenFile(temp, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	switch _, err := os.Lstat(path); {
	case err == nil:
		return &fs.PathError{Op: "place", Path: path, Err: fs.ErrExist}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}
