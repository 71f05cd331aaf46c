package disk

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
)

// Create writes data to a new file at a place where nothing is. If another process created a file of that name
// meanwhile, that file stays, and the error wraps fs.ErrExist.
func (w *Writer) Create(p *place.Place, data []byte) error {
	if err := p.CheckUnmoved(); err != nil {
		return err
	}
	temp := p.Sibling(tempName(p.Name))
	f, err := writeTemp(p.Parent(), temp.Name, data, nil)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Close(), p.CheckUnmoved()); err != nil {
		p.Parent().Remove(temp.Name)
		return err
	}
	if err := renameNew(temp, p); err != nil {
		p.Parent().Remove(temp.Name)
		return err
	}
	return syncDir(p.Parent())
}

// tempName returns the name of a temporary file beside the file of a name.
func tempName(name string) string {
	if len(name) > 200 { // names end at 255 bytes
		name = strings.ToValidUTF8(name[:200], "")
	}
	return "." + name + "." + rand.Text()[:12] + ".tmp"
}

// writeTemp creates a file with data and syncs it. Prepare, unless it is nil, sets what the file is to have besides
// its bytes. On an error no file is left. The file stays open, so that the system does not give its inode number to
// another file before the caller closes it.
func writeTemp(dir *os.Root, name string, data []byte, prepare func(*os.File) error) (f *os.File, err error) {
	perm := fs.FileMode(0o666)
	if prepare != nil {
		perm = 0o600 // until prepare sets that of the old file
	}
	if f, err = dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm); err != nil {
		return nil, err
	}
	made := f
	defer func() {
		if err != nil {
			made.Close()
			dir.Remove(name)
		}
	}()
	if _, err := f.Write(data); err != nil {
		return nil, err
	}
	if prepare != nil {
		if err := prepare(f); err != nil {
			return nil, err
		}
	}
	if err := f.Sync(); err != nil {
		return nil, err
	}
	return f, nil
}

// syncDir syncs the names in a directory to the disk.
func syncDir(dir *os.Root) error {
	if !canSyncDirs {
		return nil
	}
	d, err := dir.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
