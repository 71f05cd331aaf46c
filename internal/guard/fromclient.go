package guard

import (
	"bytes"
	"errors"

	"github.com/hallmark-mcp/hallmark/surface"
)

// call is a guarded request: what it names.
type call struct {
	kind      surface.Kind // "" for completion and tasks
	name      string       // of a tool or prompt, or a URI
	ref       string       // "prompt" or "resource", of a completion
	taskID    string
	uris      []string // of a subscription
	task      bool     // the call makes a task
	stateless []byte   // params._meta, if that holds a protocol version
}

// refused says why a message is not forwarded.
type refused struct {
	code int
	why  string
}

func (e *refused) Error() string { return e.why }

// fromClient handles one line from the client and returns what the server gets.
func (s *session) fromClient(line []byte, err error) []byte {
	if err != nil {
		s.toClient(failure(nil, codeRequest, "the line is too long"))
		return nil
	}
	line = s.withCursors(line)
	i := space(line, 0)
	switch {
	case strayReturn(line):
		var m message
		if i < len(line) && line[i] == '{' {
			if m, err = s.s.message(line, i); errors.Is(err, errSyntax) {
				m = message{}
			}
		}
		s.toClient(failure(m.id.of(line), codeRequest, errReturn.Error()))
		return nil
	case i == len(line):
		return line
	case line[i] == '{':
		return s.clientMessage(line, i)
	case line[i] == '[':
		return s.clientBatch(line, i)
	}
	code, why := codeParse, errSyntax.Error()
	if end, err := s.s.value(line, i); err == nil && ends(line, end) {
		code, why = codeRequest, "not a JSON-RPC message"
	}
	s.toClient(failure(nil, code, why))
	return nil
}

func (s *session) clientMessage(line []byte, i int) []byte {
	m, err := s.s.message(line, i)
	switch {
	case (err == nil || !errors.Is(err, errSyntax) && !errors.Is(err, errNesting)) && !ends(line, m.whole.hi):
		s.toClient(failure(nil, codeParse, errSyntax.Error()))
		return nil
	case err != nil:
		code := codeRequest
		if errors.Is(err, errSyntax) {
			code, m.id = codeParse, span{}
		}
		s.toClient(failure(m.id.of(line), code, err.Error()))
		return nil
	}
	if s.mustWait(line, &m) {
		if err := s.hold(line, []message{m}); err != nil {
			s.answer(line, &m, err)
		}
		return nil
	}
	if !s.request(line, &m) {
		return nil
	}
	return line
}

// answer tells the client that a message is not forwarded. Notifications get no
// answer.
func (s *session) answer(line []byte, m *message, err error) {
	code := codeRequest
	var r *refused
	if errors.As(err, &r) {
		code = r.code
	}
	if m.method.ok() && !m.id.ok() {
		s.notes.printf("a notification of the client was not forwarded: %s", err)
		return
	}
	s.toClient(failure(m.id.of(line), code, err.Error()))
}

// request handles one message from the client, which need not wait, and reports
// whether it is to be forwarded. If not it has been answered.
func (s *session) request(line []byte, m *message) bool {
	err := s.route(line, m)
	if err == errQuiet {
		return false
	}
	if err != nil {
		s.answer(line, m, err)
		return false
	}
	return true
}

// errQuiet stands for a message that is dropped without an answer.
var errQuiet = errors.New("dropped")

// route registers a message of the client, or says why it is not forwarded.
func (s *session) route(line []byte, m *message) error {
	if !m.method.ok() {
		if m.id.ok() && m.result.ok() != m.err.ok() {
			return nil // an answer to the server
		}
		return &refused{codeRequest, "neither a request nor an answer"}
	}
	if m.result.ok() || m.err.ok() {
		return &refused{codeRequest, "both a request and an answer"}
	}
	method, ok := text(m.method.of(line))
	if !ok {
		return &refused{codeRequest, "the method is not a string of characters"}
	}
	if !m.id.ok() {
		return s.notification(line, m, method)
	}
	id, ok := idKey(m.id.of(line))
	if !ok {
		return &refused{codeRequest, errID.Error()}
	}
	q := &request{raw: bytes.Clone(m.id.of(line))}
	var c call
	guarded := guardedMethod(method)
	if guarded {
		var err error
		if c, err = s.call(line, m, method); err != nil {
			return err
		}
		q.what, q.tool = askCall, c.name
		if len(c.name) > maxName {
			q.tool = "" // none of a tool, and too much to keep
		}
		if c.task {
			q.what = askTask
		}
	} else {
		s.classify(q, line, m, method)
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pending[id] != nil || s.heldIDs[id] != nil {
		return &refused{codeRequest, "a request under this id is waiting for its answer"}
	}
	if guarded {
		why := s.refusal(&c, method)
		outcome := "forwarded"
		if why != nil {
			outcome = "refused"
			s.audit(method, c.name, outcome, why.Error())
			return why
		}
		s.audit(method, c.name, outcome, "")
	}
	if len(s.pending) >= maxPending {
		s.forget()
	}
	if len(s.pending) >= maxPending {
		return &refused{codeRequest, "too many requests wait for an answer"}
	}
	s.asks++
	q.turn = s.asks
	s.pending[id] = q
	if q.what == askInitialize {
		s.initializing = true
	}
	return nil
}

// classify sets what the answer to an unguarded request will be.
func (s *session) classify(q *request, line []byte, m *message, method string) {
	switch method {
	case "initialize":
		q.what = askInitialize
	case "server/discover":
		q.what = askDiscover
		if c, err := s.call(line, m, method); err == nil {
			q.meta = c.stateless
		}
	default:
		for i := range listings {
			if listings[i].method == method {
				q.what, q.listing = askList, i
			}
		}
	}
}

// forget drops requests that the client has cancelled and the server never
// answered. s.mu is held.
func (r *relay) forget() {
	for id, q := range r.pending {
		if q.cancelled {
			delete(r.pending, id)
		}
	}
}

// notification handles a message without an id.
func (s *session) notification(line []byte, m *message, method string) error {
	switch {
	case method == "notifications/initialized":
		s.then = s.beginStateful
	case method == "notifications/cancelled":
		return s.cancelled(line, m)
	case guardedMethod(method):
		return &refused{codeRequest, "a call without an id: " + shown(method)}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asks++
	s.told = s.asks
	return nil
}

var cancelFields = names("requestId")

// cancelled takes a held call out of the queue, or marks a pending one.
func (s *session) cancelled(line []byte, m *message) error {
	var at [1]span
	if !m.params.ok() {
		return nil
	}
	if _, err := s.s.object(line, m.params.lo, cancelFields, at[:]); err != nil {
		return &refused{codeParams, err.Error()}
	}
	id, ok := idKey(at[0].of(line))
	if !ok {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.heldIDs[id]; h != nil {
		delete(s.heldIDs, id)
		h.cancel(id)
		s.audit(h.methods[id], "", "cancelled", "")
		return errQuiet
	}
	if q := s.pending[id]; q != nil && q.what != askGuard {
		q.cancelled = true
	}
	return nil
}
