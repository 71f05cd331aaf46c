// Package hashline addresses the lines of a text file by number and hash, and edits the
// file through such addresses: bytes in, bytes out.
//
// # Lines
//
// A line ends at a line feed; one carriage return before it belongs to the ending and
// not to the content. What follows the last line feed is a line if it is not empty, and
// so an empty file has no lines. A byte order mark is content of line 1. A file that is
// not UTF-8 or holds a NUL is binary, and refused.
//
// # Tags
//
// A line is printed for a reader as
//
//	NUMBER ":" TAG "|" CONTENT
//
// with its number from 1 and the low bits of the 64-bit FNV-1a hash of its content
// without trailing Unicode white space, in 2, 3 or 4 lower-case hex digits. Two digits
// are the last byte, and so on: a shorter tag is the end of a longer one.
//
// One byte collides often, and a tag alone never addresses a line. An anchor is
// "NUMBER:TAG" and holds if that line has that tag; the digest of the whole file says
// that the numbers are those which were read. An anchor may be printed with its line
// ("2:f1|text"), of which only the part before the bar counts. Its tag may be wider than
// those that are printed, never narrower.
//
// # Edits
//
// [Edit] applies a set of operations, each anchored in the file before the edit:
//
//	replace, replace_range     the lines from anchor to end_anchor, or the one line
//	delete, delete_range       likewise
//	insert_after               content after the line
//	insert_before              content before it
//	append, prepend            likewise; without an anchor, at the end of the file or its beginning
//
// A range may be in the anchor, "1:a3..3:0e", and [ParseOperation] reads an operation that
// is written as one text.
//
// Content is lines; the last one's line feed may be left out, so that "" is one empty
// line, as is "\n". An empty file has the one anchor "0:", for inserting.
//
// An anchor that does not hold is moved to the only line of the file with its tag, however
// far away, which is reported, or else refused; [Options] narrow how far. Operations that
// meet on a line, a range that ends before it begins, and an insertion beside a line that
// is deleted are refused, as are an edit without effect and content of which every line
// begins as a printed one does. Several insertions at one place keep their order. New lines
// that repeat the line before or behind them are reported, see [Repetition].
//
// Bytes outside the lines concerned stay as they are: endings, mixed ones too, the byte
// order mark, a missing line feed at the end. New lines take the endings of the lines
// that they replace, or of the line beside which they stand.
//
// [Rebase] applies operations to the file that was read and merges the outcome onto the
// file as it is now. [MapAnchors] says where the lines of their anchors are in it.
//
// The format is specified for other implementations in spec/hashline.md, with vectors in
// spec/hashline.json.
package hashline

