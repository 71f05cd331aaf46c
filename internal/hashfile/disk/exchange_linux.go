package disk

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/hallmark-mcp/hallmark/internal/beneath"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/contents"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
)

// movesBetweenDirectories says whether a file can be moved between two directories that are held open.
const movesBetweenDirectories = true

// renameat2 is the system's; tests put one of a file system that can less in its place.
var renameat2 = unix.Renameat2

// renameAt calls renameat2 for the names of two places.
func renameAt(from, to *place.Place, flags uint) error {
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
	return renameat2(int(a.Fd()), from.Name, int(b.Fd()), to.Name, flags)
}

// exchange exchanges what has two names, in one step.
func exchange(a, b *place.Place) error { return renameAt(a, b, unix.RENAME_EXCHANGE) }

// renameOver renames what is at one place to another place, and replaces what is there.
func renameOver(from, to *place.Place) error { return renameAt(from, to, 0) }

// renameNew renames what is at one place to another place, and fails with fs.ErrExist if something is there.
func renameNew(from, to *place.Place) error {
	err := renameAt(from, to, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) { // the file system cannot
		if err := checkVacant(to); err != nil {
			return err
		}
		return renameOver(from, to)
	}
	return err
}

// swap gives temp, the new file that is open as mine, the name p of the old file, if that is still the file that was
// read, with the same bytes. It exchanges the two names in one step and examines what it displaced; if that is another
// file, it gets its name back. After an error the new file is gone.
func swap(temp, p *place.Place, mine *os.File, old contents.Contents) error {
	remove := func() error { return temp.Parent().Remove(temp.Name) }
	switch err := exchange(temp, p); {
	case errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS):
		return swapUnguarded(temp, p, old) // the file system cannot
	case errors.Is(err, unix.ENOENT):
		remove()
		return ErrReplaced // removed, or moved away
	case errors.Is(err, unix.EXDEV): // temp was linked there, so that this is not about mounts, which would be tried again
		remove()
		return errors.New("the directory for locks is of another quota than the file")
	case err != nil:
		remove()
		return err
	}
	if isUnchanged(temp, old) {
		return remove()
	}
	// Another process replaced or changed the file before the exchange, and temp is what it wrote. That gets the name
	// back. What the second exchange displaces should be the file that was put there before; if it is a third file,
	// that gets the name back in turn. Files are compared while they are open: see draft.
	put := mine
	defer func() {
		if put != mine {
			put.Close()
		}
	}()
	for {
		theirs, err := temp.Parent().OpenFile(temp.Name, os.O_RDONLY|beneath.NoWait, 0)
		if err != nil { // not a readable file: it gets its name back, without a comparison
			return errors.Join(ErrReplaced, exchange(temp, p), remove())
		}
		if err := exchange(temp, p); err != nil {
			theirs.Close()
			if errors.Is(err, unix.ENOENT) { // the name is gone
				return errors.Join(ErrReplaced, renameNew(temp, p))
			}
			return fmt.Errorf("%w, and what they wrote is given back when the server starts again: %w", ErrReplaced, err)
		}
		was, err := put.Stat()
		now, err2 := temp.Parent().Lstat(temp.Name)
		if err == nil && err2 == nil && os.SameFile(now, was) {
			theirs.Close()
			remove()
			return ErrReplaced
		}
		if put != mine {
			put.Close()
		}
		put = theirs
	}
}
