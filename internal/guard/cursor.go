package guard

import (
	"bytes"
	"regexp"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/guard/jsonrpc"
)

// The cursor of a page is text of the server's that no digest covers, and some clients show
// it to their model, so that it asks for the next page. It is passed on as it is only if it is
// a number or the like. For any other one stands a name that the guard makes of it, and when
// the client asks for that page the server gets its own cursor.

const cursorMark = "hallmark-page-"

// plain is a cursor without room for words.
var plain = regexp.MustCompile(`^"[0-9.:,/_-]{1,32}"$`)

func plainCursor(v []byte) bool { return nothing(v) || scalars(v) || plain.Match(v) }

// standIn is what stands for the cursor v, raw, or nil if it cannot be remembered.
func (s *session) standIn(v []byte) []byte {
	position, ok := jsonrpc.Text(v)
	if !ok {
		return nil
	}
	name := cursorMark + digest.FromBytes([]byte(position)).Hex()[:20]
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.cursors.put(name, bytes.Clone(v), len(v)) {
		return nil
	}
	return []byte(`"` + name + `"`)
}

var cursorFields = jsonrpc.Names("cursor")

// withCursors is a line of the client with the server's own cursors in its requests of pages:
// line itself if there are none.
func (s *session) withCursors(line []byte) []byte {
	i := jsonrpc.SkipSpace(line, 0)
	if i == len(line) || !bytes.Contains(line, []byte(cursorMark)) {
		return line
	}
	var messages []jsonrpc.Message
	if line[i] == '[' {
		batch, _, err := s.s.Batch(line, i)
		if err != nil {
			return line
		}
		for _, e := range batch {
			messages = append(messages, e.Message)
		}
	} else if m, err := s.s.Message(line, i); err == nil {
		messages = []jsonrpc.Message{m}
	}
	var out []byte
	from := 0
	for k := range messages {
		m := &messages[k]
		if method, _ := jsonrpc.Text(m.Method.Of(line)); !lists(method) || !m.Params.Present() {
			continue
		}
		var at [1]jsonrpc.Span
		if _, err := s.s.Object(line, m.Params.Lo, cursorFields, at[:]); err != nil || !at[0].Present() {
			continue
		}
		name, _ := jsonrpc.Text(at[0].Of(line))
		s.mu.Lock()
		own := s.cursors.m[name]
		s.mu.Unlock()
		if own != nil {
			out = append(append(out, line[from:at[0].Lo]...), own...)
			from = at[0].Hi
		}
	}
	if from == 0 {
		return line
	}
	return append(out, line[from:]...)
}

// lists reports whether method asks for a page.
func lists(method string) bool {
	for _, l := range listings {
		if l.method == method {
			return true
		}
	}
	return false
}
