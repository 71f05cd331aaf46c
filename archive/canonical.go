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
	t := newTarReader(r, layer)
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

// walkOuter reads the outer layer of a .facet to its end: fn gets the build manifest
// and inner the compressed tar, which it must read to its end.
func walkOuter(r io.Reader, limits Limits, fn func(Entry, io.Reader) error, inner func(io.Reader) error) error {
	t := newTarReader(r, layerOuter)
	for _, want := range []string{BuildManifest, FacetTarGzip} {
		e, err := t.next()
		if err == io.EOF {
			return &Error{Problem: ProblemNotFacet, Layer: layerOuter, Detail: want + " is missing"}
		}
		if err != nil {
			return err
		}
		if err := CheckPath(e.Path); err != nil {
			return withLayer(layerOuter, err)
		}
		if e.Path != want {
			return &Error{Problem: ProblemNotFacet, Layer: layerOuter, Path: e.Path,
				Detail: "found where " + want + " belongs"}
		}
		e.Outer = true
		do := fn
		if want == FacetTarGzip {
			do = func(_ Entry, r io.Reader) error { return inner(r) }
		}
		if err := t.readContent(e, do); err != nil {
			return err
		}
	}
	e, err := t.next()
	if err == nil {
		var names Names
		names.Add(BuildManifest)
		names.Add(FacetTarGzip)
		if err := names.Add(e.Path); err != nil {
			return withLayer(layerOuter, err)
		}
		return &Error{Problem: ProblemNotFacet, Layer: layerOuter, Path: e.Path, Detail: "a third member"}
	}
	return dropEOF(err)
}

// dropEOF turns io.EOF, which signals the end of an archive, into nil.
func dropEOF(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}

// withLayer names the layer of an archive in an [*Error] about a path.
func withLayer(layer string, err error) error {
	if e, ok := err.(*Error); ok {
		e.Layer = layer
	}
	return err
}

// checkCount refuses a set of more names than limits allow.
func (n *Names) checkCount(limits Limits, layer string) error {
	if n.entries > limits.Entries || n.implied > limits.Entries {
		return &Error{Problem: ProblemTooManyEntries, Layer: layer,
			Detail: fmt.Sprintf("more than %d entries or directories", limits.Entries)}
	}
	return nil
}

// tarReader reads a canonical tar and refuses every byte that paths and contents do not
// determine. It does not check the order and the safety of paths.
type tarReader struct {
	r     *bufio.Reader
	layer string
	size  int64 // bytes of entries so far
	block [tree.TarBlock]byte
}

func newTarReader(r io.Reader, layer string) *tarReader {
	return &tarReader{r: bufio.NewReaderSize(r, bufferSize), layer: layer}
}

func (t *tarReader) refuse(p Problem, path, format string, args ...any) error {
	return &Error{Problem: p, Layer: t.layer, Path: path, Detail: fmt.Sprintf(format, args...)}
}

// next reads a header. At the end of the archive, which it checks, it returns io.EOF.
func (t *tarReader) next() (Entry, error) {
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

// parseHeader reads the header in t.block. If it is not canonical, the error says in what:
// the comparison with the canonical header at the end would refuse it too.
func (t *tarReader) parseHeader() (Entry, error) {
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
	switch kind := h[156]; kind {
	case '0':
	case '1', '2':
		return bad(ProblemLink, "a link; only regular files may be there")
	case '5':
		return bad(ProblemDirectory, "a directory; only regular files may be there")
	case 'x', 'g', 'X':
		return bad(ProblemExtended, "a PAX header")
	case 'L', 'K', 'N', 'D', 'S', 'M', 'V':
		return bad(ProblemExtended, "a GNU header")
	case 0, '7':
		return bad(ProblemHeader, "a regular file of another type than \"0\"")
	default:
		return bad(ProblemSpecial, "neither a regular file nor a directory")
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

// readContent calls fn with the content of e and reads what it leaves, and the padding.
func (t *tarReader) readContent(e Entry, fn func(Entry, io.Reader) error) error {
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

// exactReader reads left bytes of r, then io.EOF; short if r has fewer.
type exactReader struct {
	r     io.Reader
	left  int64
	short error
}

func (x *exactReader) Read(p []byte) (int, error) {
	if x.left == 0 {
		return 0, io.EOF
	}
	n, err := x.r.Read(p[:min(int64(len(p)), x.left)])
	x.left -= int64(n)
	if err == io.EOF {
		err = nil
		if x.left > 0 {
			err = x.short
		}
	}
	return n, err
}

// drain reads what is left.
func (x *exactReader) drain() error {
	_, err := io.Copy(io.Discard, x)
	return err
}

func isZero(p []byte) bool {
	for _, c := range p {
		if c != 0 {
			return false
		}
	}
	return true
}

// checksum is the sum of a header's bytes, its own field counted as spaces.
func checksum(h []byte) int64 {
	sum := int64(8 * ' ')
	for i, c := range h {
		if i < 148 || i >= 156 {
			sum += int64(c)
		}
	}
	return sum
}
