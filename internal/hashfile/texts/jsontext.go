package texts

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"unicode/utf8"
)

// Escaped is a writer into a JSON string that also takes what AppendEscaped returned. The writers that Put hands out
// are of this kind.
type Escaped interface {
	io.Writer
	WriteEscaped(p []byte) error // of whole code points: the text may end after each
}

// jsonText writes text as the inside of a JSON string, in writes of Large bytes or more until flush. Each write to it
// has to consist of whole code points; bytes that are not UTF-8 become U+FFFD. It fails when the call was cancelled,
// and when w did.
type jsonText struct {
	w    io.Writer
	buf  []byte          // what is not written yet
	err  error           // of w
	call context.Context // of the call whose text is written; nil between texts

	answer context.Context // ends when the call is cancelled while its text is written; nil likewise
}

// Write implements [io.Writer].
func (j *jsonText) Write(p []byte) (int, error) {
	if !utf8.Valid(p) {
		size := len(p)
		_, err := j.Write(bytes.ToValidUTF8(p, []byte("\ufffd")))
		return size, err
	}
	for n := 0; n < len(p); {
		if err := j.check(); err != nil {
			return 0, err
		}
		part := p[n : n+CutPoint(p[n:], escapedAtOnce)]
		j.buf = AppendEscaped(j.buf, part)
		if n += len(part); len(j.buf) >= Large {
			j.flush()
		}
	}
	return len(p), j.err
}

// CutPoint returns how many of the first most bytes of a text are whole code points. Most is at least utf8.UTFMax.
func CutPoint(text []byte, most int) int {
	if len(text) <= most {
		return len(text)
	}
	n := most
	for n > most-utf8.UTFMax && !utf8.RuneStart(text[n]) {
		n--
	}
	return n
}

// WriteEscaped implements [Escaped].
func (j *jsonText) WriteEscaped(p []byte) error {
	if err := j.check(); err != nil {
		return err
	}
	j.writeRaw(p)
	return j.err
}

// check returns why nothing more is to be written, if that is so.
func (j *jsonText) check() error {
	if j.err != nil || j.call == nil {
		return j.err
	}
	return cmp.Or(j.call.Err(), j.answer.Err())
}

// writeRaw writes what is JSON already.
func (j *jsonText) writeRaw(p []byte) {
	if len(j.buf) == 0 && len(p) >= Large && j.err == nil {
		_, j.err = j.w.Write(p)
		return
	}
	if j.buf = append(j.buf, p...); len(j.buf) >= Large {
		j.flush()
	}
}

// flush writes what the buffer holds, and returns the first error of w.
func (j *jsonText) flush() error {
	if j.err == nil && len(j.buf) > 0 {
		_, j.err = j.w.Write(j.buf)
	}
	j.buf = j.buf[:0]
	return j.err
}
