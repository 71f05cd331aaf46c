package archive

import (
	"encoding/binary"
	"fmt"
	"io"
)

// Signatures of the records of a zip.
const (
	zipLocal      = "PK\x03\x04"
	zipDescriptor = "PK\x07\x08"
	zipCentral    = "PK\x01\x02"
	zipEnd        = "PK\x05\x06"
	zip64End      = "PK\x06\x06"
	zip64Locator  = "PK\x06\x07"
)

// Sizes of records, in bytes, without what varies.
const (
	zipLocalSize     = 30
	zipCentralSize   = 46
	zipEndSize       = 22
	zip64EndSize     = 56
	zip64LocatorSize = 20
)

// What a field of 16 or 32 bits holds if its number stands elsewhere, in 64 bits.
const (
	zipAbsent16 = 1<<16 - 1
	zipAbsent32 = 1<<32 - 1
)

// maxZipVersion is the newest version of the format that an entry may need: 4.5, which has
// the numbers of 64 bits.
const maxZipVersion = 45

// le is the byte order of all numbers in a zip.
var le = binary.LittleEndian

// zipReader reads one zip; each record has a file of its own.
type zipReader struct {
	r      io.ReaderAt
	limits Limits
}

func (z *zipReader) refuse(p Problem, path, format string, args ...any) error {
	return &Error{Problem: p, Layer: layerZip, Path: path, Detail: fmt.Sprintf(format, args...)}
}

// read fills p with the bytes from offset on. If the zip ends before, the error is an [*Error]
// that names path.
func (z *zipReader) read(p []byte, offset int64, path string) error {
	n, err := z.r.ReadAt(p, offset)
	switch {
	case n == len(p):
		return nil
	case err == io.EOF || err == io.ErrUnexpectedEOF || err == nil:
		return z.refuse(ProblemTruncated, path, "ends early")
	}
	return err
}
