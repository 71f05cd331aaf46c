package guard

import (
	"bytes"
	"errors"
	"maps"

	"github.com/hallmark-mcp/hallmark/internal/guard/jsonrpc"
)

// request handles one message from the client, which need not wait, and reports whether it is to be
// forwarded. If not, it has been answered.
func (s *session) request(line []byte, m *jsonrpc.Message) bool {
	err := s.route(line, m)
	if err == errDropped {
		return false
	}
	if err != nil {
		s.answerRefused(line, m, err)
		return false
	}
	return true
}

// route registers a message of the client, or says why it is not forwarded.
func (s *session) route(line []byte, m *jsonrpc.Message) error {
	if !m.Method.Present() {
		if m.ID.Present() && m.Result.Present() != m.Err.Present() {
			return nil // an answer to the server
		}
		return &refused{jsonrpc.CodeRequest, "neither a request nor an answer"}
	}
	if m.Result.Present() || m.Err.Present() {
		return &refused{jsonrpc.CodeRequest, "both a request and an answer"}
	}
	method, ok := jsonrpc.Text(m.Method.Of(line))
	if !ok {
		return &refused{jsonrpc.CodeRequest, "the method is not a string of characters"}
	}
	if !m.ID.Present() {
		return s.notification(line, m, method)
	}
	id, ok := jsonrpc.IDKey(m.ID.Of(line))
	if !ok {
		return &refused{jsonrpc.CodeRequest, errID.Error()}
	}
	q, c, err := s.readRequest(line, m, method)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pending[id] != nil || s.heldIDs[id] != nil {
		return &refused{jsonrpc.CodeRequest, "a request under this id is waiting for its answer"}
	}
	if guardedMethod(method) {
		if why := s.refuseGuarded(&c, method); why != nil {
			s.notes.Audit(method, c.name, "refused", why.Error())
			return why
		}
		s.notes.Audit(method, c.name, "forwarded", "")
	}
	if len(s.pending) >= maxPending {
		s.forgetCancelled()
	}
	if len(s.pending) >= maxPending {
		return &refused{jsonrpc.CodeRequest, "too many requests wait for an answer"}
	}
	s.sent++
	q.order = s.sent
	s.pending[id] = q
	s.initializing = s.initializing || q.kind == askInitialize
	return nil
}

// readRequest reads a request, and what a guarded one calls.
func (s *session) readRequest(line []byte, m *jsonrpc.Message, method string) (q *request, c call, err error) {
	q = &request{rawID: bytes.Clone(m.ID.Of(line)), endless: method == "subscriptions/listen"}
	if !guardedMethod(method) {
		s.classify(q, line, m, method)
		return q, c, nil
	}
	if c, err = s.readCall(line, m, method); err != nil {
		return nil, c, err
	}
	q.kind, q.tool = askCall, c.name
	if len(c.name) > jsonrpc.MaxName {
		q.tool = "" // it names no tool, and is too long to keep
	}
	if c.task {
		q.kind = askTask
	}
	return q, c, nil
}

// classify sets what the answer to an unguarded request will be.
func (s *session) classify(q *request, line []byte, m *jsonrpc.Message, method string) {
	switch method {
	case "initialize":
		q.kind = askInitialize
	case "server/discover":
		q.kind = askDiscover
		if c, err := s.readCall(line, m, method); err == nil {
			q.meta = c.stateless
		}
	default:
		if k := FindMethod(method); k >= 0 {
			q.kind, q.listing = askList, k
		}
	}
}

// forgetCancelled drops requests that the client has cancelled and the server never answered. r.mu is
// held.
func (r *relay) forgetCancelled() {
	maps.DeleteFunc(r.pending, func(_ string, q *request) bool { return q.cancelled })
}

// notification handles a message without an id.
func (s *session) notification(line []byte, m *jsonrpc.Message, method string) error {
	switch {
	case method == "notifications/initialized":
		s.afterWrite = s.beginStateful
	case method == "notifications/cancelled":
		if err := s.cancelRequest(line, m); err != nil {
			return err
		}
	case guardedMethod(method):
		return &refused{jsonrpc.CodeRequest, "a call without an id: " + jsonrpc.ShowText(method)}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent++
	s.lastNotification = s.sent
	s.notified++
	return nil
}

var cancelFields = jsonrpc.Names("requestId")

// cancelRequest takes a held call out of the queue, or marks a pending one.
func (s *session) cancelRequest(line []byte, m *jsonrpc.Message) error {
	var at [1]jsonrpc.Span
	if !m.Params.Present() {
		return nil
	}
	if _, err := s.s.Object(line, m.Params.Lo, cancelFields, at[:]); err != nil {
		return &refused{jsonrpc.CodeParams, err.Error()}
	}
	id, ok := jsonrpc.IDKey(at[0].Of(line))
	if !ok {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.heldIDs[id]; h != nil {
		delete(s.heldIDs, id)
		h.cancel(id)
		s.notes.Audit(h.methods[id], "", "cancelled", "")
		return errDropped
	}
	if q := s.pending[id]; q != nil && q.kind != askGuard {
		q.cancelled = true
	}
	return nil
}

// answerRefused tells the client why a message is not forwarded. Notifications get no answer.
func (s *session) answerRefused(line []byte, m *jsonrpc.Message, err error) {
	code := jsonrpc.CodeRequest
	if r, ok := errors.AsType[*refused](err); ok {
		code = r.code
	}
	if m.Method.Present() && !m.ID.Present() {
		s.notes.Printf("a notification of the client was not forwarded: %s", err)
		return
	}
	s.toClient(jsonrpc.OwnErrorLine(m.ID.Of(line), code, err.Error()))
}

// passBatch routes each message of a batch and returns what is left of the batch: the line itself if all
// messages pass.
func (s *session) passBatch(line []byte, batch []jsonrpc.Element) []byte {
	var pass []jsonrpc.Span
	for k := range batch {
		e := &batch[k]
		if e.Fault != nil {
			s.answerRefused(line, &e.Message, e.Fault)
		} else if s.request(line, &e.Message) {
			pass = append(pass, e.Whole)
		}
	}
	if len(pass) == len(batch) {
		return line
	}
	return jsonrpc.JoinBatch(line, pass)
}
