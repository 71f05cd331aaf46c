package fetch

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// maxZipList is how much is read of the list of files at the end of a zip, in bytes. The
// list is held in memory whole, and an entry of 46 bytes becomes some hundreds there.
const maxZipList = 4 << 20

// The record that ends a zip, and the one before it of a zip that has its numbers in 64
// bits.
const (
	zipEnd         = "PK\x05\x06"
	zipEndRoom     = 22 + 1<<16 // bytes in which zipEnd must begin: itself and its comment
	zip64Locator   = "PK\x06\x07"
	zip64LocatorAt = 20 // bytes before zipEnd
)

// openZip opens a zip whose list of files is of a bounded size. The 64-bit form is
// refused, which nothing needs that may be fetched: in it a few bytes announce so many
// files that the library sets a large part of memory aside for them.
func openZip(f *os.File) (*zip.Reader, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	tail := make([]byte, min(info.Size(), zipEndRoom+zip64LocatorAt))
	if _, err := f.ReadAt(tail, info.Size()-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	at := bytes.LastIndex(tail, []byte(zipEnd))
	if at < 0 {
		return nil, zip.ErrFormat
	}
	if at >= zip64LocatorAt && bytes.HasPrefix(tail[at-zip64LocatorAt:], []byte(zip64Locator)) {
		return nil, errors.New("zip: the 64-bit form is not read")
	}
	r := &zipReader{f: f, left: maxZipList + 2*zipEndRoom} // the library looks for the end by itself
	z, err := zip.NewReader(r, info.Size())
	r.open = err == nil
	return z, err
}

// zipReader gives no more of a file than left until it is open. The library reads entries
// as long as there are any, however many are announced.
type zipReader struct {
	f    *os.File
	left int
	open bool
}

func (r *zipReader) ReadAt(p []byte, at int64) (int, error) {
	if !r.open {
		if r.left -= len(p); r.left < 0 {
			return 0, fmt.Errorf("zip: its list of files has more than %s bytes", evidence.Group(maxZipList))
		}
	}
	return r.f.ReadAt(p, at)
}
