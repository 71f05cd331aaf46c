package stdio

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
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
	batchSize   int          // bytes of the answers of batches
	answering   *answer      // which is written
	written     atomic.Int64 // bytes of answers so far

	asked     map[int]func(json.RawMessage, error) // what the client may still answer, by id
	lastAsked int

	ended    bool // the input has ended
	finished bool // over is closed
	err      error
}

// answer is what is to be written: a message, perhaps of a batch, or the result of a call.
type answer struct {
	text   []byte
	batch  *batch
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
	var text bytes.Buffer
	if r.batch != nil && r.ctx.Err() == nil {
		t := &textWriter{w: &text}
		t.result(r, result)
		t.flush()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.atWork--
	r.answered = true
	s.changing = s.changing && !r.writes
	switch {
	case r.batch == nil && !r.cancelled:
		s.push(answer{of: r, result: result})
	case text.Len() > 0 && s.batchSize+text.Len() > maxBatch:
		s.release(r)
		s.refuse(r, &fault{Code: codeBusy, Text: "the answers of the batch are too large together; ask one by one"},
			r.batch)
	default:
		s.release(r)
		s.reply(text.Bytes(), r.batch)
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
	s.waiting = slices.DeleteFunc(s.waiting, func(other *request) bool { return other == r })
	s.waitingSize -= r.size
	s.reply(nil, r.batch)
	s.ease()
}

func (s *session) push(a answer) {
	s.answers = append(s.answers, a)
	s.changed.Broadcast()
}

// writeAnswers writes to the end of the session.
func (s *session) writeAnswers(out io.Writer) {
	t := &textWriter{w: &counter{out, &s.written}}
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
		if a.of != nil {
			s.forget(a.of) // the client may use the id again as soon as it has the answer
		}
		if a.of == nil || !a.of.cancelled {
			s.answering = &a
			s.mu.Unlock()
			err := a.write(t)
			s.mu.Lock()
			if s.answering = nil; err != nil {
				s.fail(err)
			}
		}
		switch {
		case a.of != nil:
			s.release(a.of)
		case a.batch != nil:
			s.batchSize -= a.batch.size
		default:
			s.answersSize -= len(a.text)
		}
		s.ease()
	}
}

func (a *answer) write(t *textWriter) error {
	if a.of != nil {
		t.result(a.of, a.result)
	} else {
		t.raw(a.text)
	}
	t.raw([]byte("\n"))
	return t.flush()
}

// Ask sends the client a request without parameters. Done is called with its answer as soon as that comes, unless many
// more requests were sent since. It must neither wait nor ask.
func (c *Call) Ask(method string, done func(result json.RawMessage, err error)) {
	s := c.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		done(nil, errGone)
		return
	}
	s.lastAsked++
	s.asked[s.lastAsked] = done
	delete(s.asked, s.lastAsked-maxAsked)
	s.reply(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q}`, s.lastAsked, method), nil)
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
	time.AfterFunc(Grace, s.expire)
	s.ease()
}

// expire cancels the calls that have no answer yet, once the input has ended and the time for them is over. Answers
// that there are are written to their end, as long as the client reads.
func (s *session) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting, s.waitingSize = nil, 0
	for _, r := range s.calls {
		if r.ctx != nil && !r.answered {
			r.cancelled = true
			r.cancel()
		}
	}
	s.ease()
	if !s.finished && s.changing {
		s.finish() // what writes is waited for, and nothing else
	}
	time.AfterFunc(readTime, func() { s.watch(s.written.Load()) })
}

// watch ends the session if the client, which has closed its side and need not read, has read nothing since so many
// bytes were written.
func (s *session) watch(before int64) {
	now := s.written.Load()
	if now > before {
		time.AfterFunc(readTime, func() { s.watch(now) })
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finish()
}

// counter counts the bytes that are written.
type counter struct {
	io.Writer
	sum *atomic.Int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.sum.Add(int64(n))
	return n, err
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

// wait returns when all calls, which were cancelled, have ended and no answer is written, or the time for it is over.
// Its error is why a stream failed.
func (s *session) wait() error {
	unwound, written := time.After(unwind), time.After(writeTime)
	patient, hurry := true, false
	for {
		s.mu.Lock()
		done, err := hurry || !s.changing && (!patient || s.atWork == 0 && s.answering == nil), s.err
		s.mu.Unlock()
		if done {
			return err
		}
		select {
		case <-s.eased:
		case <-unwound:
			patient = false
		case <-written:
			hurry = true
		}
	}
}
