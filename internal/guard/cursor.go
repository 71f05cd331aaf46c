package guard

import (
	"bytes"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/guard/jsonrpc"
)

// The cursor of a page is text of the server that no digest covers, and some clients show it to
// their model, so that the model asks for the next page. It is passed on as it is only if it is a
// number or the like. Any other cursor is replaced by a name that the guard makes of it, and when
// the client asks for that page the server gets its own cursor.

const cursorMark = "hallmark-page-"

// replaceCursor is the JSON string that replaces the raw cursor v, or nil if the cursor cannot be
// remembered.
func (s *session) replaceCursor(v []byte) []byte {
	position, ok := jsonrpc.Text(v)
	if !ok {
		return nil
	}
	name := cursorMark + digest.FromBytes([]byte(position)).Hex()[:20]
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.cursors.Put(name, bytes.Clone(v), len(v)) {
		return nil
	}
	return []byte(`"` + name + `"`)
}

var cursorFields = jsonrpc.Names("cursor")

// restoreCursors is a line of the client with the server's own cursors in its requests for pages:
// line itself if there are none.
func (s *session) restoreCursors(line []byte) []byte {
	i := jsonrpc.SkipSpace(line, 0)
	if i == len(line) || !bytes.Contains(line, []byte(cursorMark)) {
		return line
	}
	messages, _, err := s.s.Messages(line, i)
	if err != nil || line[i] != '[' && messages[0].Fault != nil {
		return line
	}
	var out []byte
	from := 0
	for k := range messages {
		m := &messages[k]
		if method, _ := jsonrpc.Text(m.Method.Of(line)); FindMethod(method) < 0 || !m.Params.Present() {
			continue
		}
		var at [1]jsonrpc.Span
		if _, err := s.s.Object(line, m.Params.Lo, cursorFields, at[:]); err != nil || !at[0].Present() {
			continue
		}
		name, _ := jsonrpc.Text(at[0].Of(line))
		s.mu.Lock()
		own, _ := s.cursors.Get(name)
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
