// Package disk changes files and directories for the tools of the editing server.
//
// A file is replaced by a new one in the same directory, with the mode, owner and extended attributes of the old one,
// after fsync, under an advisory lock that all processes of the user share. Where the system can exchange two files
// (Linux), the old one is examined after the exchange; if it is not the file that the edit was made for, the two are
// exchanged back. So a writer who does not know the lock loses nothing. On other systems bytes that somebody writes
// between the last comparison and the renaming are lost.
//
// # Limits
//
// A writer who holds the old file open while it is replaced, and writes later, writes into a file without a name.
package disk

import (
	"errors"
	"os"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/contents"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
)

// Writer changes what places stand for.
type Writer struct {
	locks     string
	hardLinks bool
}

// NewWriter returns a writer that keeps its locks in the directory locks, which is created when it is needed. With
// hardLinks it writes files that have several names, in place.
func NewWriter(locks string, hardLinks bool) *Writer { return &Writer{locks, hardLinks} }

// ErrReplaced is the error of a file that another process changed after it was read.
var ErrReplaced = errors.New("was changed by somebody else while it was edited")

// Replace makes data the content of the file at p, which was read as old. After an error the file is as it was, or as
// another process left it. The error wraps ErrReplaced if the file is not the one that was read.
func (w *Writer) Replace(p *place.Place, old contents.Contents, data []byte) error {
	if err := p.CheckUnmoved(); err != nil {
		return err
	}
	// The old file is opened for its metadata. It is opened for writing too, so that a file that may not be written is
	// not replaced either.
	from, opened, err := p.Open(os.O_RDWR)
	if err != nil {
		return err
	}
	defer from.Close()
	if !os.SameFile(old.Info, opened) {
		return ErrReplaced
	}
	if n := countLinks(from); n > 1 {
		if !w.hardLinks {
			return refusal.New(refusal.HardLink,
				"%s has %d names (hard links), which an atomic replacement would tear apart; the server writes such "+
					"files only with --hard-links", refusal.Show(p.Asked), n)
		}
		return overwriteFile(p, old, data)
	}
	temp := tempName(p.Name)
	mine, err := writeTemp(p.Parent(), temp, data, func(f *os.File) error { return copyMetadata(from, f, old.Info) })
	if err != nil {
		return err
	}
	defer mine.Close()
	if err := p.CheckUnmoved(); err != nil {
		p.Parent().Remove(temp)
		return err
	}
	if err := swap(p.Parent(), temp, p.Name, mine, old); err != nil {
		return err
	}
	return syncDir(p.Parent())
}

// overwriteFile writes into the file itself, so that all its names show the new bytes. A crash may leave a mixture of
// old and new bytes.
func overwriteFile(p *place.Place, old contents.Contents, data []byte) error {
	f, opened, err := p.Open(os.O_RDWR)
	if err != nil {
		return err
	}
	defer f.Close()
	if !os.SameFile(old.Info, opened) {
		return ErrReplaced
	}
	if same, err := old.IsIn(f); err != nil || !same {
		return errors.Join(err, ErrReplaced)
	}
	write := func(data []byte) error {
		if _, err := f.WriteAt(data, 0); err != nil {
			return err
		}
		return errors.Join(f.Truncate(int64(len(data))), f.Sync())
	}
	if err := write(data); err != nil {
		return errors.Join(err, write(old.Data)) // a full disk: the old bytes have room
	}
	return nil
}

// isUnchanged reports whether a name still stands for the file that was read, and the file has the same bytes.
func isUnchanged(dir *os.Root, name string, old contents.Contents) bool {
	p := place.In(dir, name, old.Info)
	f, opened, err := p.Open(os.O_RDONLY)
	if err != nil {
		return false
	}
	defer f.Close()
	same, err := old.IsIn(f)
	return err == nil && same && os.SameFile(opened, old.Info)
}

// swapUnguarded does the work of swap where two names cannot be exchanged. Bytes that another process writes between
// the comparison and the renaming are lost.
func swapUnguarded(dir *os.Root, temp, name string, old contents.Contents) error {
	if !isUnchanged(dir, name, old) {
		dir.Remove(temp)
		return ErrReplaced
	}
	if err := dir.Rename(temp, name); err != nil {
		dir.Remove(temp)
		return err
	}
	return nil
}
