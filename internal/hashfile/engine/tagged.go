package engine

import (
	"bytes"
	"io"
	"strconv"

	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/texts"
)

// WriteTagged writes text, which has to be UTF-8, as lines with tags of width hex digits, numbered from first. It
// writes whole lines, about texts.Large bytes of text at a time, and of a longer line a part. If w is texts.Escaped,
// the lines are made in that form at once. The next piece is formatted while one is written.
func (r *reader) WriteTagged(w io.Writer, text []byte, first, width int) error {
	quote := func(dst, text []byte) []byte { return append(dst, text...) }
	write := func(p []byte) error { _, err := w.Write(p); return err }
	if e, ok := w.(texts.Escaped); ok {
		quote, write = texts.AppendEscaped, e.WriteEscaped
	}
	f := formatting{pieces: make(chan []byte, 1), free: make(chan []byte, 3), stopped: make(chan struct{}),
		quote: quote, width: width}
	for range cap(f.free) {
		f.free <- r.chunks.take()
	}
	go f.format(text, first)
	var err error
	for piece := range f.pieces {
		if err == nil {
			if err = write(piece); err != nil {
				close(f.stopped)
			}
		}
		f.free <- piece
	}
	for range cap(f.free) {
		r.chunks.give(<-f.free)
	}
	return err
}

// formatting makes tagged lines in a goroutine of its own.
type formatting struct {
	pieces  chan []byte   // of what is to be written, in buffers of free; closed at the end
	free    chan []byte   // has room for all buffers
	stopped chan struct{} // closed when nobody wants more
	quote   func(dst, text []byte) []byte
	width   int
}

// format sends the lines of text.
func (f *formatting) format(text []byte, first int) {
	defer close(f.pieces)
	for len(text) > 0 {
		n := len(text)
		if n > texts.Large {
			n = bytes.LastIndexByte(text[:texts.Large], '\n') + 1
		}
		if n == 0 {
			line := text
			if i := bytes.IndexByte(text, '\n'); i >= 0 {
				line = text[:i+1]
			}
			if !f.formatLong(line, first) {
				return
			}
			text = text[len(line):]
			first++
			continue
		}
		if !f.send(func(dst []byte) (out []byte) {
			out, first = hashline.AppendLinesAs(dst, text[:n], first, f.width, f.quote)
			return out
		}) {
			return
		}
		text = text[n:]
	}
}

// formatLong sends a line in parts. It returns false if nobody wants more.
func (f *formatting) formatLong(line []byte, number int) bool {
	if content, ended := bytes.CutSuffix(line, []byte{'\n'}); ended {
		line = bytes.TrimSuffix(content, []byte{'\r'})
	}
	head := strconv.Itoa(number) + ":" + hashline.Tag(hashline.Hash(line), f.width) + "|"
	for len(line) > 0 {
		part := line[:texts.CutPoint(line, texts.Large)]
		line = line[len(part):]
		if !f.send(func(dst []byte) []byte {
			dst = f.quote(append(dst, head...), part)
			if len(line) == 0 {
				dst = f.quote(dst, []byte{'\n'})
			}
			return dst
		}) {
			return false
		}
		head = ""
	}
	return true
}

// send sends what piece appends to a free buffer. It returns false if nobody wants more.
func (f *formatting) send(piece func(dst []byte) []byte) bool {
	select {
	case <-f.stopped:
		return false
	case buf := <-f.free:
		f.pieces <- piece(buf[:0])
		return true
	}
}
