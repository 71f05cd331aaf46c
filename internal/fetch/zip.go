package fetch

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// Bounds of the list of files at the end of a zip, in bytes. The whole list is held in memory,
// where an entry of 46 bytes takes some hundreds.
const (
	maxZipList   = 4 << 20  // of a .nupkg
	maxWheelList = 32 << 20 // of a wheel, and of its RECORD
)

// zipFile is the zip of a package: the paths of its files in byte order, and how they are
// opened.
type zipFile struct {
	paths      []string
	executable map[string]bool // by path: whether any execute permission is set
	open       func(path string) (io.ReadCloser, error)
}

// openZip opens the zip of a package, whose list of files has at most list bytes.
func openZip(f *os.File, list int64) (*zipFile, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	const unbounded = 1 << 40 // bytes, or times
	files, open, err := archive.OpenPackageZip(f, info.Size(), archive.Limits{
		Packed: unbounded, Unpacked: maxUnpacked, Ratio: unbounded, Entries: int(list / 46), Directory: list,
	})
	if e, ok := errors.AsType[*archive.Error](err); ok && e.Problem == archive.ProblemTooManyEntries {
		err = fmt.Errorf("zip: its list of files has more than %s bytes", evidence.Group(list))
	}
	if err != nil {
		return nil, err
	}
	z := &zipFile{open: open, executable: map[string]bool{}}
	for _, f := range files {
		z.paths, z.executable[f.Path] = append(z.paths, f.Path), f.Exec
	}
	return z, nil
}

// read reads the file path of the zip. One of more than limit bytes is an error.
func (z *zipFile) read(path string, limit int64) ([]byte, error) {
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
