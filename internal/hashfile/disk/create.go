package disk

import (
	"os"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
)

// Create writes data to a new file at a place where nothing is. If another process created a file of that name
// meanwhile, that file stays, and the error wraps fs.ErrExist.
func (w *Writer) Create(p *place.Place, data []byte) error {
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
