package hashfile

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"strconv"
	"sync"
	"unicode/utf8"
)

// largeText is from which size a text goes past the JSON encoder, in bytes.
const largeText = 64 << 10

// texts are large texts of answers on their way to the client. The SDK encodes an answer
// several times over, each time with a copy, which for megabytes costs more than all else.
// So a large text is put in as a short token, and encoded once, in pieces, when the
// message with the token is written. Tokens cannot be guessed, and so no file can hold
// one.
type texts struct {
	secret string // begins each token
	mu     sync.Mutex
	next   int
	waits  map[string]func(io.Writer) error
}

// tokenSize is the length of a token: secret and number.
const tokenSize = 26 + 10

func newTexts() *texts { return &texts{secret: rand.Text(), waits: map[string]func(io.Writer) error{}} }

// put returns the token for a text that write writes, as plain text. It is forgotten when
// the call that ctx belongs to is answered.
func (t *texts) put(ctx context.Context, write func(io.Writer) error) string {
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

func (t *texts) get(token []byte) func(io.Writer) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.waits[string(token)]
}

// writer passes messages on to w, each of which comes in one write, with texts in place of
// tokens.
func (t *texts) writer(w io.WriteCloser) io.WriteCloser { return &textWriter{t, w} }

type textWriter struct {
	texts *texts
	w     io.WriteCloser
}

func (w *textWriter) Write(message []byte) (int, error) {
	for rest := message; ; {
		i := bytes.Index(rest, []byte(w.texts.secret))
		if i < 0 || len(rest) < i+tokenSize {
			_, err := w.w.Write(rest)
			return len(message), err
		}
		token := rest[i : i+tokenSize]
		if _, err := w.w.Write(rest[:i]); err != nil {
			return 0, err
		}
		if write := w.texts.get(token); write != nil {
			if err := write(&jsonText{w: w.w}); err != nil {
				return 0, err
			}
		}
		rest = rest[i+tokenSize:]
	}
}

func (w *textWriter) Close() error { return w.w.Close() }

// jsonText writes text as the inside of a JSON string. Each write is whole code points,
// and what is not UTF-8 becomes U+FFFD.
type jsonText struct {
	w   io.Writer
	buf []byte
}

// plain are the bytes that stand for themselves.
var plain = func() (p [256]bool) {
	for c := range p {
		p[c] = c >= ' ' && c != '"' && c != '\\' && c != 0x7f
	}
	return p
}()

func (j *jsonText) Write(p []byte) (int, error) {
	j.buf = j.buf[:0]
	valid := utf8.Valid(p)
	start := 0
	for i := 0; i < len(p); {
		c := p[i]
		if plain[c] && (c < utf8.RuneSelf || valid) {
			i++
			continue
		}
		j.buf = append(j.buf, p[start:i]...)
		switch {
		case c == '\n':
			j.buf = append(j.buf, `\n`...)
		case c == '\t':
			j.buf = append(j.buf, `\t`...)
		case c == '\r':
			j.buf = append(j.buf, `\r`...)
		case c == '"' || c == '\\':
			j.buf = append(j.buf, '\\', c)
		case c < utf8.RuneSelf:
			const digits = "0123456789abcdef"
			j.buf = append(j.buf, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		default:
			r, size := utf8.DecodeRune(p[i:])
			j.buf = utf8.AppendRune(j.buf, r)
			i += size
			start = i
			continue
		}
		i++
		start = i
	}
	j.buf = append(j.buf, p[start:]...)
	_, err := j.w.Write(j.buf)
	return len(p), err
}
