package guard

import (
	"bytes"
	"errors"

	"github.com/hallmark-mcp/hallmark/internal/guard/jsonrpc"
	"github.com/hallmark-mcp/hallmark/internal/guard/listing"
	"github.com/hallmark-mcp/hallmark/internal/guard/memory"
	"github.com/hallmark-mcp/hallmark/internal/guard/notes"
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
		s.toClient(notes.ErrorLine(nil, jsonrpc.CodeRequest, "the line is too long"))
		return nil
	}
	line = s.restoreCursors(line)
	i := jsonrpc.SkipSpace(line, 0)
	switch {
	case jsonrpc.HasStrayReturn(line):
		var m jsonrpc.Message
		if i < len(line) && line[i] == '{' {
			if m, err = s.s.Message(line, i); errors.Is(err, jsonrpc.ErrSyntax) {
				m = jsonrpc.Message{}
			}
		}
		s.toClient(notes.ErrorLine(m.ID.Of(line), jsonrpc.CodeRequest, jsonrpc.ErrReturn.Error()))
		return nil
	case i == len(line):
		return line
	case line[i] == '{':
		return s.clientMessage(line, i)
	case line[i] == '[':
		return s.clientBatch(line, i)
	}
	code, why := jsonrpc.CodeParse, jsonrpc.ErrSyntax.Error()
	if end, err := s.s.Value(line, i); err == nil && jsonrpc.Ends(line, end) {
		code, why = jsonrpc.CodeRequest, "not a JSON-RPC message"
	}
	s.toClient(notes.ErrorLine(nil, code, why))
	return nil
}

func (s *session) clientMessage(line []byte, i int) []byte {
	m, err := s.s.Message(line, i)
	switch {
	case (err == nil || !errors.Is(err, jsonrpc.ErrSyntax) && !errors.Is(err, jsonrpc.ErrNesting)) &&
		!jsonrpc.Ends(line, m.Whole.Hi):
		s.toClient(notes.ErrorLine(nil, jsonrpc.CodeParse, jsonrpc.ErrSyntax.Error()))
		return nil
	case err != nil:
		code := jsonrpc.CodeRequest
		if errors.Is(err, jsonrpc.ErrSyntax) {
			code, m.ID = jsonrpc.CodeParse, jsonrpc.Span{}
		}
		s.toClient(notes.ErrorLine(m.ID.Of(line), code, err.Error()))
		return nil
	}
	if s.mustWait(line, &m) {
		if err := s.hold(line, []jsonrpc.Message{m}); err != nil {
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
func (s *session) answer(line []byte, m *jsonrpc.Message, err error) {
	code := jsonrpc.CodeRequest
	var r *refused
	if errors.As(err, &r) {
		code = r.code
	}
	if m.Method.Present() && !m.ID.Present() {
		s.notes.Printf("a notification of the client was not forwarded: %s", err)
		return
	}
	s.toClient(notes.ErrorLine(m.ID.Of(line), code, err.Error()))
}

// request handles one message from the client, which need not wait, and reports
// whether it is to be forwarded. If not it has been answered.
func (s *session) request(line []byte, m *jsonrpc.Message) bool {
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
	q := &request{raw: bytes.Clone(m.ID.Of(line))}
	var c call
	guarded := guardedMethod(method)
	if guarded {
		var err error
		if c, err = s.call(line, m, method); err != nil {
			return err
		}
		q.what, q.tool = askCall, c.name
		if len(c.name) > memory.MaxName {
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
		return &refused{jsonrpc.CodeRequest, "a request under this id is waiting for its answer"}
	}
	if guarded {
		why := s.refusal(&c, method)
		outcome := "forwarded"
		if why != nil {
			outcome = "refused"
			s.notes.Audit(method, c.name, outcome, why.Error())
			return why
		}
		s.notes.Audit(method, c.name, outcome, "")
	}
	if len(s.pending) >= maxPending {
		s.forget()
	}
	if len(s.pending) >= maxPending {
		return &refused{jsonrpc.CodeRequest, "too many requests wait for an answer"}
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
func (s *session) classify(q *request, line []byte, m *jsonrpc.Message, method string) {
	switch method {
	case "initialize":
		q.what = askInitialize
	case "server/discover":
		q.what = askDiscover
		if c, err := s.call(line, m, method); err == nil {
			q.meta = c.stateless
		}
	default:
		if k := listing.FindMethod(method); k >= 0 {
			q.what, q.listing = askList, k
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
func (s *session) notification(line []byte, m *jsonrpc.Message, method string) error {
	switch {
	case method == "notifications/initialized":
		s.then = s.beginStateful
	case method == "notifications/cancelled":
		return s.cancelRequest(line, m)
	case guardedMethod(method):
		return &refused{jsonrpc.CodeRequest, "a call without an id: " + notes.ShowText(method)}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asks++
	s.told = s.asks
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
		return errQuiet
	}
	if q := s.pending[id]; q != nil && q.what != askGuard {
		q.cancelled = true
	}
	return nil
}
