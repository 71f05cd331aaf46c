package archive

import (
	"archive/zip"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/tree"
)

// directoryShare bounds what is read of a zip's directory, in bytes for each entry that
// the limits allow: its entries are held in memory.
const directoryShare = 256

// OpenZip lists the regular files of the zip of size bytes in r, in byte order of their
// paths, and returns the function that opens them; what it opens gives exactly the
// declared size with the declared checksum or an error. It refuses what [Walk] refuses,
// and files that share bytes, compression methods other than store and deflate,
// encryption, and data before the first or after the last record.
func OpenZip(r io.ReaderAt, size int64, limits Limits) ([]tree.File, tree.Open, error) {
	limits = limits.orDefault()
	refuse := func(p Problem, path, format string, args ...any) error {
		return &Error{Problem: p, Layer: layerZip, Path: path, Detail: fmt.Sprintf(format, args...)}
	}
	if size > limits.Packed {
		return nil, nil, &Error{Problem: ProblemTooLarge, Layer: layerArchive, Detail: fmt.Sprintf("more than %d bytes", limits.Packed)}
	}
	tooMany := refuse(ProblemTooManyEntries, "", "more than %d entries or directories", limits.Entries)
	budget := &budgeted{r: r, left: 1<<18 + int64(limits.Entries)*directoryShare, over: tooMany}
	z, err := zip.NewReader(budget, size)
	if err != nil {
		return nil, nil, zipError("", err)
	}
	if len(z.File) > limits.Entries {
		return nil, nil, tooMany
	}
	budget.free = true
	if end := size - 22 - int64(len(z.Comment)); end < 0 || !begins(r, end, "PK\x05\x06") {
		return nil, nil, refuse(ProblemTrailingData, "", "data after the end")
	} else if end > 0 && !begins(r, 0, "PK\x03\x04") {
		return nil, nil, refuse(ProblemTrailingData, "", "data before the first file")
	}
	var (
		names    Names
		files    []tree.File
		byPath   = map[string]*zip.File{}
		spans    [][2]int64
		unpacked uint64
	)
	for _, f := range z.File {
		path, isDir := strings.CutSuffix(f.Name, "/")
		mode := f.Mode()
		switch {
		case f.Flags&1 != 0:
			return nil, nil, refuse(ProblemMethod, f.Name, "an encrypted file")
		case f.Method != zip.Store && f.Method != zip.Deflate:
			return nil, nil, refuse(ProblemMethod, f.Name, "compressed by method %d, not by 0 or 8", f.Method)
		case mode&fs.ModeSymlink != 0:
			return nil, nil, refuse(ProblemLink, f.Name, "a link; only regular files may be there")
		case isDir != mode.IsDir() || !mode.IsDir() && !mode.IsRegular():
			return nil, nil, refuse(ProblemSpecial, f.Name, "neither a regular file nor a directory")
		case isDir && f.UncompressedSize64 > 0:
			return nil, nil, refuse(ProblemSpecial, f.Name, "a directory with content")
		case isDir:
			err = names.addDir(path)
		default:
			err = names.Add(path)
		}
		if err != nil {
			return nil, nil, at(layerZip, err)
		}
		if err := names.within(limits, layerZip); err != nil {
			return nil, nil, err
		}
		if unpacked += f.UncompressedSize64; f.UncompressedSize64 > uint64(limits.Unpacked) || unpacked > uint64(limits.Unpacked) {
			return nil, nil, refuse(ProblemTooLarge, "", "more than %d bytes unpacked", limits.Unpacked)
		}
		offset, err := f.DataOffset()
		if err != nil {
			return nil, nil, zipError(f.Name, err)
		}
		if f.CompressedSize64 > uint64(size-offset) {
			return nil, nil, refuse(ProblemTruncated, f.Name, "ends inside this file")
		}
		spans = append(spans, [2]int64{offset, offset + int64(f.CompressedSize64)})
		if !isDir {
			files = append(files, tree.File{Path: path, Size: int64(f.UncompressedSize64), Exec: mode&0o111 != 0})
			byPath[path] = f
		}
	}
	if (int64(unpacked)-RatioFloor)/limits.Ratio > size {
		return nil, nil, refuse(ProblemTooCompressed, "", "%d bytes packed give more than %d times as many", size, limits.Ratio)
	}
	slices.SortFunc(spans, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
	for i := 1; i < len(spans); i++ {
		if spans[i][0] < spans[i-1][1] {
			return nil, nil, refuse(ProblemOverlap, "", "two files share bytes")
		}
	}
	slices.SortFunc(files, func(a, b tree.File) int { return strings.Compare(a.Path, b.Path) })
	open := func(path string) (io.ReadCloser, error) {
		f := byPath[path]
		if f == nil {
			return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
		}
		body, err := f.Open()
		if err != nil {
			return nil, zipError(path, err)
		}
		return &zipFile{body, path}, nil
	}
	return files, open, nil
}

// zipFile is the content of a file of a zip. Package zip checks its checksum, and that
// it is no shorter than declared; it gives no more than declared.
type zipFile struct {
	io.ReadCloser
	path string
}

func (f *zipFile) Read(p []byte) (int, error) {
	n, err := f.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = zipError(f.path, err)
	}
	return n, err
}

// budgeted refuses to read more than left bytes until it is free.
type budgeted struct {
	r    io.ReaderAt
	left int64
	over error
	free bool
}

func (b *budgeted) ReadAt(p []byte, off int64) (int, error) {
	if !b.free {
		if b.left -= int64(len(p)); b.left < 0 {
			return 0, b.over
		}
	}
	return b.r.ReadAt(p, off)
}

// begins reports whether text stands at offset.
func begins(r io.ReaderAt, offset int64, text string) bool {
	buf := make([]byte, len(text))
	n, _ := r.ReadAt(buf, offset)
	return n == len(text) && string(buf) == text
}

// zipError is an error of reading a zip.
func zipError(path string, err error) error {
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	switch {
	case errors.Is(err, zip.ErrChecksum):
		return &Error{Problem: ProblemChecksum, Layer: layerZip, Path: path, Detail: "the checksum of this file is wrong"}
	case errors.Is(err, zip.ErrAlgorithm):
		return &Error{Problem: ProblemMethod, Layer: layerZip, Path: path, Detail: "compressed by a method other than 0 or 8"}
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return &Error{Problem: ProblemTruncated, Layer: layerZip, Path: path, Detail: "ends early"}
	case errors.Is(err, zip.ErrFormat), isCorrupt(err):
		return &Error{Problem: ProblemNotZip, Layer: layerZip, Path: path, Detail: "not a zip, or corrupt"}
	}
	return err
}
