package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
)

// Create writes data to a new file at a place where nothing is. If another process created a file of that name
// meanwhile, that file stays, and the error wraps fs.ErrExist.
func (w *writer) Create(p *place.Place, data []byte) error {
	if err := p.CheckUnmoved(); err != nil {
		return err
	}
	d, err := w.newDraft(p, 0o666, func(f *os.File) error {
		_, err := f.Write(data)
		return err
	})
	if err != nil {
		return err
	}
	defer d.close()
	if err := p.CheckUnmoved(); err != nil {
		return err
	}
	if err := d.create(p); err != nil {
		return err
	}
	return syncDir(p.Parent())
}

// Replace makes data the content of the file at p, which was read as old. After an error the file is as it was, or as
// another process left it. The error wraps ErrReplaced if the file is not the one that was read. Lost says what else
// is not as it was, each as "owner: …", because the system did not let it be kept; none is the rule.
func (w *writer) Replace(p *place.Place, old Contents, data []byte) (lost []string, err error) {
	if err := p.CheckUnmoved(); err != nil {
		return nil, err
	}
	// The old file is opened for its metadata. It is opened for writing too, so that a file that may not be written is
	// not replaced either.
	from, opened, err := p.Open(os.O_RDWR)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	if !os.SameFile(old.Info, opened) {
		return nil, errReplaced
	}
	if n := countLinks(from); n > 1 {
		if !w.hardLinks {
			return nil, place.Refuse(place.HardLink,
				"%s has %d names (hard links), which an atomic replacement would tear apart; the server writes such "+
					"files only with --hard-links", place.Show(p.Asked), n)
		}
		return nil, overwriteFile(p, old, data)
	}
	lost, err = w.exchangeFile(p, from, old, data)
	if !errors.Is(err, errNoExchange) {
		return lost, err
	}
	if err := overwriteFile(p, old, data); err != nil {
		return nil, err
	}
	lost = []string{"not atomic: the file was written in place, because the system does not let it be replaced"}
	if now, err := from.Stat(); err == nil && now.Mode() != opened.Mode() {
		lost = append(lost, fmt.Sprintf("mode: was %s, is now %s", opened.Mode(), now.Mode()))
	}
	return lost, nil
}

// exchangeFile replaces the file at p, which is open as from, by a new one. The error wraps errNoExchange if the
// directory does not allow it; then nothing was changed.
func (w *writer) exchangeFile(p *place.Place, from *os.File, old Contents, data []byte) ([]string, error) {
	var lost []string
	d, err := w.newDraft(p, 0o600, func(f *os.File) (err error) {
		if _, err = f.Write(data); err == nil {
			lost, err = copyMetadata(from, f, old.Info)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	defer d.close()
	if err := p.CheckUnmoved(); err != nil {
		return nil, err
	}
	switch err := d.replace(p, old); {
	case err == nil:
		return lost, syncDir(p.Parent())
	case isNoExchange(err):
		return nil, fmt.Errorf("%w: %w", errNoExchange, err)
	default:
		return nil, err
	}
}

// isNoExchange reports whether an error says that the system does not let a file be replaced: its directory may not be
// written, or is read-only; another file is mounted over it, as containers do; or it is of another quota.
func isNoExchange(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.EBUSY) ||
		errors.Is(err, syscall.EXDEV)
}

// overwriteFile writes into the file itself, so that all its names show the new bytes. A crash may leave a mixture of
// old and new bytes.
func overwriteFile(p *place.Place, old Contents, data []byte) error {
	f, opened, err := p.Open(os.O_RDWR)
	if err != nil {
		return err
	}
	defer f.Close()
	if !os.SameFile(old.Info, opened) {
		return errReplaced
	}
	if same, err := old.IsIn(f); err != nil {
		return err
	} else if !same {
		return errReplaced
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

// isUnchanged reports whether a temporary name stands for the file that was read, and the file has the same bytes.
func isUnchanged(at *place.Place, old Contents) bool {
	p := place.In(at.Parent(), at.Name, old.Info)
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
func swapUnguarded(temp, p *place.Place, old Contents) error {
	err := errReplaced
	if isUnchanged(p, old) {
		if err = renameOver(temp, p); err == nil {
			return nil
		}
	}
	temp.Parent().Remove(temp.Name)
	return err
}
