package guard

import (
	"bytes"
	"errors"

	"github.com/hallmark-mcp/hallmark/internal/guard/jsonrpc"
)

// fromServer handles one line from the server and returns what the client gets.
func (s *session) fromServer(line []byte, err error) []byte {
	i := jsonrpc.SkipSpace(line, 0)
	switch {
	case err != nil:
		var m jsonrpc.Message
		if i < len(line) && line[i] == '{' {
			m, _ = s.s.Message(line, i) // finds an id that stands before the cut
		}
		return s.drop(line, &m, jsonrpc.ErrLong)
	case jsonrpc.HasStrayReturn(line):
		var m jsonrpc.Message
		if i < len(line) && line[i] == '{' {
			if m, err = s.s.Message(line, i); errors.Is(err, jsonrpc.ErrSyntax) {
				return s.drop(line, &m, err)
			}
		}
		return s.drop(line, &m, jsonrpc.ErrReturn)
	case i == len(line):
		return line
	case line[i] == '[':
		return s.handleServerBatch(line, i)
	}
	return s.handleServerMessage(line, i)
}

// handleServerMessage handles the message that begins at line[i] and returns line, another line, or
// nil.
func (s *session) handleServerMessage(line []byte, i int) []byte {
	m, err := s.s.Message(line, i)
	if (err == nil || errors.Is(err, jsonrpc.ErrDuplicate) || errors.Is(err, jsonrpc.ErrFold)) &&
		!jsonrpc.Ends(line, m.Whole.Hi) {
		err = jsonrpc.ErrSyntax
	}
	switch {
	case err != nil:
		return s.drop(line, &m, err)
	case m.Method.Present() && (m.Result.Present() || m.Err.Present()):
		return s.drop(line, &m, errors.New("both a request and an answer"))
	case m.Method.Present():
		return s.handleServerRequest(line, &m)
	}
	if err := settleNull(line, &m); err != nil {
		return s.drop(line, &m, err)
	}
	q, lost := s.takeAnswered(line, &m)
	if q == nil {
		s.notes.Printf("dropped an answer of the server that no request waits for")
		if s.answersNotification(line, &m) {
			return nil
		}
		s.endAnswered(m.Whole.Of(line), nil, errID)
		return nil
	}
	s.endSpread()
	out := s.handleAnswer(line, &m, q)
	if lost {
		s.endAmbiguous()
	}
	return out
}

// settleNull takes a null away from m where it has a result and an error: it counts as absent. It is an error if m is
// no answer then.
func settleNull(line []byte, m *jsonrpc.Message) error {
	if m.Result.Present() && m.Err.Present() {
		switch { // a null counts as absent
		case string(m.Err.Of(line)) == "null":
			m.Err = jsonrpc.Span{}
		case string(m.Result.Of(line)) == "null":
			m.Result = jsonrpc.Span{}
		default:
			return errors.New("both a result and an error")
		}
	}
	if !m.Result.Present() && !m.Err.Present() {
		return errors.New("neither a request nor an answer")
	}
	return nil
}

// takeAnswered takes the request that m answers off those that wait; nil if it answers none. lost reports whether an
// answer that could not be read may have been for another.
func (s *session) takeAnswered(line []byte, m *jsonrpc.Message) (q *request, lost bool) {
	id, ok := jsonrpc.IDKey(m.ID.Of(line))
	s.mu.Lock()
	defer s.mu.Unlock()
	q, lost = s.pending[id], len(s.lostAnswers) > 0
	if !ok || q == nil {
		return nil, lost
	}
	s.settle(id)
	if q.order > s.lastNotification {
		s.notified = 0
	}
	return q, lost
}

// handleServerRequest handles a request or notification of the server.
func (s *session) handleServerRequest(line []byte, m *jsonrpc.Message) []byte {
	method, ok := jsonrpc.Text(m.Method.Of(line))
	if !ok {
		return s.drop(line, m, errors.New("the method is not a string of characters"))
	}
	s.endSpread()
	if !m.ID.Present() {
		s.relistChanged(method)
		return line
	}
	if _, ok := jsonrpc.IDKey(m.ID.Of(line)); !ok {
		return s.drop(line, m, errID)
	}
	policy := s.requestPolicy()
	if method == "ping" || policy == RequestsAllow {
		return line
	}
	if policy == RequestsLog {
		s.notes.Audit(method, "", "forwarded to the client", "")
		return line
	}
	s.notes.Audit(method, "", "refused", "requests by the server are denied")
	reply := jsonrpc.OwnErrorLine(m.ID.Of(line), jsonrpc.CodeNoMethod, "requests by the server are denied")
	select {
	case s.replies <- reply:
	default: // the server does not read its answers
		s.notes.Printf("a denied request of the server was not answered")
	}
	return nil
}

// handleServerBatch handles the array of messages that begins at line[i], each by itself.
func (s *session) handleServerBatch(line []byte, i int) []byte {
	var elements []jsonrpc.Span
	end, err := s.s.Array(line, i, func(e jsonrpc.Span) error {
		elements = append(elements, e)
		return nil
	})
	if err == nil && !jsonrpc.Ends(line, end) {
		err = jsonrpc.ErrSyntax
	}
	if err != nil {
		return s.drop(line, &jsonrpc.Message{}, err)
	}
	untouched := true
	out := []byte{'['}
	for _, e := range elements {
		part := e.Of(line)
		got := s.handleServerMessage(part, 0)
		untouched = untouched && len(got) == len(part) && &got[0] == &part[0]
		if got = bytes.TrimRight(got, "\r\n"); len(got) == 0 {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, got...)
	}
	if untouched {
		return line
	}
	if len(out) == 1 {
		return nil
	}
	return append(out, "]\n"...)
}
