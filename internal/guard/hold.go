package guard

import (
	"bytes"

	"github.com/hallmark-mcp/hallmark/internal/guard/jsonrpc"
	"github.com/hallmark-mcp/hallmark/internal/guard/notes"
)

// maxHeld bounds the bytes of calls that wait for a listing.
const maxHeld = 64 << 20

// held is a line of the client that waits: a call, or a batch with a call in it.
type held struct {
	line      []byte
	methods   map[string]string // of its requests, by id
	cancelled map[string]bool   // ids that the client took back
}

func (h *held) cancel(id string) {
	if h.cancelled == nil {
		h.cancelled = map[string]bool{}
	}
	h.cancelled[id] = true
}

// hold puts a line with the given messages into the queue.
func (s *session) hold(line []byte, messages []jsonrpc.Message) error {
	s.flush() // what came before must not be overtaken by the queue
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
		return &refused{notes.CodeWithheld, "too many calls wait for the server to be listed"}
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

// release passes the queue on, in order, and ends the holding, which it reports. It does not
// go on where a change was announced meanwhile, perhaps by what it passed on, and may be
// listed: what waits is to be judged by that. With last it does.
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
		if then := s.then; then != nil {
			s.then = nil
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
