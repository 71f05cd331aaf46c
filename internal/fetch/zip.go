package fetch

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/hallmark-mcp/hallmark/archive"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// Bounds of the list of files at the end of a zip, in bytes. The list is held in memory
// whole, and an entry of 46 bytes becomes some hundreds there.
const (
	maxZipList   = 4 << 20  // of a package that is looked into
	maxWheelList = 32 << 20 // of one that is checked, and installed by another program
)

// zipped is the zip of a package: the paths of its files in byte order, and how they are
// opened.
type zipped struct {
	paths []string
	open  func(path string) (io.ReadCloser, error)
}

// openZip opens the zip of a package, whose list of files is of a bounded size. What its
// files may unpack to is not bounded: of those that are read, only a part is.
func openZip(f *os.File, list int64) (*zipped, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	const unbounded = 1 << 40 // bytes, or times
	files, open, err := archive.OpenPackageZip(f, info.Size(), archive.Limits{
		Packed: unbounded, Unpacked: unbounded, Ratio: unbounded, Entries: int(list / 46), Directory: list,
	})
	if e, ok := errors.AsType[*archive.Error](err); ok && e.Problem == archive.ProblemTooManyEntries {
		err = fmt.Errorf("zip: its list of files has more than %s bytes", evidence.Group(list))
	}
	if err != nil {
		return nil, err
	}
	z := &zipped{open: open}
	for _, f := range files {
		z.paths = append(z.paths, f.Path)
	}
	return z, nil
}

// read reads a file, at most limit bytes.
func (z *zipped) read(path string, limit int64) ([]byte, error) {
	r, err := z.open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s is larger than %s bytes", wire.Quoted(path), evidence.Group(limit))
	}
	return data, err
}
