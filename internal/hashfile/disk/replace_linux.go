package disk

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/hallmark-mcp/hallmark/internal/beneath"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/contents"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
)

// copyMetadata gives f the owner, mode and extended attributes of the file that it replaces.
func copyMetadata(from, f *os.File, info fs.FileInfo) error {
	now, err := f.Stat()
	if err != nil {
		return err
	}
	was, is := info.Sys().(*syscall.Stat_t), now.Sys().(*syscall.Stat_t)
	if was.Uid != is.Uid || was.Gid != is.Gid {
		if err := f.Chown(int(was.Uid), int(was.Gid)); err != nil {
			return fmt.Errorf("its owner cannot be kept: %w", refusal.Cause(err))
		}
	}
	if err := unix.Fchmod(int(f.Fd()), was.Mode&0o7777); err != nil { // after chown, which clears setuid
		return fmt.Errorf("its mode cannot be kept: %w", err)
	}
	return copyAttributes(int(from.Fd()), int(f.Fd()))
}

// copyAttributes copies extended attributes, which include access control lists.
func copyAttributes(from, to int) error {
	names, err := listAttributes(from)
	if err != nil {
		return err
	}
	for _, name := range names {
		value, err := readAttribute(from, name)
		if err != nil {
			return fmt.Errorf("its attribute %s cannot be read: %w", refusal.Show(name), err)
		}
		if has, err := readAttribute(to, name); err == nil && bytes.Equal(has, value) {
			continue // such as security labels, which the system sets by itself
		}
		if err := unix.Fsetxattr(to, name, value, 0); err != nil {
			return fmt.Errorf("its attribute %s cannot be kept: %w", refusal.Show(name), err)
		}
	}
	return nil
}

func listAttributes(fd int) ([]string, error) {
	buf := make([]byte, 64<<10) // the kernel's limit
	n, err := unix.Flistxattr(fd, buf)
	if errors.Is(err, unix.ENOTSUP) || n == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("its attributes cannot be listed: %w", err)
	}
	return strings.Split(strings.TrimSuffix(string(buf[:n]), "\x00"), "\x00"), nil
}

func readAttribute(fd int, name string) ([]byte, error) {
	buf := make([]byte, 64<<10) // the kernel's limit
	n, err := unix.Fgetxattr(fd, name, buf)
	if err != nil {
		return nil, err
	}
	return buf[:n], nil
}

// swap gives temp, the new file that is open as mine, the name of the old file, if that is still the file that was
// read, with the same bytes. It exchanges the two names in one step and examines what it displaced; if that is another
// file, it gets its name back. After an error the new file is gone.
func swap(dir *os.Root, temp, name string, mine *os.File, old contents.Contents) error {
	d, err := dir.Open(".")
	if err != nil {
		dir.Remove(temp)
		return err
	}
	defer d.Close()
	fd := int(d.Fd())
	exchange := func() error { return unix.Renameat2(fd, temp, fd, name, unix.RENAME_EXCHANGE) }
	switch err := exchange(); {
	case errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS):
		return swapUnguarded(dir, temp, name, old) // the file system cannot
	case errors.Is(err, unix.ENOENT):
		dir.Remove(temp)
		return ErrReplaced // removed, or moved away
	case err != nil:
		dir.Remove(temp)
		return err
	}
	if isUnchanged(dir, temp, old) {
		return dir.Remove(temp)
	}
	// Another process replaced or changed the file before the exchange, and temp is what it wrote. That gets the name
	// back. What the second exchange displaces should be the file that was put there before; if it is a third file,
	// that gets the name back in turn. Files are compared while they are open: see writeTemp.
	put := mine
	defer func() {
		if put != mine {
			put.Close()
		}
	}()
	for {
		theirs, err := dir.OpenFile(temp, os.O_RDONLY|beneath.NoWait, 0)
		if err != nil { // not a readable file: it gets its name back, without a comparison
			return errors.Join(ErrReplaced, exchange(), dir.Remove(temp))
		}
		if err := exchange(); err != nil {
			theirs.Close()
			if errors.Is(err, unix.ENOENT) { // the name is gone
				return errors.Join(ErrReplaced, unix.Renameat2(fd, temp, fd, name, unix.RENAME_NOREPLACE))
			}
			return fmt.Errorf("%w, and is now called %s: %w", ErrReplaced, refusal.Show(temp), err)
		}
		was, err := put.Stat()
		now, err2 := dir.Lstat(temp)
		if err == nil && err2 == nil && os.SameFile(now, was) {
			theirs.Close()
			dir.Remove(temp)
			return ErrReplaced
		}
		if put != mine {
			put.Close()
		}
		put = theirs
	}
}

// renameNew renames what is at one place to another place, and fails with fs.ErrExist if something is there.
func renameNew(from, to *place.Place) error {
	a, err := from.Parent().Open(".")
	if err != nil {
		return err
	}
	defer a.Close()
	b, err := to.Parent().Open(".")
	if err != nil {
		return err
	}
	defer b.Close()
	err = unix.Renameat2(int(a.Fd()), from.Name, int(b.Fd()), to.Name, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) { // the file system cannot
		if err := checkVacant(to); err != nil {
			return err
		}
		return unix.Renameat(int(a.Fd()), from.Name, int(b.Fd()), to.Name)
	}
	return err
}
