package contents

import (
	"bytes"
	"io"

	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/texts"
)

// WriteTagged writes text as lines with tags of width hex digits, numbered from first, in pieces of about texts.Large
// bytes. The next piece is formatted while one is written.
func (r *Reader) WriteTagged(w io.Writer, text []byte, first, width int) error {
	pieces, free := make(chan []byte, 1), make(chan []byte, 3)
	for range cap(free) {
		free <- r.chunks.take()
	}
	go func() {
		defer close(pieces)
		for len(text) > 0 {
			n := len(text) // whole lines
			if n > texts.Large {
				n = bytes.LastIndexByte(text[:texts.Large], '\n') + 1
				if n == 0 {
					if n = bytes.IndexByte(text, '\n') + 1; n == 0 {
						n = len(text)
					}
				}
			}
			buf, ok := <-free
			if !ok {
				return // nobody reads any more
			}
			pieces <- hashline.AppendLines(buf[:0], text[:n], first, width)
			first += bytes.Count(text[:n], []byte{'\n'})
			text = text[n:]
		}
	}()
	var err error
	for piece := range pieces {
		if err != nil {
			continue
		}
		if _, err = w.Write(piece); err != nil {
			close(free)
			continue
		}
		free <- piece
	}
	if err == nil {
		for range cap(free) {
			r.chunks.give(<-free)
		}
	}
	return err
}
