package archive

import (
	"bytes"
	"io"
	"unicode/utf8"
)

// tarHeader is a header of a tar.
type tarHeader struct {
	kind   byte
	path   string
	prefix string
	size   int64
	mode   int64
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
		return tarHeader{}, err // also the end of a tar that has no mark of it
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

// checkKind returns the kind of the entry whose header is b. It refuses a header of no tar,
// one with a wrong checksum, and the kinds that are not read.
func (t *generalTar) checkKind(b []byte, name string) (kind byte, err error) {
	switch string(b[257:265]) {
	case magicPOSIX, magicGNU, magicOld:
	default:
		return 0, t.refuse(ProblemHeader, name, "no tar, or of a kind that programs read differently")
	}
	// Of the checksum one program reads on after the field, up to a NUL or a space.
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

// parseNumbers reads size and permissions, and checks the numbers that nothing is made of.
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

// textField is the text of a field up to the first NUL; ok if nothing follows it.
func textField(b []byte) (text string, ok bool) {
	before, after, _ := bytes.Cut(b, []byte{0})
	return string(before), isZero(after)
}

// tarNumber reads a number in the one form that all programs read: octal digits, with
// spaces before them, and NULs or spaces after.
func tarNumber(b []byte) (n int64, ok bool) {
	b = bytes.TrimLeft(b, " ")
	end := 0
	for end < len(b) && '0' <= b[end] && b[end] <= '7' {
		n = n<<3 | int64(b[end]-'0') // at most 12 digits
		end++
	}
	return n, end > 0 && len(bytes.Trim(b[end:], " \x00")) == 0
}

func endsNumber(c byte) bool { return c == 0 || c == ' ' }

// isHarmlessNumber reports whether all programs go on after a number that nothing is made of:
// it is octal, empty, or a positive one of 48 bits in base 256.
func isHarmlessNumber(b []byte) bool {
	if b[0] == 0x80 {
		return isZero(b[1 : len(b)-6])
	}
	if len(bytes.Trim(b, " \x00")) == 0 {
		return true
	}
	_, ok := tarNumber(b)
	return ok
}
