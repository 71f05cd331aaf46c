package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
)

// draft is a complete new file that does not have its name yet. It is open as long as it is compared with others, so
// that the system does not give its inode number to another file.
type draft struct {
	*os.File
	w    *writer
	temp *place.Place // its temporary name; nil if it has none, where the system can make such files
}

// newDraft makes a new file for a place, in the same directory, and syncs it; fill writes what it holds. Perm is
// reduced by the umask, or by what the directory gives to new files. The error wraps errNoExchange if the system does
// not allow to make files there.
func (w *writer) newDraft(p *place.Place, perm fs.FileMode, fill func(*os.File) error) (_ *draft, err error) {
	d := &draft{w: w}
	d.File, err = openUnnamed(p.Parent(), perm)
	if errors.Is(err, errors.ErrUnsupported) {
		err = d.openNamed(p, perm)
	}
	if err != nil {
		if isNoExchange(err) {
			err = fmt.Errorf("%w: %w", errNoExchange, err)
		}
		return nil, err
	}
	if err = fill(d.File); err == nil {
		err = d.Sync()
	}
	if err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

// openNamed makes the file of a draft under a temporary name beside p.
func (d *draft) openNamed(p *place.Place, perm fs.FileMode) (err error) {
	temp := beside(p)
	if d.File, err = p.Parent().OpenFile(temp.Name, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm); err == nil {
		d.temp = temp
	}
	return err
}

// close ends a draft. If it did not get a name, it is gone.
func (d *draft) close() {
	d.Close()
	if d.temp != nil {
		d.temp.Parent().Remove(d.temp.Name)
	}
}

// create gives a draft the name of a place where nothing is. The error wraps fs.ErrExist if something is there.
func (d *draft) create(p *place.Place) error {
	if d.temp == nil {
		return linkUnnamed(d.File, p)
	}
	err := renameNew(d.temp, p)
	if err == nil {
		d.temp = nil
	}
	return err
}

// replace gives a draft the name of the file at p, if that is still the file that was read as old.
func (d *draft) replace(p *place.Place, old Contents) error {
	if temp := d.temp; temp != nil {
		d.temp = nil // swap leaves nothing of ours there
		return swap(temp, p, d.File, old)
	}
	temp, release, err := d.w.setAside(p, func(temp *place.Place) error { return linkUnnamed(d.File, temp) })
	if err != nil {
		return err
	}
	defer release()
	return swap(temp, p, d.File, old)
}
