package archive

import (
	"bufio"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/hallmark-mcp/hallmark/tree"
)

// generalTar reads a tar of any program, in any of the dialects. This file reads its headers,
// and what stands between them.
type generalTar struct {
	r     *bufio.Reader
	block [tree.TarBlock]byte
	files map[string]tarFileSeen // by path
}

func (t *generalTar) refuse(p Problem, path, format string, args ...any) error {
	return &Error{Problem: p, Layer: layerTar, Path: path, Detail: fmt.Sprintf(format, args...)}
}

// tarHeader is what is used of one header.
type tarHeader struct {
	kind   byte // the type flag; '0' for a regular file of any dialect
	path   string
	prefix string
	size   int64
	mode   int64 // permissions
}

// Dialects of tar, by the magic of a header.
const (
	magicPOSIX = "ustar\x0000"
	magicGNU   = "ustar  \x00"
	magicOld   = "\x00\x00\x00\x00\x00\x00\x00\x00"
)

// readHeader reads one header. At the end of the tar, which it checks, it returns io.EOF.
func (t *generalTar) readHeader() (tarHeader, error) {
	_, err := io.ReadFull(t.r, t.block[:])
	switch {
	case err == io.ErrUnexpectedEOF:
		return tarHeader{}, t.refuse(ProblemTruncated, "", "ends inside a header")
	case err != nil:
		return tarHeader{}, err // also io.EOF: a tar without blocks of zeros at its end
	case isZero(t.block[:]):
		return tarHeader{}, t.readEnd()
	}
	b := t.block[:]
	name, nameOK := textField(b[:100])
	prefix, prefixOK := prefixField(b)
	kind, err := t.checkKind(b, name)
	if err == nil {
		err = t.checkDialect(b, name)
	}
	if err != nil {
		return tarHeader{}, err
	}
	switch {
	case !nameOK || !prefixOK:
		err = t.refuse(ProblemHeader, name, "has data after the end of its name or prefix")
	case !utf8.ValidString(name) || !utf8.ValidString(prefix):
		err = t.refuse(ProblemNotUTF8, name, "name is not UTF-8")
	case b[124]&0x80 != 0:
		err = t.refuse(ProblemBase256, name, "a size in base 256")
	case !isZero(b[157:257]):
		err = t.refuse(ProblemHeader, name, "has the name of a link")
	}
	if err != nil {
		return tarHeader{}, err
	}
	h := tarHeader{kind: kind, path: name, prefix: prefix}
	if err := t.parseNumbers(&h, b); err != nil {
		return tarHeader{}, err
	}
	return h, nil
}

// checkKind returns the kind of the entry whose header is b. It refuses what is no header of a
// tar, a wrong checksum, and the kinds of entries that are not read.
func (t *generalTar) checkKind(b []byte, name string) (kind byte, err error) {
	switch string(b[257:265]) {
	case magicPOSIX, magicGNU, magicOld:
	default:
		return 0, t.refuse(ProblemHeader, name, "no tar, or of a kind that programs read differently")
	}
	// One program reads the checksum beyond its field, up to a NUL or a space.
	if sum, ok := tarNumber(b[148:156]); !ok || sum != checksum(b) || !endsNumber(b[155]) {
		return 0, t.refuse(ProblemChecksum, name, "the checksum of the header is wrong")
	}
	switch kind := b[156]; kind {
	case 0:
		return '0', nil
	case '0', '5', 'x', 'g', 'L':
		return kind, nil
	case '1', '2', 'K':
		return 0, t.refuse(ProblemLink, name, "a link; only regular files may be there")
	case 'S':
		return 0, t.refuse(ProblemExtended, name, "a sparse file")
	case '7', 'X', 'N', 'D', 'M', 'V', 'A', 'I':
		return 0, t.refuse(ProblemExtended, name, "a header of a kind that programs read differently")
	}
	return 0, t.refuse(ProblemSpecial, name, "neither a regular file nor a directory")
}

// checkDialect refuses data in the parts of a header that its dialect leaves empty: another
// program reads them.
func (t *generalTar) checkDialect(b []byte, name string) error {
	switch string(b[257:265]) {
	case magicPOSIX:
		if !isZero(b[500:]) {
			return t.refuse(ProblemHeader, name, "has data after the prefix")
		}
	case magicGNU:
		if !isZero(b[345:]) {
			return t.refuse(ProblemExtended, name, "has what only GNU tar reads, where others see a prefix")
		}
	case magicOld:
		if !isZero(b[257:]) {
			return t.refuse(ProblemHeader, name, "has data where a header of its kind has none")
		}
	}
	return nil
}

// parseNumbers reads size and permissions, and checks the numbers that are not used.
func (t *generalTar) parseNumbers(h *tarHeader, b []byte) error {
	var ok bool
	if h.size, ok = tarNumber(b[124:136]); !ok {
		return t.refuse(ProblemHeader, h.path, "a size that is not octal")
	}
	if h.mode, ok = tarNumber(b[100:108]); !ok {
		return t.refuse(ProblemHeader, h.path, "permissions that are not octal")
	}
	for _, at := range [][2]int{{108, 116}, {116, 124}, {136, 148}, {329, 337}, {337, 345}} {
		if !isHarmlessNumber(b[at[0]:at[1]]) {
			return t.refuse(ProblemHeader, h.path, "has an owner, a time or a device that is no number")
		}
	}
	return nil
}

// prefixField is the text of the field before the name; ok if nothing follows it. node-tar may
// write two times behind a prefix of at most 130 bytes, and reads more of it only if the byte
// behind those is set.
func prefixField(b []byte) (text string, ok bool) {
	if b[475] != 0 {
		return textField(b[345:500])
	}
	text, ok = textField(b[345:475])
	return text, ok && isHarmlessNumber(b[476:488]) && isHarmlessNumber(b[488:500])
}

// skipPadding skips what completes size bytes to whole blocks. It may hold any bytes, because
// no program reads them.
func (t *generalTar) skipPadding(path string, size int64) error {
	n := int(tree.TarPadding(size))
	if got, err := t.r.Discard(n); err == io.EOF && got < n {
		return t.refuse(ProblemTruncated, path, "ends inside the padding of this file")
	} else if err != nil {
		return err
	}
	return nil
}

// readEnd reads what follows the first block of zeros, and refuses all but whole blocks of
// zeros. It returns io.EOF.
func (t *generalTar) readEnd() error {
	size := 0
	buf := make([]byte, bufferSize)
	for {
		n, err := t.r.Read(buf)
		size += n
		switch {
		case !isZero(buf[:n]):
			return t.refuse(ProblemTrailingData, "", "data after the end")
		case err == io.EOF && size%tree.TarBlock != 0:
			return t.refuse(ProblemTruncated, "", "ends inside a block of its end")
		case err != nil:
			return err
		}
	}
}
