package guard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hallmark-mcp/hallmark/internal/guard/jsonrpc"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Limits of one listing, over all kinds and pages.
const (
	MaxItems = surface.MaxItems
	MaxSize  = surface.MaxSize // bytes
	maxPages = 10_000          // of one kind
)

// Ask sends one request to a server and returns its answer.
type Ask func(ctx context.Context, method string, params []byte) (Answer, error)

// Answer is what a server answered: the raw result, or the raw error.
type Answer struct{ Result, Err []byte }

// CopyAnswer returns the parts of the answer m in memory of their own.
func CopyAnswer(line []byte, m *jsonrpc.Message) Answer {
	if m.Err.Present() {
		return Answer{Err: bytes.Clone(m.Err.Of(line))}
	}
	return Answer{Result: bytes.Clone(m.Result.Of(line))}
}

var errorFields = jsonrpc.Names("code", "message")

// ReadError reads a JSON-RPC error object.
func ReadError(raw []byte) (code int, message string) {
	var (
		s  jsonrpc.Scanner
		at [2]jsonrpc.Span
	)
	if _, err := s.Object(raw, jsonrpc.SkipSpace(raw, 0), errorFields, at[:]); err != nil {
		return 0, "malformed error"
	}
	if json.Unmarshal(at[0].Of(raw), &code) != nil {
		code = 0
	}
	message, _ = jsonrpc.Text(at[1].Of(raw))
	return code, message
}

// Lister lists what a server shows, all pages.
type Lister struct {
	Ask  Ask
	Meta []byte // params._meta of its requests; nil is none

	items, size int // so far
	s           jsonrpc.Scanner
}

// List returns the items of Methods[k], nil if the server has no such method.
func (l *Lister) List(ctx context.Context, k int) (items []json.RawMessage, err error) {
	method := Methods[k].Name
	cursors := map[string]bool{}
	items = []json.RawMessage{}
	for cursor := []byte(nil); ; {
		a, err := l.Ask(ctx, method, l.params(cursor))
		switch {
		case err != nil:
			return nil, err
		case a.Err != nil:
			code, why := ReadError(a.Err)
			if code == jsonrpc.CodeNoMethod && cursor == nil {
				return nil, nil
			}
			return nil, fmt.Errorf("%s: error %d; %s", method, code, jsonrpc.ShowReason(why))
		}
		page, next, err := l.readPage(k, a.Result)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", method, err)
		}
		items = append(items, page...)
		if next == nil {
			return items, nil
		}
		position, ok := jsonrpc.Text(next)
		switch {
		case !ok:
			return nil, fmt.Errorf("%s: the cursor is not a string of characters", method)
		case position == "":
			return items, nil
		case len(cursors) == maxPages:
			return nil, fmt.Errorf("%s: more than %d pages", method, maxPages)
		case cursors[position]:
			return nil, fmt.Errorf("%s: the cursor of a page is that of an earlier one", method)
		}
		cursors[position] = true
		cursor = next
	}
}

// readPage returns the items of one answer and the raw cursor of the next one, if any.
func (l *Lister) readPage(k int, result []byte) (items []json.RawMessage, next []byte, err error) {
	var at [2]jsonrpc.Span
	used := 0 // bytes of items
	if _, err := l.s.Object(result, jsonrpc.SkipSpace(result, 0), Methods[k].Fields, at[:]); err != nil {
		return nil, nil, err
	}
	if l.size += len(result); l.size > MaxSize {
		return nil, nil, fmt.Errorf("more than %d bytes", MaxSize)
	}
	if !at[0].Present() {
		return nil, nil, fmt.Errorf("no member %q", Methods[k].Member)
	}
	if _, err := l.s.Array(result, at[0].Lo, func(e jsonrpc.Span) error {
		if l.items++; l.items > MaxItems {
			return fmt.Errorf("more than %d items", MaxItems)
		}
		items = append(items, e.Of(result))
		used += e.Hi - e.Lo
		return nil
	}); err != nil {
		if errors.Is(err, jsonrpc.ErrSyntax) {
			err = fmt.Errorf("the member %q is not an array", Methods[k].Member)
		}
		return nil, nil, err
	}
	if used < len(result)/2 { // the items must not keep the rest in memory
		for i, item := range items {
			items[i] = bytes.Clone(item)
		}
	}
	if at[1].Present() && result[at[1].Lo] != 'n' {
		next = at[1].Of(result)
	}
	return items, next, nil
}

// params returns the parameters of the request for the page at cursor; nil is the first.
func (l *Lister) params(cursor []byte) []byte {
	b := []byte{'{'}
	if cursor != nil {
		b = append(append(b, `"cursor":`...), cursor...)
	}
	if l.Meta != nil {
		if cursor != nil {
			b = append(b, ',')
		}
		b = append(append(b, `"_meta":`...), l.Meta...)
	}
	return append(b, '}')
}
