package engine

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/hallmark-mcp/hallmark/internal/durable"
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

// exchange exchanges what has the names p and temp, in one step. Who watches the directory of p is told of two
// renamings, that of the first argument first: so the name p goes and comes back, and not the other way round, which
// would pass for a file that was made and removed.
func exchange(p, temp *place.Place) error { return renameAt(p, temp, unix.RENAME_EXCHANGE) }

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
func swap(temp, p *place.Place, mine *os.File, old Contents) error {
	remove := func() { temp.Parent().Remove(temp.Name) }
	switch err := exchange(p, temp); {
	case errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS):
		return swapUnguarded(temp, p, old) // the file system cannot
	case errors.Is(err, unix.ENOENT):
		remove()
		return errReplaced // removed, or moved away
	case err != nil:
		remove()
		return err
	}
	if isUnchanged(temp, old) {
		remove() // if that fails, the edit is made all the same, and the next server names what is left
		return nil
	}
	return giveBack(temp, p, mine, true)
}

// giveBack gives what was displaced as temp, which another process wrote, its name p again. Put is the file that was
// put there. If the second exchange displaces another one, which somebody wrote meanwhile and perhaps made of ours,
// that gets the name back in turn, so that the newest has it in the end. Files are compared while they are open: see
// draft. Only our own file is removed, which was put first; another one that has no name left is kept as temp.
func giveBack(temp, p *place.Place, put *os.File, ours bool) error {
	kept := func(why string) error {
		return fmt.Errorf("%w, and what they wrote is kept as %s (%s)", errReplaced, place.Show(temp.Asked), why)
	}
	theirs, opened := temp.Parent().OpenFile(temp.Name, os.O_RDONLY|durable.NoWait, 0)
	if opened == nil {
		defer theirs.Close()
	}
	err := exchange(p, temp)
	if errors.Is(err, unix.ENOENT) { // the name is gone
		if err = renameNew(temp, p); err == nil {
			return errReplaced
		}
	}
	if err != nil {
		return kept(place.Show(place.Cause(err).Error()))
	}
	was, err := put.Stat()
	now, err2 := temp.Parent().Lstat(temp.Name)
	switch {
	case err == nil && err2 == nil && os.SameFile(now, was) && ours:
		temp.Parent().Remove(temp.Name)
		return errReplaced
	case err == nil && err2 == nil && os.SameFile(now, was):
		return kept("it was replaced again meanwhile")
	case opened != nil: // it is not a readable file, so that nothing could be compared with it
		return kept(place.Show(place.Cause(opened).Error()))
	}
	return giveBack(temp, p, theirs, false)
}
