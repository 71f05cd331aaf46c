package guard

import (
	"encoding/json"
	"errors"
	"fmt"
)

// errID stands for an id that no request may have.
var errID = errors.New("the id is neither a string nor a number, or too long")

// rawItem is one item of a listing as the server sent it.
type rawItem = json.RawMessage

// fromServer handles one line from the server and returns what the client gets.
func (s *session) fromServer(line []byte, err error) []byte {
	i := space(line, 0)
	switch {
	case err != nil:
		var m message
		if i < len(line) && line[i] == '{' {
			m, _ = s.s.message(line, i) // finds an id that stands before the cut
		}
		return s.drop(line, &m, errLong)
	case strayReturn(line):
		var m message
		if i < len(line) && line[i] == '{' {
			if m, err = s.s.message(line, i); errors.Is(err, errSyntax) {
				return s.drop(line, &m, err)
			}
		}
		return s.drop(line, &m, errReturn)
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
	m, err := s.s.message(line, i)
	if (err == nil || errors.Is(err, errDuplicate) || errors.Is(err, errFold)) && !ends(line, m.whole.hi) {
		err = errSyntax
	}
	switch {
	case err != nil:
		return s.drop(line, &m, err)
	case m.method.ok() && (m.result.ok() || m.err.ok()):
		return s.drop(line, &m, errors.New("both a request and an answer"))
	case m.method.ok():
		return s.serverRequest(line, &m)
	}
	if m.result.ok() && m.err.ok() {
		switch { // a null counts as absent
		case string(m.err.of(line)) == "null":
			m.err = span{}
		case string(m.result.of(line)) == "null":
			m.result = span{}
		default:
			return s.drop(line, &m, errors.New("both a result and an error"))
		}
	}
	if !m.result.ok() && !m.err.ok() {
		return s.drop(line, &m, errors.New("neither a request nor an answer"))
	}
	id, ok := idKey(m.id.of(line))
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
		s.notes.printf("dropped an answer of the server that no request waits for")
		s.lose(m.whole.of(line), nil, errID)
		return nil
	}
	out := s.answered(line, &m, q)
	if lost {
		s.settleLost()
	}
	return out
}

// drop leaves out a message of the server. If it seems to answer a request, that is
// answered with an error.
func (s *session) drop(line []byte, m *message, why error) []byte {
	const most = 64
	s.notes.printf("dropped a message of the server: %s; it began %s", why, quote(string(line[:min(len(line), most)])))
	id, ok := idKey(m.id.of(line))
	s.mu.Lock()
	q := s.pending[id]
	if ok = ok && !m.method.ok() && q != nil; ok {
		delete(s.pending, id)
	}
	s.mu.Unlock()
	if !ok {
		var tail []byte
		if why == errLong {
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
		q.answer <- answer{err: []byte(`{"code":0,"message":"the answer cannot be read"}`)}
		return nil
	case askInitialize:
		s.initializeFailed()
	}
	return failure(q.raw, codeInternal, "the server's answer is not passed on: "+why)
}

// serverRequest handles a request or notification of the server.
func (s *session) serverRequest(line []byte, m *message) []byte {
	method, ok := text(m.method.of(line))
	if !ok {
		return s.drop(line, m, errors.New("the method is not a string of characters"))
	}
	if !m.id.ok() {
		s.noteChange(method)
		return line
	}
	if _, ok := idKey(m.id.of(line)); !ok {
		return s.drop(line, m, errID)
	}
	policy := s.requestPolicy()
	if method == "ping" || policy == RequestsAllow {
		return line
	}
	if policy == RequestsLog {
		s.audit(method, "", "forwarded to the client", "")
		return line
	}
	s.audit(method, "", "refused", "requests by the server are denied")
	reply := failure(m.id.of(line), codeNoMethod, "requests by the server are denied")
	select {
	case s.replies <- reply:
	default: // a server that does not read its answers
		s.notes.printf("a denied request of the server was not answered")
	}
	return nil
}

// noteChange begins a listing if method announces a change.
func (s *session) noteChange(method string) {
	for _, l := range listings {
		if l.note == method {
			s.mu.Lock()
			s.changed(l.kind)
			s.mu.Unlock()
		}
	}
}

// answered handles the answer to q.
func (s *session) answered(line []byte, m *message, q *request) []byte {
	switch {
	case q.what == askGuard:
		q.answer <- copyAnswer(line, m)
		return nil
	}
	if (q.what == askCall || q.what == askTask) && s.requestPolicy() != RequestsAllow {
		if err := s.input(line, m, q); err != nil {
			return s.refuse(q, err)
		}
	}
	switch {
	case q.what == askInitialize && m.err.ok():
		s.initializeFailed()
		return s.pruneError(line, m, q)
	case m.err.ok() && (q.what == askList || q.what == askDiscover):
		return s.pruneError(line, m, q)
	case m.err.ok():
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

// initializeFailed lets go of what waits for a handshake that did not succeed.
func (s *session) initializeFailed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.initializing = false
	if s.waiting {
		s.waiting = false
		s.startLister() // nothing is stale: it only releases the queue
	}
}

var (
	taskFields   = names("task")
	taskIDFields = names("taskId")
)

// taskMade remembers which tool the task runs that a call has made. A task that cannot
// be remembered is an error: its result could not be judged.
func (s *session) taskMade(line []byte, m *message, q *request) error {
	var at [1]span
	if line[m.result.lo] != '{' {
		return nil
	}
	if _, err := s.s.object(line, m.result.lo, taskFields, at[:]); err != nil {
		return err
	}
	if !at[0].ok() || line[at[0].lo] != '{' {
		return nil
	}
	if _, err := s.s.object(line, at[0].lo, taskIDFields, at[:]); err != nil {
		return err
	}
	if !at[0].ok() {
		return nil
	}
	id, ok := text(at[0].of(line))
	if !ok || len(id) > maxID {
		return fmt.Errorf("the id of its task is no string of characters, or longer than %d bytes", maxID)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if tool, ok := s.tasks.m[id]; ok && tool != q.tool {
		return errors.New("the id of its task is that of another tool's")
	}
	if !s.tasks.put(id, q.tool, len(q.tool)) {
		s.tasksFull = true
		return errors.New("more tasks were made than can be remembered")
	}
	return nil
}
