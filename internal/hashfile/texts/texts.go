// Package texts writes the large texts of tools' answers to the client, past the encoder of the MCP SDK.
package texts

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// Large is the size, in bytes, above which a text is not passed through the SDK's JSON encoder.
const Large = 64 << 10

// Texts holds the large texts of answers on their way to the client. The SDK encodes an answer several times, each
// time with a copy, which for megabytes costs more than everything else. So the answer holds a short token in place of
// the text, and the text is encoded once, in pieces, when the message with the token is written. Tokens cannot be
// guessed, so that no file can contain one.
type Texts struct {
	secret string // begins each token
	mu     sync.Mutex
	next   int
	waits  map[string]func(io.Writer) error
	bufs   sync.Pool // of *[]byte, for encoding
}

// tokenSize is the length of a token: the secret and a number.
const tokenSize = 26 + 10

// New returns an empty set of texts with a new secret.
func New() *Texts { return &Texts{secret: rand.Text(), waits: map[string]func(io.Writer) error{}} }

// Put returns the token for a text, which write writes as plain text when the answer is written. The text is forgotten
// when ctx, the context of the call, ends.
func (t *Texts) Put(ctx context.Context, write func(io.Writer) error) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next++
	number := strconv.Itoa(t.next)
	token := t.secret + "0000000000"[:10-len(number)] + number
	t.waits[token] = write
	context.AfterFunc(ctx, func() {
		t.mu.Lock()
		delete(t.waits, token)
		t.mu.Unlock()
	})
	return token
}

func (t *Texts) get(token []byte) func(io.Writer) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.waits[string(token)]
}

// Writer returns a writer that passes messages on to w with the texts in place of their tokens. Each message has to
// come in one write.
func (t *Texts) Writer(w io.WriteCloser) io.WriteCloser {
	widenPipe(w)
	return &textWriter{t, w}
}

type textWriter struct {
	texts *Texts
	w     io.WriteCloser
}

func (w *textWriter) Write(message []byte) (int, error) {
	if !bytes.Contains(message, []byte(w.texts.secret)) {
		return w.w.Write(message)
	}
	buf, _ := w.texts.bufs.Get().(*[]byte)
	if buf == nil {
		buf = new([]byte)
	}
	j := &jsonText{w.w, (*buf)[:0]}
	err := w.texts.replace(j, message)
	*buf = j.buf
	w.texts.bufs.Put(buf)
	if err != nil {
		return 0, err
	}
	return len(message), nil
}

// replace writes a message with the texts in place of their tokens.
func (t *Texts) replace(j *jsonText, message []byte) error {
	for {
		i := bytes.Index(message, []byte(t.secret))
		if i < 0 || len(message) < i+tokenSize {
			j.buf = append(j.buf, message...)
			return j.flush()
		}
		j.buf = append(j.buf, message[:i]...)
		if write := t.get(message[i : i+tokenSize]); write != nil {
			if err := write(j); err != nil {
				return err
			}
		}
		message = message[i+tokenSize:]
	}
}

func (w *textWriter) Close() error { return w.w.Close() }

// jsonText writes text as the inside of a JSON string, in writes of Large bytes or more until flush. Each write to it
// has to consist of whole code points; bytes that are not UTF-8 become U+FFFD.
type jsonText struct {
	w   io.Writer
	buf []byte // what is not written yet
}

// escapedAtOnce is the size of the pieces for which room is made in the buffer, in bytes of text.
const escapedAtOnce = 16 << 10

func (j *jsonText) Write(p []byte) (int, error) {
	size := len(p)
	if !utf8.Valid(p) {
		p = bytes.ToValidUTF8(p, []byte("\ufffd"))
	}
	for len(p) > 0 {
		n := min(len(p), escapedAtOnce)
		j.buf = slices.Grow(j.buf, maxEscape*n+8)
		j.buf = j.buf[:len(j.buf)+escape(j.buf[len(j.buf):cap(j.buf)], p[:n])]
		p = p[n:]
		if len(j.buf) >= Large {
			if err := j.flush(); err != nil {
				return 0, err
			}
		}
	}
	return size, nil
}

// flush writes what the buffer holds.
func (j *jsonText) flush() error {
	_, err := j.w.Write(j.buf)
	j.buf = j.buf[:0]
	return err
}

// maxEscape is the greatest number of bytes that stand for one byte.
const maxEscape = len(`\u0000`)

// escapes holds, for each byte that is escaped, the text that stands for it and the length of that text.
var escapes = func() (e [utf8.RuneSelf]struct {
	text [8]byte
	n    int
}) {
	set := func(c byte, text string) { e[c].n = copy(e[c].text[:], text) }
	for c := range byte(' ') {
		set(c, fmt.Sprintf(`\u%04x`, c))
	}
	set(0x7f, `\u007f`)
	set('\n', `\n`)
	set('\t', `\t`)
	set('\r', `\r`)
	set('"', `\"`)
	set('\\', `\\`)
	return e
}()

// ones is eight bytes of 1, and highs the highest bit of eight bytes.
const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
)

// escape writes text as the inside of a JSON string to dst, which has to have room for maxEscape times its size and
// eight bytes, and returns how many bytes it wrote.
//
// Eight bytes x are compared together. Those below n are the bytes of which x-n*ones has the highest bit set and x has
// not, up to the first such byte. A byte equals another if it is below 1 after exclusive or with that.
func escape(dst, text []byte) int {
	n := 0
	for len(text) >= 8 {
		x := binary.LittleEndian.Uint64(text)
		binary.LittleEndian.PutUint64(dst[n:], x)
		quote, slash, del := x^'"'*ones, x^'\\'*ones, x^0x7f*ones
		found := ((x-' '*ones)&^x | (quote-ones)&^quote | (slash-ones)&^slash | (del-ones)&^del) & highs
		if found == 0 {
			n += 8
			text = text[8:]
			continue
		}
		i := bits.TrailingZeros64(found) / 8
		e := &escapes[text[i]&0x7f]
		copy(dst[n+i:n+i+8], e.text[:])
		n += i + e.n
		text = text[i+1:]
	}
	for _, c := range text {
		if c < utf8.RuneSelf && escapes[c].n > 0 {
			n += copy(dst[n:], escapes[c].text[:escapes[c].n])
		} else {
			dst[n] = c
			n++
		}
	}
	return n
}

// WriteInPieces writes text in writes of whole lines, each of at most Large bytes unless a line is longer.
func WriteInPieces(w io.Writer, text string) error {
	for len(text) > 0 {
		n := len(text)
		if n > Large {
			if i := strings.LastIndexByte(text[:Large], '\n'); i >= 0 {
				n = i + 1
			} else if i := strings.IndexByte(text, '\n'); i >= 0 {
				n = i + 1
			}
		}
		if _, err := io.WriteString(w, text[:n]); err != nil {
			return err
		}
		text = text[n:]
	}
	return nil
}
