package hashline

import (
	"bytes"
	"unicode/utf8"
)

// File is a text file, divided into lines. It shares memory with the bytes that it was made of.
type File struct {
	data []byte
	ends []uint32 // offset behind each line's ending
}

// Parse divides data into lines. Its errors are of type *[Error].
func Parse(data []byte) (*File, error) {
	if len(data) > MaxSize {
		return nil, refuse(TooLarge, "has %d bytes, more than %d", len(data), MaxSize)
	}
	if err := checkText(data, 0); err != nil {
		return nil, err
	}
	f := &File{data: data, ends: make([]uint32, 0, bytes.Count(data, []byte{'\n'})+1)}
	for at := 0; at < len(data); {
		i := bytes.IndexByte(data[at:], '\n')
		if i < 0 {
			at = len(data)
		} else {
			at += i + 1
		}
		f.ends = append(f.ends, uint32(at))
	}
	return f, nil
}

// checkText refuses what is no text. Offset is where p begins in its file.
func checkText(p []byte, offset int64) error {
	if i := bytes.IndexByte(p, 0); i >= 0 {
		return refuse(Binary, "is binary: NUL at offset %d", offset+int64(i))
	}
	if utf8.Valid(p) {
		return nil
	}
	for i := 0; ; {
		r, size := utf8.DecodeRune(p[i:])
		if r == utf8.RuneError && size < 2 {
			return refuse(Binary, "is binary: not UTF-8 at offset %d", offset+int64(i))
		}
		i += size
	}
}

// Lines is the number of lines.
func (f *File) Lines() int { return len(f.ends) }

// lineStart is the offset of line n; that behind the last line is the size.
func (f *File) lineStart(n int) int {
	if n <= 1 {
		return 0
	}
	return int(f.ends[n-2])
}

// rawLine is line n with its ending, from 1.
func (f *File) rawLine(n int) []byte { return f.data[f.lineStart(n):f.ends[n-1]] }

// Line is the content of line n, from 1.
func (f *File) Line(n int) []byte { return trimEnding(f.rawLine(n)) }

// FinalNewline reports whether the last line is ended. An empty file has none.
func (f *File) FinalNewline() bool { return bytes.HasSuffix(f.data, []byte{'\n'}) }

// AppendLines appends the lines from first to last as a reader is shown them; lines that
// do not exist are left out.
func (f *File) AppendLines(dst []byte, first, last, width int) []byte {
	for n := max(first, 1); n <= min(last, f.Lines()); n++ {
		dst = AppendLine(dst, n, f.Line(n), width)
	}
	return dst
}

// ending is the line ending for a new line beside line n, from 1: its own, else that of
// the line before it, else a line feed.
func (f *File) ending(n int) []byte {
	for ; n >= 1 && n <= f.Lines(); n-- {
		if e := ending(f.rawLine(n)); len(e) > 0 {
			return e
		}
	}
	return []byte{'\n'}
}
