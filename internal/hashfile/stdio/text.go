package stdio

import (
	"bytes"
	"context"
	"io"
	"slices"
	"unicode/utf8"
)

// pieceSize is the size, in bytes, from which what is encoded is written.
const pieceSize = 64 << 10

// textWriter writes messages. What is written with Write becomes the inside of a JSON string: bytes that are not UTF-8
// become U+FFFD, and each write has to consist of whole code points.
type textWriter struct {
	w    io.Writer
	buf  []byte          // what is not written yet
	err  error           // of w
	call context.Context // of the call whose text is written, which ends with it
}

// Write implements [io.Writer].
func (t *textWriter) Write(p []byte) (int, error) {
	if !utf8.Valid(p) {
		size := len(p)
		_, err := t.Write(bytes.ToValidUTF8(p, []byte("\ufffd")))
		return size, err
	}
	for rest := p; len(rest) > 0; {
		if err := t.call.Err(); err != nil {
			return 0, err
		}
		n := min(len(rest), escapedAtOnce)
		for n < len(rest) && !utf8.RuneStart(rest[n]) {
			n--
		}
		t.buf = slices.Grow(t.buf, maxEscape*n+8)
		t.buf = t.buf[:len(t.buf)+escape(t.buf[len(t.buf):cap(t.buf)], rest[:n])]
		rest = rest[n:]
		if len(t.buf) >= pieceSize && t.flush() != nil {
			return 0, t.err
		}
	}
	return len(p), t.err
}

// raw writes what is JSON already.
func (t *textWriter) raw(parts ...[]byte) {
	for _, p := range parts {
		if t.buf = append(t.buf, p...); len(t.buf) >= pieceSize {
			t.flush()
		}
	}
}

// flush writes what the buffer holds, and returns the first error of w.
func (t *textWriter) flush() error {
	if t.err == nil && len(t.buf) > 0 {
		_, t.err = t.w.Write(t.buf)
	}
	t.buf = t.buf[:0]
	return t.err
}

// cut ends, as the inside of a JSON string, a text that was not written to its end.
const cut = `\n[this answer is not complete: the call was cancelled while it was written]\n`

// result writes the answer to a call, without a line end. If the call is cancelled, its text ends.
func (t *textWriter) result(r *request, result *Result) {
	members := r.call.session.rest(r, result)
	rest, err := encode(members)
	if err != nil || result.Ask != nil {
		t.raw(message(r.id, "result", members))
		return
	}
	t.raw([]byte(`{"jsonrpc":"2.0","id":`), r.id, []byte(`,"result":{"content":[{"type":"text","text":"`))
	t.call = r.ctx
	_, err = io.WriteString(t, result.Text)
	if err == nil && result.Write != nil {
		err = result.Write(t)
	}
	if err != nil {
		t.raw([]byte(cut))
	}
	t.raw([]byte(`"}]`))
	if len(rest) > len("{}") {
		t.raw([]byte(","), rest[1:len(rest)-1])
	}
	t.raw([]byte("}}"))
}