import (
	"bytes"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// The widths of tags, in hex digits.
const (
	MinWidth = 2
	MaxWidth = 4
)

// MaxSize is the largest file, in bytes.
const MaxSize = 1 << 30

// bom is the byte order mark.
const bom = "\ufeff"

// FNV-1a, 64 bits.
const (
	fnvBasis = 0xcbf29ce484222325
	fnvPrime = 0x100000001b3
)

// Hash is the hash of a line's content, of which tags are the low bits.
func Hash(line []byte) uint64 { return continueHash(fnvBasis, trimSpace(line)) }

// continueHash is the hash of what gave h, followed by p.
func continueHash(h uint64, p []byte) uint64 {
	for _, c := range p {
		h = (h ^ uint64(c)) * fnvPrime
	}
	return h
}

// trimSpace removes trailing white space.
func trimSpace(line []byte) []byte {
	for n := len(line); n > 0; n = len(line) {
		switch c := line[n-1]; {
		case c == ' ', '\t' <= c && c <= '\r':
			line = line[:n-1]
		case c < utf8.RuneSelf:
			return line
		default:
			r, size := utf8.DecodeLastRune(line)
			if !unicode.IsSpace(r) {
				return line
			}
			line = line[:n-size]
		}
	}
	return line
}

// Tag prints the low width*4 bits of a hash.
func Tag(hash uint64, width int) string { return string(appendTag(nil, hash, width)) }

const hexDigits = "0123456789abcdef"

func appendTag(dst []byte, hash uint64, width int) []byte {
	for i := width - 1; i >= 0; i-- {
		dst = append(dst, hexDigits[hash>>(4*i)&15])
	}
	return dst
}

// Anchor is the anchor of a line, NUMBER:TAG.
func Anchor(number int, content []byte, width int) string {
	return strconv.Itoa(number) + ":" + Tag(Hash(content), width)
}

// AppendLine appends a line as a reader is shown it, with a line feed.
func AppendLine(dst []byte, number int, content []byte, width int) []byte {
	dst = strconv.AppendInt(dst, int64(number), 10)
	dst = append(dst, ':')
	dst = appendTag(dst, Hash(content), width)
	dst = append(dst, '|')
	dst = append(dst, content...)
	return append(dst, '\n')
}

// AppendLines appends each line of text, of which the first has the given number, as
// [AppendLine] does.
func AppendLines(dst, text []byte, first, width int) []byte {
	dst, _ = AppendLinesAs(dst, text, first, width, func(dst, text []byte) []byte { return append(dst, text...) })
	return dst
}

// AppendLinesAs is [AppendLines] in the notation of quote, which appends a part of the text to dst: the content of a
// line, or a line feed. Next is the number of the line after the last one.
func AppendLinesAs(
	dst, text []byte, first, width int, quote func(dst, text []byte) []byte,
) (out []byte, next int) {
	feed := quote(nil, []byte{'\n'})
	for len(text) > 0 {
		var lines [4][]byte
		n := 0
		for ; n < len(lines) && len(text) > 0; n++ {
			var line []byte
			line, text = cutLine(text)
			lines[n] = trimEnding(line)
		}
		hashes := hash4(&lines)
		for i, line := range lines[:n] {
			dst = strconv.AppendInt(dst, int64(first+i), 10)
			dst = append(dst, ':')
			dst = appendTag(dst, hashes[i], width)
			dst = append(dst, '|')
			dst = append(quote(dst, line), feed...)
		}
		first += n
	}
	return dst, first
}

// hash4 is [Hash] of four lines at once. Each step of a hash depends on the one before; the
// processor interleaves four independent hashes in hardly more time than one takes.
func hash4(lines *[4][]byte) (hashes [4]uint64) {
	a, b, c, d := trimSpace(lines[0]), trimSpace(lines[1]), trimSpace(lines[2]), trimSpace(lines[3])
	n := min(len(a), len(b), len(c), len(d))
	h0, h1, h2, h3 := uint64(fnvBasis), uint64(fnvBasis), uint64(fnvBasis), uint64(fnvBasis)
	for i := range n {
		h0 = (h0 ^ uint64(a[i])) * fnvPrime
		h1 = (h1 ^ uint64(b[i])) * fnvPrime
		h2 = (h2 ^ uint64(c[i])) * fnvPrime
		h3 = (h3 ^ uint64(d[i])) * fnvPrime
	}
	return [4]uint64{continueHash(h0, a[n:]), continueHash(h1, b[n:]), continueHash(h2, c[n:]), continueHash(h3, d[n:])}
}

// cutLine splits text after its first line.
func cutLine(text []byte) (line, rest []byte) {
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		return text[:i+1], text[i+1:]
	}
	return text, nil
}

// trimEnding is a line without its ending.
func trimEnding(line []byte) []byte { return line[:len(line)-len(ending(line))] }

// ending is what ends a line: "\n", "\r\n", or nothing at the end of a file.
func ending(line []byte) []byte {
	n := len(line)
	switch {
	case n == 0 || line[n-1] != '\n':
		return nil
	case n > 1 && line[n-2] == '\r':
		return line[n-2:]
	}
	return line[n-1:]
}
