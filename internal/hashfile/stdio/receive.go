package stdio

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/hallmark-mcp/hallmark/surface"
)

// receive reads lines to the end of the input.
func (s *session) receive(l *lines) {
	for {
		line, over, err := l.next()
		if err != nil {
			s.end(err)
			return
		}
		s.mu.Lock()
		if over != nil {
			s.refuseExcess(over)
		} else {
			s.receiveLine(bytes.Trim(line, " \t\r"))
		}
		finished := s.finished
		s.mu.Unlock()
		if finished {
			return
		}
	}
}

// refuseExcess answers a message over the limit.
func (s *session) refuseExcess(over *excess) {
	id, answers := over.identify()
	if !answers {
		s.refuse(invalid(id, fmt.Sprintf("the message has more than %d bytes (--max-request)", s.server.MaxMessage)))
		return
	}
	key, _ := parseID(id)
	s.answered(key, nil, errors.New("the client's answer is too large"))
}

func (s *session) receiveLine(line []byte) {
	switch {
	case len(line) == 0:
	case !json.Valid(line):
		s.refuse(unparsable())
	case line[0] == '[':
		s.receiveBatch(elements(line, maxMessages))
	default:
		if f := s.accept(line, nil); f != nil {
			s.refuse(f)
		}
	}
}

// refuse answers a message with an error.
func (s *session) refuse(f *fault) { s.push(s.unlessInUse(f).answer()) }

// unlessInUse returns the error without its id if a call has that too, of which it would seem the answer.
func (s *session) unlessInUse(f *fault) *fault {
	if key, ok := parseID(f.id); ok && s.calls[key] != nil {
		f.id = nil
	}
	return f
}

// accept takes up a message, which may be one of a batch. It returns why not, if the client is to be told.
func (s *session) accept(data []byte, b *batch) *fault {
	m, f := parse(data)
	switch {
	case f != nil:
		return f
	case m != nil && m.method == "":
		s.answered(m.key, m.result, m.reason())
	case m != nil && m.id != nil:
		return s.acceptRequest(m, len(data), b)
	case m != nil:
		s.hear(m)
	}
	s.addToBatch(b, nil)
	return nil
}

func (s *session) acceptRequest(m *request, size int, b *batch) *fault {
	p, f := readPeer(m)
	switch {
	case f != nil:
		return f
	case s.calls[m.key] != nil:
		return invalid(nil, "the id is that of a request that is not answered yet")
	case m.method == "tools/call":
		if f := s.prepare(m, p); f != nil {
			return f
		}
		m.size, m.batch = size+512, b
		return s.add(m)
	case s.answersSize > maxWaiting:
		return busy(m.id)
	}
	result, f := s.answer(m, p)
	if f != nil {
		return f
	}
	text := message(m.id, "result", result)
	if b == nil {
		s.push(text)
	}
	s.addToBatch(b, text)
	return nil
}

// hear takes up a notification. One that means nothing to a server is dropped.
func (s *session) hear(m *request) {
	switch m.method {
	case "notifications/cancelled":
		if key, ok := parseID(m.params["requestId"]); ok {
			s.cancel(key)
		}
	case "notifications/roots/list_changed":
		s.server.RootsChanged()
	}
}

// answered takes up the answer to a request of the server.
func (s *session) answered(key any, result json.RawMessage, err error) {
	n, _ := key.(float64)
	if done := s.asked[int(n)]; done != nil {
		delete(s.asked, int(n))
		done(result, err)
	}
}

// reason returns the error of an answer, or nil.
func (m *request) reason() error {
	if m.failure == nil {
		return nil
	}
	var e struct {
		Message string `json:"message"`
	}
	if surface.DecodeKnown(m.failure, &e) != nil || e.Message == "" {
		return errors.New("an error that cannot be read")
	}
	return errors.New(e.Message)
}

// batch collects the answers to an array of requests, which are written together.
type batch struct {
	left    int // messages that are not done with, and one until the whole array was read
	size    int // bytes of answers
	answers [][]byte
}

// receiveBatch takes up the messages of an array.
func (s *session) receiveBatch(all [][]byte) {
	switch {
	case len(all) == 0:
		s.refuse(invalid(nil, "the batch is empty"))
		return
	case len(all) > maxMessages:
		s.refuse(invalid(nil, fmt.Sprintf("the batch has more than %d messages", maxMessages)))
		return
	case s.version != "" && !slices.Contains(batched, s.version):
		s.refuse(invalid(nil, "this version of the protocol has no batches; send one message a line"))
		return
	}
	b := &batch{left: len(all) + 1}
	for _, one := range all {
		if f := s.accept(one, b); f != nil {
			s.addToBatch(b, s.unlessInUse(f).answer())
		}
	}
	s.addToBatch(b, nil)
}

// addToBatch adds an answer to those of its batch, or nothing for a message that is not answered, and has them written
// after the last one. A message outside of batches has none.
func (s *session) addToBatch(b *batch, answer []byte) {
	if b == nil {
		return
	}
	if len(answer) > 0 {
		b.answers = append(b.answers, answer)
		b.size += len(answer)
		s.batchSize += len(answer)
	}
	if b.left--; b.left > 0 || len(b.answers) == 0 {
		return
	}
	s.batchSize -= b.size
	if s.answersSize > 0 && s.answersSize+b.size > maxWaiting {
		s.push(busy(nil).answer())
		return
	}
	s.push(concat([]byte("["), bytes.Join(b.answers, []byte(",")), []byte("]")))
}

// inBatch returns the answer to a call in a batch.
func (r *request) inBatch(result *Result) []byte {
	var b bytes.Buffer
	t := &textWriter{w: &b}
	t.result(r.ctx, r, result)
	t.flush()
	return b.Bytes()
}
