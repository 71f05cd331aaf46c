package archive

import (
	"bufio"
	"bytes"
	"compress/flate"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"sync"
)

// open returns the content of an entry.
func (z *zipReader) open(e *zipMember) io.ReadCloser {
	packed := bufio.NewReader(io.NewSectionReader(z.r, e.body, e.packed))
	f := &zipFile{z: z, e: e, packed: packed, left: e.size}
	switch {
	case e.method == methodDeflate:
		f.unpack = newInflater(packed) // reads no byte beyond the end of the stream
	case e.flags&flagDescriptor != 0:
		found := z.refuse(ProblemContradiction, e.name,
			"is stored, and holds what could be taken for the record after it")
		f.unpack = io.NopCloser(&noDescriptor{r: packed, found: found})
	default:
		f.unpack = io.NopCloser(packed)
	}
	return f
}

// zipFile gives the content of an entry: exactly its size, with its checksum, from all of
// its packed bytes.
type zipFile struct {
	z      *zipReader
	e      *zipMember
	packed *bufio.Reader
	unpack io.ReadCloser
	left   int64
	sum    uint32
	err    error // of all further reads
}

func (f *zipFile) Close() error { return f.unpack.Close() }

// inflaters are flate's readers that nobody uses now: a zip may have a hundred thousand small files, and each reader
// has a window of its own.
var inflaters sync.Pool

// inflater is a reader of flate until it is closed.
type inflater struct{ io.ReadCloser }

func newInflater(r io.Reader) *inflater {
	if used, ok := inflaters.Get().(io.ReadCloser); ok && used.(flate.Resetter).Reset(r, nil) == nil {
		return &inflater{used}
	}
	return &inflater{flate.NewReader(r)}
}

// Close gives the reader back. A further Close does nothing.
func (i *inflater) Close() error {
	if used := i.ReadCloser; used != (closedReader{}) {
		i.ReadCloser = closedReader{}
		inflaters.Put(used)
	}
	return nil
}

// closedReader is what a closed file gives.
type closedReader struct{}

func (closedReader) Read([]byte) (int, error) { return 0, fs.ErrClosed }
func (closedReader) Close() error             { return nil }

func (f *zipFile) Read(p []byte) (int, error) {
	if f.err != nil || len(p) == 0 {
		return 0, f.err
	}
	if f.left == 0 {
		f.err = f.checkEnd()
		return 0, f.err
	}
	n, err := f.unpack.Read(p[:min(int64(len(p)), f.left)])
	f.sum = crc32.Update(f.sum, crc32.IEEETable, p[:n])
	f.left -= int64(n)
	switch {
	case err == io.EOF && f.left > 0:
		f.err = f.z.refuse(ProblemTruncated, f.e.name, "has fewer bytes than it declares")
	case err != nil && err != io.EOF:
		f.err = f.contentError(err)
	case f.left == 0: // before the last bytes are returned: they may be wrong
		f.err = f.checkEnd()
	}
	if f.err != nil && f.err != io.EOF {
		return 0, f.err
	}
	return n, f.err
}

// checkEnd checks what is known only at the end of the content, and returns io.EOF.
func (f *zipFile) checkEnd() error {
	for range 100 { // a stream may say that it ends in blocks that hold nothing
		n, err := f.unpack.Read(make([]byte, 1))
		switch {
		case n > 0:
			return f.z.refuse(ProblemTrailingData, f.e.name, "has more bytes than it declares")
		case err == nil:
			continue
		case err != io.EOF:
			return f.contentError(err)
		}
		if _, err := f.packed.ReadByte(); err == nil {
			return f.z.refuse(ProblemTrailingData, f.e.name, "has data after the end of its compressed content")
		} else if err != io.EOF {
			return f.contentError(err)
		}
		if f.sum != f.e.checksum {
			return f.z.refuse(ProblemChecksum, f.e.name, "the checksum of this file is wrong")
		}
		return io.EOF
	}
	return io.ErrNoProgress
}

// contentError turns an error of reading the packed content into an [*Error], unless it is one
// of the reader that gave the bytes.
func (f *zipFile) contentError(err error) error {
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return f.z.refuse(ProblemTruncated, f.e.name, "ends early")
	case isCorrupt(err):
		return f.z.refuse(ProblemNotZip, f.e.name, "its compressed content is corrupt")
	}
	return err
}

// noDescriptor refuses a stored content that holds the signature of the record after it,
// because a program that reads from the beginning searches for the signature to find where
// the content ends.
type noDescriptor struct {
	r     io.Reader
	last  []byte // the at most three bytes before those to be read
	found error
}

func (d *noDescriptor) Read(p []byte) (int, error) {
	n, err := d.r.Read(p)
	seen := append(d.last, p[:n]...)
	if bytes.Contains(seen, []byte(zipDescriptor)) {
		return 0, d.found
	}
	d.last = bytes.Clone(seen[max(0, len(seen)-len(zipDescriptor)+1):])
	return n, err
}
