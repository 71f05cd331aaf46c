package disk

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
)

// Recover ends what servers that were killed had begun, as far as their notes say. Notes of servers that live are
// under a lock, and stay.
func (w *Writer) Recover() {
	entries, err := os.ReadDir(w.locks)
	if err != nil {
		return // there is none, or Lock will say what is wrong with it
	}
	if !w.isPrivate() {
		w.warn(fmt.Sprintf("%s, the directory for locks, is somebody else's, or others may write there; nothing that "+
			"stands there is used", refusal.Show(w.locks)))
		return
	}
	for _, e := range entries {
		slot, ok := strings.CutSuffix(e.Name(), noteSuffix)
		if !ok || !isSlot(slot) {
			continue
		}
		unlock, err := durable.TryLock(filepath.Join(w.locks, slot), "a file that is edited")
		if err != nil {
			continue
		}
		w.settle(slot) // which warns
		unlock()
	}
}

// settle does what the note of a lock says, if its last holder left one. It fails if something keeps the lock's file,
// which the next change would need, and the note stays. The caller holds the lock.
func (w *Writer) settle(slot string) error {
	path := filepath.Join(w.locks, slot+noteSuffix)
	n, err := readNote(path, slot)
	if errors.Is(err, fs.ErrNotExist) && w.isFree(slot) {
		return nil
	}
	if err != nil { // after a crash of the system; what may have been displaced is kept
		n = note{Displaces: true, Mine: stamp{Modified: -1}, Old: stamp{Modified: -1}}
	}
	if err := w.end(slot, n); err != nil {
		w.warn(fmt.Sprintf("%s was changed by a server that was killed, and cannot be looked after: %s",
			refusal.Show(filepath.Join(n.Directory, n.Name)), refusal.Show(refusal.Cause(err).Error())))
		if !w.isFree(slot) {
			return err
		}
	}
	os.Remove(path)
	return nil
}

// isFree reports whether nothing is in the file of a lock, in which a change keeps what it displaces.
func (w *Writer) isFree(slot string) bool {
	_, err := os.Lstat(filepath.Join(w.locks, slot+tempSuffix))
	return errors.Is(err, fs.ErrNotExist)
}

// end removes what has the temporary name of a note if it is our new file, or the file that was to be replaced or
// removed. If it is another one, which somebody put there in the moment before, that gets its name back. If the name
// has been taken since, the file is kept.
func (w *Writer) end(slot string, n note) error {
	locks, err := os.OpenRoot(w.locks)
	if err != nil {
		return err
	}
	defer locks.Close()
	dir := openNoted(n)
	if dir != nil {
		defer dir.Close()
	}
	temp := place.In(locks, slot+tempSuffix, nil)
	if n.Temp != "" {
		if dir == nil {
			return nil // with what is in it
		}
		temp = place.In(dir, n.Temp, nil)
	}
	if temp.Info, err = temp.Parent().Lstat(temp.Name); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	if !n.Displaces || n.Mine.isOf(temp.Info) || n.isOld(temp) {
		return temp.Parent().Remove(temp.Name)
	}
	if dir != nil && giveBack(temp, place.In(dir, n.Name, nil), n) {
		return syncDir(dir)
	}
	return w.keep(locks, temp, n)
}

// openNoted opens the directory of a note; it returns nil if that is no longer there.
func openNoted(n note) *os.Root {
	dir, err := os.OpenRoot(n.Directory)
	if err != nil {
		return nil
	}
	if info, err := dir.Stat("."); err != nil || n.Held.Inode != 0 && !n.Held.isOf(info) {
		dir.Close()
		return nil
	}
	return dir
}

// isOld reports whether a file is the one that a note allows to remove, with the same bytes.
func (n note) isOld(at *place.Place) bool {
	if !at.Info.Mode().IsRegular() || n.Old.Inode != 0 && !n.Old.isOf(at.Info) {
		return false
	}
	f, _, err := at.Open(os.O_RDONLY)
	if err != nil {
		return false
	}
	defer f.Close()
	got, _, err := digest.FromReader(f)
	return err == nil && got.String() == n.OldHash
}

// giveBack gives a displaced file its name p again, if nothing has the name, or our new file, unwritten since. It
// reports whether it did.
func giveBack(temp, p *place.Place, n note) bool {
	err := renameNew(temp, p)
	if err == nil || !errors.Is(err, fs.ErrExist) {
		return err == nil
	}
	if now, err := p.Parent().Lstat(p.Name); err != nil || stampOf(now) != n.Mine {
		return false
	}
	if exchange(temp, p) != nil {
		return false
	}
	if now, err := temp.Parent().Lstat(temp.Name); err == nil && stampOf(now) == n.Mine {
		return temp.Parent().Remove(temp.Name) == nil
	}
	exchange(temp, p) // somebody put a third file there just now
	return false
}

// keep moves a file that somebody else wrote to the directory of the locks, if it lies on the same mount, and says
// where it is.
func (w *Writer) keep(locks *os.Root, temp *place.Place, n note) error {
	kept := place.In(locks, "kept-"+rand.Text()[:12], nil)
	where := filepath.Join(w.locks, kept.Name)
	if err := renameNew(temp, kept); err != nil {
		if n.Temp == "" {
			return err
		}
		where = filepath.Join(n.Directory, n.Temp)
	}
	w.warn(fmt.Sprintf("a server was killed in the moment in which somebody else replaced %s, which has been written "+
		"again since; the other version is kept as %s",
		refusal.Show(filepath.Join(n.Directory, n.Name)), refusal.Show(where)))
	return nil
}
