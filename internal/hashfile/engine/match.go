package engine

import (
	"bytes"
	"context"
	"io"
	"strings"
	"unicode/utf8"
)

// matchAtOnce is how many bytes are compared with a pattern before the call is asked whether it has ended. Most
// patterns take some ns for a byte, but there are short ones that take 0.1 ms: (?i)[a-z]{1000}0.
const matchAtOnce = 4 << 10

// mayMatch reports whether a line of a file can match the pattern. It compares many lines together, which is as good
// as each by itself unless the pattern speaks of the beginning or the end of what it is compared with.
func (q *search) mayMatch(ctx context.Context, data []byte) (bool, error) {
	prefix, whole := q.Pattern.LiteralPrefix()
	if found := bytes.Contains(data, []byte(prefix)); !found || whole {
		return found, nil
	}
	if strings.ContainsAny(q.Pattern.String(), "^$\\") {
		return true, nil
	}
	for len(data) > 0 {
		n := len(data)
		if n > matchAtOnce {
			n = bytes.LastIndexByte(data[:matchAtOnce], '\n') + 1
		}
		if n == 0 { // a long line
			if n = bytes.IndexByte(data, '\n') + 1; n == 0 {
				n = len(data)
			}
		}
		if found, err := q.matches(ctx, data[:n]); found || err != nil {
			return found, err
		}
		data = data[n:]
	}
	return false, nil
}

// matches reports whether text matches the pattern. It fails when ctx ends.
func (q *search) matches(ctx context.Context, text []byte) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if len(text) <= matchAtOnce {
		return q.Pattern.Match(text), nil
	}
	found := q.Pattern.MatchReader(&runes{ctx: ctx, text: text})
	return found, ctx.Err()
}

// runes reads a text for a pattern. The text ends when the call does.
type runes struct {
	ctx  context.Context
	text []byte
	next int // bytes until the call is asked
}

// ReadRune implements [io.RuneReader].
func (r *runes) ReadRune() (rune, int, error) {
	if r.next <= 0 {
		if r.next = matchAtOnce; r.ctx.Err() != nil {
			r.text = nil
		}
	}
	if len(r.text) == 0 {
		return 0, 0, io.EOF
	}
	c, size := utf8.DecodeRune(r.text)
	r.text, r.next = r.text[size:], r.next-size
	return c, size, nil
}
