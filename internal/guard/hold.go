package guard

import (
	"bytes"

	"github.com/hallmark-mcp/hallmark/internal/guard/jsonrpc"
)

// maxHeld bounds the bytes of calls that wait for a listing.
const maxHeld = 64 << 20

// hold puts a line with the given messages into the queue, until the surface is known.
func (s *session) hold(line []byte, messages []jsonrpc.Message) error {
	s.flush() // the queue must not overtake earlier lines
	h := &held{line: bytes.Clone(line), methods: map[string]string{}}
	for _, m := range messages {
		if id, ok := jsonrpc.IDKey(m.ID.Of(line)); ok && m.Method.Present() {
			h.methods[id], _ = jsonrpc.Text(m.Method.Of(line))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range h.methods {
		if s.pending[id] != nil || s.heldIDs[id] != nil {
			return &refused{jsonrpc.CodeRequest, "a request under this id is waiting for its answer"}
		}
	}
	if len(s.heldIDs)+len(h.methods) > maxPending || s.heldLen+len(line) > maxHeld {
		return &refused{jsonrpc.CodeWithheld, "too many calls wait for the server to be listed"}
	}
	if s.holding == nil { // released since the caller looked
		s.startHolding()
		s.startLister()
	}
	if s.holding == nil {
		return &refused{jsonrpc.CodeInternal, "the session is ending"}
	}
	for id := range h.methods {
		s.heldIDs[id] = h
	}
	s.heldLen += len(line)
	s.queue = append(s.queue, h)
	return nil
}

// release passes the queue on, in order, and reports whether it ended the holding. Unless this is the
// last round it stops when a change was announced meanwhile, perhaps because of what it passed on, and
// another listing is allowed: then what still waits must be judged by that listing.
func (s *session) release(last bool) bool {
	for {
		s.mu.Lock()
		if !last && len(s.stale) > 0 && s.budget > 0 {
			s.mu.Unlock()
			return false
		}
		if len(s.queue) == 0 {
			close(s.holding)
			s.holding = nil
			s.noteSettled()
			s.mu.Unlock()
			return true
		}
		h := s.queue[0]
		s.queue[0] = nil
		s.queue = s.queue[1:]
		s.heldLen -= len(h.line)
		for id := range h.methods {
			if s.heldIDs[id] == h {
				delete(s.heldIDs, id)
			}
		}
		s.mu.Unlock()
		if out := s.unhold(h); len(out) > 0 {
			s.server.WriteAll(out)
		}
		if then := s.afterWrite; then != nil {
			s.afterWrite = nil
			then()
		}
	}
}

// unhold routes a held line now that the surface is known.
func (s *session) unhold(h *held) []byte {
	i := jsonrpc.SkipSpace(h.line, 0)
	if h.line[i] == '{' {
		m, err := s.s.Message(h.line, i)
		if err != nil || len(h.cancelled) > 0 || !s.request(h.line, &m) {
			return nil
		}
		return h.line
	}
	batch, _, err := s.s.Batch(h.line, i)
	if err != nil {
		return nil
	}
	var pass []jsonrpc.Element
	for _, e := range batch {
		id, _ := jsonrpc.IDKey(e.ID.Of(h.line))
		if e.Fault == nil && !(e.Method.Present() && h.cancelled[id]) {
			pass = append(pass, e)
		}
	}
	if len(pass) == len(batch) {
		return s.passBatch(h.line, pass)
	}
	var parts []jsonrpc.Span
	for k := range pass {
		if s.request(h.line, &pass[k].Message) {
			parts = append(parts, pass[k].Whole)
		}
	}
	return jsonrpc.JoinBatch(h.line, parts)
}

// mustWait reports whether m is a guarded request that has to wait for a listing. It begins the listing
// if this is the first guarded request of a stateless client.
func (s *session) mustWait(line []byte, m *jsonrpc.Message) bool {
	if !m.Method.Present() || !m.ID.Present() {
		return false
	}
	s.mu.Lock()
	holding, known := s.holding != nil, s.listed
	s.mu.Unlock()
	if known && !holding {
		return false // the usual case
	}
	method, _ := jsonrpc.Text(m.Method.Of(line))
	if !guardedMethod(method) {
		return false
	}
	if holding {
		return true
	}
	c, err := s.readCall(line, m, method)
	if err != nil || c.stateless == nil {
		return false // route refuses it
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.beginStateless(c.stateless, AllOffers)
	return s.holding != nil
}
