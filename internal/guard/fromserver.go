package guard

import (
	"errors"
	"fmt"

	"github.com/hallmark-mcp/hallmark/internal/guard/jsonrpc"
	"github.com/hallmark-mcp/hallmark/internal/guard/listing"
	"github.com/hallmark-mcp/hallmark/internal/guard/notes"
)

// errID stands for an id that no request may have.
var errID = errors.New("the id is neither a string nor a number, or too long")

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
		return s.serverBatch(line, i)
	}
	return s.serverMessage(line, i)
}

// serverMessage handles the message that begins at line[i] and returns line, another
// line, or nil.
func (s *session) serverMessage(line []byte, i int) []byte {
	m, err := s.s.Message(line, i)
	if (err == nil || errors.Is(err, jsonrpc.ErrDuplicate) || errors.Is(err, jsonrpc.ErrFold)) && !jsonrpc.Ends(line,
		m.Whole.Hi) {
		err = jsonrpc.ErrSyntax
	}
	switch {
	case err != nil:
		return s.drop(line, &m, err)
	case m.Method.Present() && (m.Result.Present() || m.Err.Present()):
		return s.drop(line, &m, errors.New("both a request and an answer"))
	case m.Method.Present():
		return s.serverRequest(line, &m)
	}
	if m.Result.Present() && m.Err.Present() {
		switch { // a null counts as absent
		case string(m.Err.Of(line)) == "null":
			m.Err = jsonrpc.Span{}
		case string(m.Result.Of(line)) == "null":
			m.Result = jsonrpc.Span{}
		default:
			return s.drop(line, &m, errors.New("both a result and an error"))
		}
	}
	if !m.Result.Present() && !m.Err.Present() {
		return s.drop(line, &m, errors.New("neither a request nor an answer"))
	}
	id, ok := jsonrpc.IDKey(m.ID.Of(line))
	s.mu.Lock()
	q := s.pending[id]
	lost := len(s.lost) > 0
	if ok && q != nil {
		delete(s.pending, id)
		if q.turn > s.told {
			s.told = 0
		}
	}
	s.mu.Unlock()
	if !ok || q == nil {
		s.notes.Printf("dropped an answer of the server that no request waits for")
		s.lose(m.Whole.Of(line), nil, errID)
		return nil
	}
	out := s.handleAnswer(line, &m, q)
	if lost {
		s.settleLost()
	}
	return out
}

// drop leaves out a message of the server. If it seems to answer a request, that is
// answered with an error.
func (s *session) drop(line []byte, m *jsonrpc.Message, why error) []byte {
	const most = 64
	s.notes.Printf("dropped a message of the server: %s; it began %s", why, notes.Quote(string(line[:min(len(line), most)])))
	id, ok := jsonrpc.IDKey(m.ID.Of(line))
	s.mu.Lock()
	q := s.pending[id]
	if ok = ok && !m.Method.Present() && q != nil; ok {
		delete(s.pending, id)
	}
	s.mu.Unlock()
	if !ok {
		var tail []byte
		if why == jsonrpc.ErrLong {
			tail = s.tail
		}
		s.lose(line, tail, why)
		return nil
	}
	return s.broken(q, why.Error())
}

// broken is what the client gets in place of an answer that is not passed on.
func (s *session) broken(q *request, why string) []byte {
	switch q.what {
	case askGuard:
		q.answer <- listing.Answer{Err: []byte(`{"code":0,"message":"the answer cannot be read"}`)}
		return nil
	case askInitialize:
		s.releaseWaiting()
	}
	return notes.ErrorLine(q.raw, jsonrpc.CodeInternal, "the server's answer is not passed on: "+why)
}

// serverRequest handles a request or notification of the server.
func (s *session) serverRequest(line []byte, m *jsonrpc.Message) []byte {
	method, ok := jsonrpc.Text(m.Method.Of(line))
	if !ok {
		return s.drop(line, m, errors.New("the method is not a string of characters"))
	}
	if !m.ID.Present() {
		s.noteChange(method)
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
	reply := notes.ErrorLine(m.ID.Of(line), jsonrpc.CodeNoMethod, "requests by the server are denied")
	select {
	case s.replies <- reply:
	default: // a server that does not read its answers
		s.notes.Printf("a denied request of the server was not answered")
	}
	return nil
}

// noteChange begins a listing if method announces a change.
func (s *session) noteChange(method string) {
	for _, l := range listing.Methods {
		if l.Note == method {
			s.mu.Lock()
			s.relist(l.Kind)
			s.mu.Unlock()
		}
	}
}

// handleAnswer handles the answer to q.
func (s *session) handleAnswer(line []byte, m *jsonrpc.Message, q *request) []byte {
	switch {
	case q.what == askGuard:
		q.answer <- listing.CopyAnswer(line, m)
		return nil
	}
	if (q.what == askCall || q.what == askTask) && s.requestPolicy() != RequestsAllow {
		if err := s.input(line, m, q); err != nil {
			return s.refuse(q, err)
		}
	}
	switch {
	case q.what == askInitialize && m.Err.Present():
		s.releaseWaiting()
		return s.pruneError(line, m, q)
	case m.Err.Present() && (q.what == askList || q.what == askDiscover):
		return s.pruneError(line, m, q)
	case m.Err.Present():
	case q.what == askList:
		return s.page(line, m, q)
	case q.what == askInitialize, q.what == askDiscover:
		return s.welcome(line, m, q)
	case q.what == askTask:
		if err := s.taskMade(line, m, q); err != nil {
			return s.refuse(q, err)
		}
	}
	return line
}

// releaseWaiting lets go of what waits for a handshake that did not succeed.
func (s *session) releaseWaiting() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.initializing = false
	if s.waiting {
		s.waiting = false
		s.startLister() // nothing is stale: it only releases the queue
	}
}

var (
	taskFields   = jsonrpc.Names("task")
	taskIDFields = jsonrpc.Names("taskId")
)

// taskMade remembers which tool the task runs that a call has made. A task that cannot
// be remembered is an error: its result could not be judged.
func (s *session) taskMade(line []byte, m *jsonrpc.Message, q *request) error {
	var at [1]jsonrpc.Span
	if line[m.Result.Lo] != '{' {
		return nil
	}
	if _, err := s.s.Object(line, m.Result.Lo, taskFields, at[:]); err != nil {
		return err
	}
	if !at[0].Present() || line[at[0].Lo] != '{' {
		return nil
	}
	if _, err := s.s.Object(line, at[0].Lo, taskIDFields, at[:]); err != nil {
		return err
	}
	if !at[0].Present() {
		return nil
	}
	id, ok := jsonrpc.Text(at[0].Of(line))
	if !ok || len(id) > jsonrpc.MaxID {
		return fmt.Errorf("the id of its task is no string of characters, or longer than %d bytes", jsonrpc.MaxID)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if tool, ok := s.tasks.Get(id); ok && tool != q.tool {
		return errors.New("the id of its task is that of another tool's")
	}
	if !s.tasks.Put(id, q.tool, len(q.tool)) {
		s.tasksFull = true
		return errors.New("more tasks were made than can be remembered")
	}
	return nil
}
