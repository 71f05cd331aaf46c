package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
)

// openUnnamed makes a file without a name in an open directory. The system removes it when it is closed, unless it got
// a name. Where such files cannot be made, or cannot be named, the error wraps errors.ErrUnsupported. Tests put a
// system that cannot in its place.
var openUnnamed = func(dir *os.Root, perm fs.FileMode) (*os.File, error) {
	d, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	fd, err := unix.Openat(int(d.Fd()), ".", unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, uint32(perm))
	switch {
	case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.EISDIR), errors.Is(err, unix.EINVAL),
		errors.Is(err, unix.ENOENT) && dirExists(dir): // systems differ in what they answer
		return nil, errors.ErrUnsupported
	case err != nil:
		return nil, &fs.PathError{Op: "open", Path: "new file", Err: err}
	}
	f := os.NewFile(uintptr(fd), "new file")
	if _, err := os.Lstat(descriptorPath(f)); err != nil { // /proc is not mounted
		f.Close()
		return nil, errors.ErrUnsupported
	}
	return f, nil
}

func dirExists(dir *os.Root) bool {
	_, err := dir.Stat(".")
	return err == nil
}

func descriptorPath(f *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", f.Fd()) }

// linkUnnamed gives a file without a name that of a place. It fails with fs.ErrExist if something is there.
func linkUnnamed(f *os.File, p *place.Place) error {
	d, err := p.Parent().Open(".")
	if err != nil {
		return err
	}
	defer d.Close()
	return unix.Linkat(unix.AT_FDCWD, descriptorPath(f), int(d.Fd()), p.Name, unix.AT_SYMLINK_FOLLOW)
}
