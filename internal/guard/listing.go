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

// Limits of one listing by the guard, over all kinds and pages.
const (
	maxItems   = surface.MaxItems
	maxListing = surface.MaxSize // bytes
	maxPages   = 10_000          // of one kind
)

const codeNoMethod = -32601

// offers are the capabilities of a server that can be listed.
type offers struct{ tools, prompts, resources bool }

var allOffers = offers{true, true, true}

func (o offers) capability(name string) bool {
	switch name {
	case "tools":
		return o.tools
	case "prompts":
		return o.prompts
	}
	return o.resources
}

// answer is the raw result, or the raw error, that a server gave.
type answer struct{ result, err []byte }

// ask sends one request to a server and returns its answer.
type ask func(ctx context.Context, method string, params []byte) (answer, error)

// lister lists a server, all pages.
type lister struct {
	ask         ask
	meta        []byte // params._meta; nil is none
	items, size int    // so far
	s           jsonrpc.Scanner
}

// list returns the items of listings[k], nil if there is no such method.
func (l *lister) list(ctx context.Context, k int) (items []json.RawMessage, err error) {
	cursors := map[string]bool{}
	items = []json.RawMessage{}
	for cursor := []byte(nil); ; {
		a, err := l.ask(ctx, listings[k].method, l.params(cursor))
		switch {
		case err != nil:
			return nil, err
		case a.err != nil:
			code, why := l.failure(a.err)
			if code == codeNoMethod && cursor == nil {
				return nil, nil
			}
			return nil, fmt.Errorf("%s: error %d; %s", listings[k].method, code, showReason(why))
		}
		page, next, err := l.page(k, a.result)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", listings[k].method, err)
		}
		items = append(items, page...)
		if next == nil {
			return items, nil
		}
		position, ok := jsonrpc.Text(next)
		switch {
		case !ok:
			return nil, fmt.Errorf("%s: the cursor is not a string of characters", listings[k].method)
		case position == "":
			return items, nil
		case len(cursors) == maxPages:
			return nil, fmt.Errorf("%s: more than %d pages", listings[k].method, maxPages)
		case cursors[position]:
			return nil, fmt.Errorf("%s: the cursor of a page is that of an earlier one", listings[k].method)
		}
		cursors[position] = true
		cursor = next
	}
}

// page returns the items of one answer and the raw cursor of the next one, if any.
func (l *lister) page(k int, result []byte) (items []json.RawMessage, next []byte, err error) {
	var at [2]jsonrpc.Span
	used := 0 // bytes of items
	if _, err := l.s.Object(result, jsonrpc.SkipSpace(result, 0), listings[k].fields, at[:]); err != nil {
		return nil, nil, err
	}
	if l.size += len(result); l.size > maxListing {
		return nil, nil, fmt.Errorf("more than %d bytes", maxListing)
	}
	if !at[0].Present() {
		return nil, nil, fmt.Errorf("no member %q", listings[k].member)
	}
	if _, err := l.s.Array(result, at[0].Lo, func(e jsonrpc.Span) error {
		if l.items++; l.items > maxItems {
			return fmt.Errorf("more than %d items", maxItems)
		}
		items = append(items, e.Of(result))
		used += e.Hi - e.Lo
		return nil
	}); err != nil {
		if errors.Is(err, jsonrpc.ErrSyntax) {
			err = fmt.Errorf("the member %q is not an array", listings[k].member)
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

func (l *lister) params(cursor []byte) []byte {
	b := []byte{'{'}
	if cursor != nil {
		b = append(append(b, `"cursor":`...), cursor...)
	}
	if l.meta != nil {
		if cursor != nil {
			b = append(b, ',')
		}
		b = append(append(b, `"_meta":`...), l.meta...)
	}
	return append(b, '}')
}

var errorFields = jsonrpc.Names("code", "message")

// failure reads a JSON-RPC error object.
func (l *lister) failure(raw []byte) (code int, message string) {
	var at [2]jsonrpc.Span
	if _, err := l.s.Object(raw, jsonrpc.SkipSpace(raw, 0), errorFields, at[:]); err != nil {
		return 0, "malformed error"
	}
	if json.Unmarshal(at[0].Of(raw), &code) != nil {
		code = 0
	}
	message, _ = jsonrpc.Text(at[1].Of(raw))
	return code, message
}

var capabilityFields = jsonrpc.Names("tools", "prompts", "resources")

// readOffers reads the capabilities object at b[at].
func readOffers(s *jsonrpc.Scanner, b []byte, at jsonrpc.Span) (o offers, err error) {
	if !at.Present() || b[at.Lo] == 'n' {
		return o, nil
	}
	var in [3]jsonrpc.Span
	if _, err := s.Object(b, at.Lo, capabilityFields, in[:]); err != nil {
		return o, fmt.Errorf("capabilities: %w", err)
	}
	there := func(v jsonrpc.Span) bool { return v.Present() && b[v.Lo] != 'n' }
	return offers{there(in[0]), there(in[1]), there(in[2])}, nil
}

// ask sends a request of the guard's own. Its id holds a nonce, so that the server
// cannot answer what it was not asked.
func (r *relay) ask(ctx context.Context, method string, params []byte) (answer, error) {
	r.mu.Lock()
	r.asked++
	id := fmt.Sprintf("hallmark-%s-%d", r.nonce, r.asked)
	r.asks++
	q := &request{what: askGuard, answer: make(chan answer, 1), turn: r.asks}
	r.pending["s"+id] = q
	r.mu.Unlock()
	line := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%q,"method":%q,"params":%s}`+"\n", id, method, params)
	err := r.server.write(line)
	if err == nil {
		select {
		case a := <-q.answer:
			return a, nil
		case <-ctx.Done():
			err = fmt.Errorf("%s: no answer", method)
		case <-r.p.exited:
			err = fmt.Errorf("%s: the server ended", method)
		}
	} else {
		err = fmt.Errorf("%s: %w", method, err)
	}
	r.mu.Lock()
	delete(r.pending, "s"+id)
	r.mu.Unlock()
	return answer{}, err
}

// copyAnswer returns the parts of an answer in memory of their own.
func copyAnswer(line []byte, m *jsonrpc.Message) answer {
	if m.Err.Present() {
		return answer{err: bytes.Clone(m.Err.Of(line))}
	}
	return answer{result: bytes.Clone(m.Result.Of(line))}
}
