package stdio

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"
)

// session is one with a client. A goroutine reads its lines and never waits for anything else, so that the end of the
// input and cancellations are always seen. Another writes the answers, and each call that is at work has its own.
type session struct {
	server *Server
	over   chan struct{}   // closed when nothing is begun or answered any more
	work   context.Context // of all calls
	stop   context.CancelFunc
	eased  chan struct{} // holds a token after a call or an answer ended

	mu      sync.Mutex
	changed *sync.Cond // there is something to write, or the session is over
	version string     // of the protocol, that was agreed; "" before
	roots   *Roots     // the client's capability then

	calls       map[any]*request // which wait or are at work, by the keys of their ids
	waiting     []*request       // in their order
	waitingSize int
	begun       int  // calls that are at work, or whose answers are not written yet
	atWork      int  // of them
	changing    bool // a call of a tool that writes is at work

	answers     []answer // to be written, in their order
	answersSize int
	batchSize   int     // bytes of answers of batches that are not answered whole
	answering   *answer // which is written

	asked     map[int]func(json.RawMessage, error) // what the client may still answer, by id
	lastAsked int

	ended    bool // the input has ended
	finished bool // over is closed
	err      error
}

// running is the state of a call.
type running struct {
	call      *Call
	peer      peer
	writes    bool
	size      int // bytes that it holds while it waits
	batch     *batch
	ctx       context.Context // while it is at work and answered
	cancel    context.CancelFunc
	cancelled bool
}

// answer is what is to be written: a message, or the result of a call.
type answer struct {
	text   []byte
	of     *request
	result *Result
}

func newSession(server *Server) *session {
	s := &session{server: server, over: make(chan struct{}), eased: make(chan struct{}, 1), calls: map[any]*request{},
		asked: map[int]func(json.RawMessage, error){}}
	s.changed = sync.NewCond(&s.mu)
	s.work, s.stop = context.WithCancel(context.Background())
	return s
}

// add adds a call to those that wait, and begins it if it can.
func (s *session) add(r *request) *fault {
	if s.waitingSize+r.size > maxWaiting {
		return busy(r.id)
	}
	s.calls[r.key] = r
	s.waiting = append(s.waiting, r)
	s.waitingSize += r.size
	s.begin()
	return nil
}

func busy(id json.RawMessage) *fault {
	return &fault{id: id, Code: codeBusy, Text: "too many requests wait; wait for answers"}
}

// begin begins the calls that can.
func (s *session) begin() {
	for len(s.waiting) > 0 && s.begun < maxCalls && !s.changing && !s.finished {
		r := s.waiting[0]
		s.waiting[0] = nil
		s.waiting = s.waiting[1:]
		s.waitingSize -= r.size
		s.begun++
		s.atWork++
		s.changing = r.writes
		r.ctx, r.cancel = context.WithCancel(s.work)
		go s.run(r)
	}
}

