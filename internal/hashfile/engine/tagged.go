package engine

import (
	"bytes"
	"io"
	"strconv"

	"github.com/hallmark-mcp/hallmark/hashline"
)

// taggedAtOnce is how much text is tagged before it is written, in bytes, unless a line is longer.
const taggedAtOnce = 64 << 10

// WriteTagged writes text, which has to be UTF-8, as lines with tags of width hex digits, numbered from first. Each
// write is of whole code points. The next lines are tagged while some are written.
func (r *reader) WriteTagged(w io.Writer, text []byte, first, width int) error {
	t := tagging{pieces: make(chan []byte, 1), stopped: make(chan struct{}), width: width}
	for i := range t.bufs {
		t.bufs[i] = r.chunks.take()
	}
	go t.tag(text, first)
	var err error
	for piece := range t.pieces {
		if _, err = w.Write(piece); err != nil {
			close(t.stopped)
			break
		}
	}
	for range t.pieces { // until nothing uses the buffers
	}
	for _, buf := range t.bufs {
		r.chunks.give(buf)
	}
	return err
}

// tagging makes tagged lines in a goroutine of its own.
type tagging struct {
	pieces  chan []byte   // of what is to be written; closed at the end
	stopped chan struct{} // closed when nobody wants more
	bufs    [3][]byte     // one is written, one waits in pieces, and one is filled
	width   int
}

// tag sends the lines of text.
func (t *tagging) tag(text []byte, first int) {
	defer close(t.pieces)
	plain := func(dst, text []byte) []byte { return append(dst, text...) }
	for i := 0; len(text) > 0; i = (i + 1) % len(t.bufs) {
		n := len(text)
		if n > taggedAtOnce {
			n = bytes.LastIndexByte(text[:taggedAtOnce], '\n') + 1
		}
		sent := false
		if n > 0 {
			t.bufs[i], first = hashline.AppendLinesAs(t.bufs[i][:0], text[:n], first, t.width, plain)
			sent = t.send(t.bufs[i])
		} else {
			if n = bytes.IndexByte(text, '\n') + 1; n == 0 {
				n = len(text)
			}
			sent = t.sendLong(text[:n], first)
			first++
		}
		if !sent {
			return
		}
		text = text[n:]
	}
}

// sendLong sends a line without a copy of it. It returns false if nobody wants more, as send does.
func (t *tagging) sendLong(line []byte, number int) bool {
	if content, ended := bytes.CutSuffix(line, []byte{'\n'}); ended {
		line = bytes.TrimSuffix(content, []byte{'\r'})
	}
	head := strconv.Itoa(number) + ":" + hashline.Tag(hashline.Hash(line), t.width) + "|"
	return t.send([]byte(head)) && t.send(line) && t.send([]byte("\n"))
}

func (t *tagging) send(piece []byte) bool {
	select {
	case t.pieces <- piece:
		return true
	case <-t.stopped:
		return false
	}
}
