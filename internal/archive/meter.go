package archive

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/hallmark-mcp/hallmark/digest"
)

// bufferSize is the size of the buffers between the layers, in bytes. Because of the buffers,
// where limits are checked does not depend on how the caller reads.
const bufferSize = 64 << 10

// meter hashes and counts the bytes that pass, and refuses more than limit of them. After an
// error every Read returns it again.
type meter struct {
	r     io.Reader
	hash  *digest.Hasher
	over  *Error              // the error for more than limit bytes
	limit int64               // bytes
	check func(n int64) error // told the bytes that have passed; may be nil
	err   error
}

func newMeter(r io.Reader, over *Error, limit int64) *meter {
	return &meter{r: r, hash: digest.NewHasher(), over: over, limit: limit}
}

func (m *meter) Read(p []byte) (int, error) {
	if m.err != nil {
		return 0, m.err
	}
	n, err := m.r.Read(p)
	if n > 0 {
		m.hash.Write(p[:n])
	}
	if m.hash.Size() > m.limit {
		n, err = 0, m.over
	} else if m.check != nil {
		if bad := m.check(m.hash.Size()); bad != nil {
			n, err = 0, bad
		}
	}
	m.err = err
	return n, err
}

// gunzip calls walk with the content of the one gzip member that r consists of, and
// checks that walk has read it to its end.
func gunzip(r io.Reader, layer string, limits Limits, walk func(io.Reader) error) (*meter, error) {
	var read int64 // bytes taken from r
	in := bufio.NewReaderSize(readerFunc(func(p []byte) (int, error) {
		n, err := r.Read(p)
		read += int64(n)
		return n, err
	}), bufferSize)
	z, err := gzip.NewReader(in)
	if err != nil {
		return nil, gzipError(layer, err)
	}
	z.Multistream(false)
	over := &Error{Problem: ProblemTooLarge, Layer: layer,
		Detail: fmt.Sprintf("more than %d bytes unpacked", limits.Unpacked)}
	out := newMeter(readerFunc(func(p []byte) (int, error) {
		n, err := z.Read(p)
		if err != nil && err != io.EOF {
			err = gzipError(layer, err)
		}
		return n, err
	}), over, limits.Unpacked)
	out.check = func(n int64) error {
		// Without the first division a bomb could overflow the product.
		if packed := read - int64(in.Buffered()); (n-RatioFloor)/limits.Ratio > packed {
			return &Error{Problem: ProblemTooCompressed, Layer: layer,
				Detail: fmt.Sprintf("%d bytes packed give more than %d times as many", packed, limits.Ratio)}
		}
		return nil
	}
	if err := walk(out); err != nil {
		return nil, err
	}
	if n, err := io.ReadFull(out, make([]byte, 1)); n > 0 || err != io.EOF {
		if n > 0 {
			err = &Error{Problem: ProblemTrailingData, Layer: layer, Detail: "data after the end"}
		}
		return nil, err
	}
	next, err := in.Peek(2)
	switch {
	case len(next) == 2 && next[0] == 0x1f && next[1] == 0x8b:
		return nil, &Error{Problem: ProblemSecondMember, Layer: layer, Detail: "a second gzip member"}
	case len(next) > 0:
		return nil, &Error{Problem: ProblemTrailingData, Layer: layer, Detail: "data after the gzip member"}
	case err != io.EOF:
		return nil, err
	}
	return out, nil
}

// readerFunc is an [io.Reader] that calls itself.
type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// isCorrupt reports whether err says that a deflate stream is corrupt.
func isCorrupt(err error) bool {
	_, ok := errors.AsType[flate.CorruptInputError](err)
	return ok
}

// gzipError turns an error of the gzip reader into an [*Error]. Errors of the layers below and
// of the reader that gave the bytes stay as they are.
func gzipError(layer string, err error) error {
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return &Error{Problem: ProblemTruncated, Layer: layer, Detail: "the gzip member ends early"}
	case errors.Is(err, gzip.ErrChecksum):
		return &Error{Problem: ProblemChecksum, Layer: layer, Detail: "the gzip checksum is wrong"}
	case errors.Is(err, gzip.ErrHeader), isCorrupt(err):
		return &Error{Problem: ProblemNotGzip, Layer: layer, Detail: "not gzip, or corrupt"}
	}
	return err // of the reader: it says nothing about the archive
}
