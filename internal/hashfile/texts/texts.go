// Package texts writes the large texts of tools' answers to the client, past the encoder of the MCP SDK.
package texts

import (
	"context"
	"crypto/rand"
	"io"
	"strconv"
	"strings"
	"sync"
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
	waits  map[string]pending
	calls  cancellations
	bufs   sync.Pool // of *[]byte, for encoding
}

// pending is a text that is not written yet.
type pending struct {
	ctx   context.Context // of the call
	write func(io.Writer) error
}

// tokenSize is the length of a token: the secret and a number.
const tokenSize = 26 + 10

// New returns an empty set of texts with a new secret.
func New() *Texts { return &Texts{secret: rand.Text(), waits: map[string]pending{}} }

// Put returns the token for a text, which write writes as plain text when the answer is written. The text is forgotten
// when ctx, the context of the call, ends, and is not written any further then: the answer says that it is not
// complete.
func (t *Texts) Put(ctx context.Context, write func(io.Writer) error) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next++
	number := strconv.Itoa(t.next)
	token := t.secret + "0000000000"[:10-len(number)] + number
	t.waits[token] = pending{ctx, write}
	context.AfterFunc(ctx, func() {
		t.mu.Lock()
		delete(t.waits, token)
		if len(t.waits) == 0 {
			t.calls.forget()
		}
		t.mu.Unlock()
	})
	return token
}

// get returns the text of a token, if it is still wanted.
func (t *Texts) get(token []byte) (p pending, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p, ok = t.waits[string(token)]
	return p, ok && p.ctx.Err() == nil
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
