package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
)

// note says what a call is about to do under a temporary name, so that it can be ended if the server is killed. It
// stands in the directory of the locks as long as something may have the temporary name, under the lock of the file
// that is changed. One lock has one note, because its holder does one thing after another.
type note struct {
	Directory string // real path of the directory of the file that is changed
	Held      stamp  // that directory
	Name      string // of the file
	Temp      string // the temporary name in Directory; "" is the lock's file in the directory of the locks

	// Displaces says that what the file's name stood for may have the temporary name. Otherwise only a new file has it.
	Displaces bool
	Mine      stamp  // the new file; zero if the file is removed and not replaced
	Old       stamp  // the file that may be removed
	OldHash   string // of its bytes
}

// Names of the files of a lock.
const (
	noteSuffix = ".note"
	tempSuffix = ".file"
)

// notePlace returns a note about the file of a place.
func notePlace(p *place.Place) (note, error) {
	info, err := p.Parent().Stat(".")
	if err != nil {
		return note{}, err
	}
	return note{Directory: p.Directory(), Held: stampOf(info), Name: p.Name}, nil
}

const noteFormat = "1 %q %q %q %t %s %s %s %q\n"

// text returns the note as it stands in its file.
func (n note) text() []byte {
	return fmt.Appendf(nil, noteFormat, n.Directory, n.Name, n.Temp, n.Displaces, n.Held, n.Mine, n.Old, n.OldHash)
}

// parseNote is the reverse of text.
func parseNote(text []byte) (n note, err error) {
	_, err = fmt.Sscanf(string(text), "1 %q %q %q %t %d %d %d %d %d %d %d %d %d %d %d %d %q\n",
		&n.Directory, &n.Name, &n.Temp, &n.Displaces,
		&n.Held.Device, &n.Held.Inode, &n.Held.Size, &n.Held.Modified,
		&n.Mine.Device, &n.Mine.Inode, &n.Mine.Size, &n.Mine.Modified,
		&n.Old.Device, &n.Old.Inode, &n.Old.Size, &n.Old.Modified, &n.OldHash)
	if err == nil && string(n.text()) != string(text) {
		err = errors.New("it is not a whole note")
	}
	return n, err
}

// maxNote is the greatest size of a note, in bytes: paths are of 4096, and a byte takes four if it is no text.
const maxNote = 64 << 10

// readNote returns the note of a lock. The error wraps fs.ErrNotExist if there is none.
func readNote(path, slot string) (n note, err error) {
	info, err := os.Lstat(path)
	if err != nil {
		return n, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxNote {
		return n, errors.New("it is no note")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return n, err
	}
	if n, err = parseNote(text); err == nil && !n.isOf(slot) {
		return note{}, errors.New("it is not of this lock")
	}
	return n, err
}

// isOf reports whether a note is one that a call would write under a lock: about a name in a directory, and a temporary
// name of that. Names are not looked up below or above their directory.
func (n note) isOf(slot string) bool {
	return filepath.IsAbs(n.Directory) && filepath.Clean(n.Directory) == n.Directory &&
		n.Name == filepath.Base(n.Name) && n.Name != "." && n.Name != ".." && n.Name != string(filepath.Separator) &&
		slotOf(filepath.Join(n.Directory, n.Name)) == slot && (n.Temp == "" || isTempName(n.Temp, n.Name))
}

// begin writes a note about p, before anything has the temporary name temp. Done removes it if nothing has the name any
// longer.
func (w *Writer) begin(p, temp *place.Place, n note) (done func(), err error) {
	path := filepath.Join(w.locks, slotOf(p.Real())+noteSuffix)
	// It gets its name when it is whole. It need not survive a crash of the system, only one of the server.
	if err = os.WriteFile(path+".new", n.text(), 0o600); err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return nil, refusal.New(refusal.IO, "%s: nothing can be noted in the directory for locks: %s",
			refusal.Show(p.Asked), refusal.Show(refusal.Cause(err).Error()))
	}
	return func() {
		if _, err := temp.Parent().Lstat(temp.Name); errors.Is(err, fs.ErrNotExist) {
			os.Remove(path)
		}
	}, nil
}

// withTemporary calls do with a temporary name for the file of p: one in the directory of the locks, or if that lies on
// another mount, one beside the file.
func (w *Writer) withTemporary(p *place.Place, n note, do func(temp *place.Place) error) error {
	if movesBetweenDirectories {
		locks, err := os.OpenRoot(w.locks)
		if err != nil {
			return refusal.New(refusal.IO, "the directory for locks cannot be opened: %s",
				refusal.Show(refusal.Cause(err).Error()))
		}
		defer locks.Close()
		err = w.noted(p, place.In(locks, slotOf(p.Real())+tempSuffix, nil), n, do)
		if !errors.Is(err, syscall.EXDEV) {
			return err
		}
	}
	temp := p.Sibling(tempName(p.Name))
	n.Temp = temp.Name
	return w.noted(p, temp, n, do)
}

// noted calls do with a temporary name while a note about it stands.
func (w *Writer) noted(p, temp *place.Place, n note, do func(temp *place.Place) error) error {
	done, err := w.begin(p, temp, n)
	if err != nil {
		return err
	}
	defer done()
	return do(temp)
}
