package disk

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/contents"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
)

// draft is a complete new file that does not have its name yet. It is open as long as it is compared with others, so
// that the system does not give its inode number to another file.
type draft struct {
	*os.File
	w    *Writer
	temp *place.Place // its temporary name; nil if it has none, where the system can make such files
	done func()       // ends the note of the temporary name; nil if there was none
}

// newDraft makes a new file for a place, in the same directory, and syncs it; fill writes what it holds. Perm is
// reduced by the umask, or by what the directory gives to new files. The error wraps errNoExchange if the system does
// not allow to make files there.
func (w *Writer) newDraft(p *place.Place, perm fs.FileMode, fill func(*os.File) error) (_ *draft, err error) {
	d := &draft{w: w}
	d.File, err = openUnnamed(p.Parent(), perm)
	if errors.Is(err, errors.ErrUnsupported) {
		err = d.openNamed(p, perm)
	}
	if err != nil {
		if d.done != nil {
			d.done()
		}
		if errors.Is(err, fs.ErrPermission) {
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
func (d *draft) openNamed(p *place.Place, perm fs.FileMode) error {
	n, err := notePlace(p)
	if err != nil {
		return err
	}
	temp := p.Sibling(tempName(p.Name))
	n.Temp = temp.Name
	if d.done, err = d.w.begin(p, temp, n); err != nil {
		return err
	}
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
	if d.done != nil {
		d.done()
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
func (d *draft) replace(p *place.Place, old contents.Contents) error {
	info, err := d.Stat()
	if err != nil {
		return err
	}
	n, err := notePlace(p)
	if err != nil {
		return err
	}
	n.Displaces, n.Mine, n.Old, n.OldHash = true, stampOf(info), stampOf(old.Info), old.Hash.String()
	if d.temp != nil {
		n.Temp = d.temp.Name
		return d.w.noted(p, d.temp, n, func(temp *place.Place) error {
			d.temp = nil // swap leaves nothing of ours there
			return swap(temp, p, d.File, old)
		})
	}
	return d.w.withTemporary(p, n, func(temp *place.Place) error {
		if err := linkUnnamed(d.File, temp); err != nil {
			return err
		}
		return swap(temp, p, d.File, old)
	})
}

// Parts of a temporary name: what is random, and what it ends with.
const (
	tempRandom = 12
	tempEnd    = ".tmp"
)

// tempName returns the name of a temporary file beside the file of a name.
func tempName(name string) string { return tempBegin(name) + rand.Text()[:tempRandom] + tempEnd }

func tempBegin(name string) string {
	if len(name) > 200 { // names end at 255 bytes
		name = strings.ToValidUTF8(name[:200], "")
	}
	return "." + name + "."
}

// isTempName reports whether tempName may have returned temp for a name.
func isTempName(temp, name string) bool {
	random, ok := strings.CutPrefix(temp, tempBegin(name))
	random, end := strings.CutSuffix(random, tempEnd)
	return ok && end && len(random) == tempRandom && strings.Trim(random, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == ""
}