func (s *session) run(r *request) {
	result := s.server.Call(r.ctx, r.call)
	var text []byte
	if r.batch != nil && r.ctx.Err() == nil {
		text = r.inBatch(result)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.atWork--
	s.changing = s.changing && !r.writes
	switch {
	case r.batch != nil:
		s.release(r)
		if s.batchSize+len(text) > maxBatch {
			text = (&fault{id: r.id, Code: codeBusy,
				Text: "the answers of the batch are too large together; ask one by one"}).answer()
		}
		s.addToBatch(r.batch, text)
	case r.cancelled:
		s.release(r)
	default:
		s.answers = append(s.answers, answer{of: r, result: result})
		s.changed.Broadcast()
	}
	s.ease()
}

// release notes that nothing is held for a call any more.
func (s *session) release(r *request) {
	r.cancel()
	s.forget(r)
	s.begun--
}

// forget frees the id of a call.
func (s *session) forget(r *request) {
	if s.calls[r.key] == r {
		delete(s.calls, r.key)
	}
}

// ease goes on after a call or an answer ended.
func (s *session) ease() {
	s.begin()
	if s.ended && len(s.waiting)+s.begun+len(s.answers) == 0 && s.answering == nil {
		s.finish()
	}
	select {
	case s.eased <- struct{}{}:
	default:
	}
}

// cancel cancels a call: one that waits never runs, one at work is told, and the writing of an answer stops.
func (s *session) cancel(key any) {
	r := s.calls[key]
	if r == nil {
		if s.answering != nil && s.answering.of != nil && s.answering.of.key == key {
			s.answering.of.cancel()
		}
		return
	}
	r.cancelled = true
	s.forget(r)
	if r.ctx != nil {
		r.cancel()
		return
	}
	for i, other := range s.waiting {
		if other == r {
			s.waiting = append(s.waiting[:i:i], s.waiting[i+1:]...)
			break
		}
	}
	s.waitingSize -= r.size
	s.addToBatch(r.batch, nil)
	s.ease()
}

// push has a message written. A client that does not read gets only so many.
func (s *session) push(text []byte) {
	if s.answersSize == 0 || s.answersSize+len(text) <= maxWaiting+maxFaults {
		s.answers = append(s.answers, answer{text: text})
		s.answersSize += len(text)
		s.changed.Broadcast()
	}
}

// writeAnswers writes to the end of the session.
func (s *session) writeAnswers(out io.Writer) {
	t := &textWriter{w: out}
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		for len(s.answers) == 0 && !s.finished {
			s.changed.Wait()
		}
		if s.finished {
			return
		}
		a := s.answers[0]
		s.answers[0] = answer{}
		s.answers = s.answers[1:]
		if s.answersSize -= len(a.text); a.of != nil {
			s.forget(a.of) // the client may use the id again as soon as it has the answer
		}
		if a.of == nil || !a.of.cancelled {
			s.answering = &a
			s.mu.Unlock()
			err := a.write(t)
			s.mu.Lock()
			s.answering = nil
			if err != nil {
				s.fail(err)
			}
		}
		if a.of != nil {
			s.release(a.of)
		}
		s.ease()
	}
}

func (a *answer) write(t *textWriter) error {
	if a.of != nil {
		t.result(a.of.ctx, a.of, a.result)
	} else {
		t.raw(a.text)
	}
	t.raw([]byte("\n"))
	return t.flush()
}

// ask sends a request to the client; see [Call.Ask].
func (s *session) ask(method string, done func(json.RawMessage, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		done(nil, errGone)
		return
	}
	s.lastAsked++
	s.asked[s.lastAsked] = done
	delete(s.asked, s.lastAsked-maxAsked)
	text, _ := encode(struct {
		Version string `json:"jsonrpc"`
		ID      int    `json:"id"`
		Method  string `json:"method"`
	}{"2.0", s.lastAsked, method})
	s.push(text)
}

var errGone = errors.New("the client has closed its side")

// end notes the end of the input.
func (s *session) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended = true; err != io.EOF {
		s.err = err
	}
	for id, done := range s.asked {
		done(nil, errGone)
		delete(s.asked, id)
	}
	time.AfterFunc(Grace, s.interrupt)
	s.ease()
}

// fail ends the session because the client cannot be written to. Once it has closed its side, it need not read either.
func (s *session) fail(err error) {
	if !s.finished && !s.ended {
		s.err = err
	}
	s.finish()
}

// finish begins and answers nothing any more.
func (s *session) finish() {
	if !s.finished {
		s.finished = true
		close(s.over)
		s.changed.Broadcast()
	}
}

// interrupt ends the session without waiting.
func (s *session) interrupt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finish()
}

func (s *session) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// wait returns when all calls, which were cancelled, have ended and no answer is written, or the time for it is over.
func (s *session) wait() {
	unwound, written := time.After(unwind), time.After(writeTime)
	patient := true
	for {
		s.mu.Lock()
		done := !s.changing && (!patient || s.atWork == 0 && s.answering == nil)
		s.mu.Unlock()
		if done {
			return
		}
		select {
		case <-s.eased:
		case <-unwound:
			patient = false
		case <-written:
			return
		}
	}
}
