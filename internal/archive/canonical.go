package archive

import (
	"bufio"
	"bytes"
	"fmt"
	"io"

	"github.com/hallmark-mcp/hallmark/tree"
)

// walkCanonical reads a canonical tar to its end.
func walkCanonical(r io.Reader, layer string, limits Limits, fn func(Entry, io.Reader) error) error {
	var (
		names Names
		last  string
	)
	t := newCanonicalTar(r, layer)
	for {
		e, err := t.next()
		if err != nil {
			return dropEOF(err)
		}
		if err := names.Add(e.Path); err != nil {
			return withLayer(layer, err)
		}
		if err := names.checkCount(limits, layer); err != nil {
			return err
		}
		if tree.CompareUTF16(last, e.Path) >= 0 {
			return &Error{Problem: ProblemUnsorted, Layer: layer, Path: e.Path,
				Detail: "path comes before " + quote(last) + " in the canonical order"}
		}
		last = e.Path
		if err := t.readContent(e, fn); err != nil {
			return err
		}
	}
}

// dropEOF returns nil for io.EOF, which signals the end of a tar.
func dropEOF(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}

// canonicalTar reads the headers and contents of a canonical tar, and refuses every byte that
// paths and contents do not determine. It does not check the order and the safety of paths.
type canonicalTar struct {
	r     *bufio.Reader
	layer string
	size  int64 // bytes of entries so far
	block [tree.TarBlock]byte
}

func newCanonicalTar(r io.Reader, layer string) *canonicalTar {
	return &canonicalTar{r: bufio.NewReaderSize(r, bufferSize), layer: layer}
}

func (t *canonicalTar) refuse(p Problem, path, format string, args ...any) error {
	return &Error{Problem: p, Layer: t.layer, Path: path, Detail: fmt.Sprintf(format, args...)}
}

// next reads the header of the next file. At the end of the tar, which it checks, it returns
// io.EOF.
func (t *canonicalTar) next() (Entry, error) {
	end := tree.TarEnd(t.size)
	n, err := io.ReadFull(t.r, t.block[:])
	switch {
	case err == io.EOF && end == 0:
		return Entry{}, io.EOF
	case err == io.EOF:
		return Entry{}, t.refuse(ProblemTruncated, "", "ends before the padding that completes %d bytes",
			tree.TarRecord)
	case err == io.ErrUnexpectedEOF && isZero(t.block[:n]):
		return Entry{}, t.refuse(ProblemTruncated, "", "ends inside its padding")
	case err == io.ErrUnexpectedEOF:
		return Entry{}, t.refuse(ProblemTruncated, "", "ends inside a header")
	case err != nil:
		return Entry{}, err
	case !isZero(t.block[:]):
		return t.parseHeader()
	case end == 0:
		return Entry{}, t.refuse(ProblemTrailingData, "", "an end block after a multiple of %d bytes", tree.TarRecord)
	}
	for left := end - tree.TarBlock; left > 0; left -= tree.TarBlock {
		if _, err := io.ReadFull(t.r, t.block[:]); err == io.EOF || err == io.ErrUnexpectedEOF {
			return Entry{}, t.refuse(ProblemTruncated, "", "ends inside its padding")
		} else if err != nil {
			return Entry{}, err
		}
		if !isZero(t.block[:]) {
			return Entry{}, t.refuse(ProblemTrailingData, "", "data after the end")
		}
	}
	if _, err := t.r.ReadByte(); err != io.EOF {
		if err == nil {
			err = t.refuse(ProblemTrailingData, "", "data after the end")
		}
		return Entry{}, err
	}
	return Entry{}, io.EOF
}

// parseHeader reads the header in t.block. The checks before the last one only say what is not
// canonical: the comparison with the canonical header would refuse the same headers.
func (t *canonicalTar) parseHeader() (Entry, error) {
	h := t.block[:]
	name, rest, _ := bytes.Cut(h[:tree.MaxTarPath], []byte{0})
	path := string(name)
	bad := func(p Problem, format string, args ...any) (Entry, error) {
		return Entry{}, t.refuse(p, path, format, args...)
	}
	claimed, ok := tarNumber(h[148:156])
	if !ok || claimed != checksum(h) {
		return bad(ProblemChecksum, "the checksum of the header is wrong")
	}
	if p, why := checkType(h[156]); why != "" {
		return bad(p, "%s", why)
	}
	switch {
	case string(h[257:265]) == "ustar  \x00":
		return bad(ProblemExtended, "a GNU header")
	case h[124]&0x80 != 0:
		return bad(ProblemBase256, "a size in base 256")
	case !isZero(h[345:500]):
		return bad(ProblemPrefix, "a prefix field")
	case !isZero(rest):
		return bad(ProblemHeader, "data after the end of the name")
	}
	size, ok := tarNumber(h[124:136])
	if !ok {
		return bad(ProblemHeader, "a size that is not octal")
	}
	want, err := tree.TarHeader(path, size)
	if err != nil {
		return bad(ProblemHeader, "no name, or a size beyond %d bytes", int64(tree.MaxTarSize))
	}
	for _, f := range []struct {
		name   string
		lo, hi int
	}{
		{"permissions", 100, 108}, {"an owner", 108, 116}, {"a group", 116, 124}, {"a time", 136, 148},
		{"an owner's or group's name", 265, 329},
	} {
		if !bytes.Equal(h[f.lo:f.hi], want[f.lo:f.hi]) {
			return bad(ProblemMetadata, "%s other than canonical", f.name)
		}
	}
	if !bytes.Equal(h, want) {
		return bad(ProblemHeader, "the header is not canonical")
	}
	t.size += tree.TarBlock
	return Entry{Path: path, Size: size}, nil
}

// checkType says what is wrong with the type of a member; nothing for a regular file.
func checkType(kind byte) (Problem, string) {
	switch kind {
	case '0':
		return "", ""
	case '1', '2':
		return ProblemLink, "a link; only regular files may be there"
	case '5':
		return ProblemDirectory, "a directory; only regular files may be there"
	case 'x', 'g', 'X':
		return ProblemExtended, "a PAX header"
	case 'L', 'K', 'N', 'D', 'S', 'M', 'V':
		return ProblemExtended, "a GNU header"
	case 0, '7':
		return ProblemHeader, "a regular file of another type than \"0\""
	}
	return ProblemSpecial, "neither a regular file nor a directory"
}

// readContent calls fn with the content of e, and reads what fn leaves of it and the padding.
func (t *canonicalTar) readContent(e Entry, fn func(Entry, io.Reader) error) error {
	body := &exactReader{r: t.r, left: e.Size, short: t.refuse(ProblemTruncated, e.Path, "ends inside this file")}
	if err := fn(e, body); err != nil {
		return err
	}
	if err := body.drain(); err != nil {
		return err
	}
	padding := t.block[:tree.TarPadding(e.Size)]
	if _, err := io.ReadFull(t.r, padding); err == io.EOF && len(padding) > 0 || err == io.ErrUnexpectedEOF {
		return t.refuse(ProblemTruncated, e.Path, "ends inside the padding of this file")
	} else if err != nil && err != io.EOF {
		return err
	}
	if !isZero(padding) {
		return t.refuse(ProblemPadding, e.Path, "the padding of this file is not zero")
	}
	t.size += e.Size + int64(len(padding))
	return nil
}
