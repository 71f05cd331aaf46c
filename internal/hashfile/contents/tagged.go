package contents

import (
	"bytes"
	"io"
	"strconv"

	"github.com/hallmark-mcp/hallmark/hashline"
)

// taggedAtOnce is how much text is tagged before it is written, in bytes, unless a line is longer.
const taggedAtOnce = 64 << 10

// WriteTagged writes text, which has to be UTF-8, as lines with tags of width hex digits, numbered from first. Each
// write is of whole code points.
func (r *Reader) WriteTagged(w io.Writer, text []byte, first, width int) error {
	buf := r.chunks.take()
	defer func() { r.chunks.give(buf) }()
	plain := func(dst, text []byte) []byte { return append(dst, text...) }
	for len(text) > 0 {
		n := len(text)
		if n > taggedAtOnce {
			n = bytes.LastIndexByte(text[:taggedAtOnce], '\n') + 1
		}
		if n == 0 {
			if n = bytes.IndexByte(text, '\n') + 1; n == 0 {
				n = len(text)
			}
			if err := writeLong(w, text[:n], first, width); err != nil {
				return err
			}
			first++
		} else {
			buf, first = hashline.AppendLinesAs(buf[:0], text[:n], first, width, plain)
			if _, err := w.Write(buf); err != nil {
				return err
			}
		}
		text = text[n:]
	}
	return nil
}

// writeLong writes a line without a copy of it.
func writeLong(w io.Writer, line []byte, number, width int) error {
	if content, ended := bytes.CutSuffix(line, []byte{'\n'}); ended {
		line = bytes.TrimSuffix(content, []byte{'\r'})
	}
	head := strconv.Itoa(number) + ":" + hashline.Tag(hashline.Hash(line), width) + "|"
	for _, part := range [][]byte{[]byte(head), line, []byte("\n")} {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}
