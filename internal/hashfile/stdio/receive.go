package stdio

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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
			s.receiveExcess(over)
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

// receiveExcess answers a message over the limit.
func (s *session) receiveExcess(over *excess) {
	m, answers := over.identify()
	if answers {
		s.answered(m, errors.New("the client's answer is too large"))
		return
	}
	s.refuse(m, invalid(fmt.Sprintf("the message has more than %d bytes (--max-request)", s.server.MaxMessage)), nil)
}

func (s *session) receiveLine(line []byte) {
	switch {
	case len(line) == 0:
	case !json.Valid(line):
		s.refuse(&request{}, &fault{Code: codeParse, Text: "Parse error: the line is not valid JSON"}, nil)
	case line[0] == '[':
		s.receiveBatch(line)
	default:
		s.accept(line, nil)
	}
}

// accept takes up a message, which may be one of a batch.
func (s *session) accept(data []byte, b *batch) {
	m, f := parse(data)
	switch {
	case f != nil:
	case m != nil && m.method == "" && m.failure != nil:
		s.answered(m, errors.New(string(m.failure)))
	case m != nil && m.method == "":
		s.answered(m, nil)
	case m != nil && m.id == nil:
		s.hear(m)
	case m != nil:
		m.size, m.batch = len(data)+512, b
		if f = s.request(m); f == nil {
			return
		}
	}
	if f != nil {
		s.refuse(m, f, b)
		return
	}
	s.reply(nil, b)
}

// refuse answers a message with an error. It has no id if a call at work has that too, of which it would seem the
// answer.
func (s *session) refuse(m *request, f *fault, b *batch) {
	id := m.id
	if id == nil || s.calls[m.key] != nil {
		id = json.RawMessage("null")
	}
	s.reply(message(id, "error", f), b)
}

// request takes up a request, and answers it unless it is the call of a tool.
func (s *session) request(m *request) *fault {
	if f := m.readPeer(); f != nil {
		return f
	}
	call := m.method == "tools/call"
	switch {
	case s.calls[m.key] != nil:
		return invalid("a request with this id has not been answered yet")
	case m.params == nil && (m.method == "initialize" || call && (s.version != "" || m.stateless)):
		return &fault{Code: codeInvalidRequest, Text: `invalid request: missing required "params"`}
	}
	full := s.answersSize > maxWaiting || s.batchSize > maxBatch
	if call {
		if f := s.prepare(m); f != nil {
			return f
		}
		full = s.waitingSize+m.size > maxWaiting
	}
	switch {
	case full:
		return &fault{Code: codeBusy, Text: "too many requests wait; wait for answers"}
	case call:
		s.calls[m.key] = m
		s.waiting = append(s.waiting, m)
		s.waitingSize += m.size
		s.begin()
		return nil
	}
	result, f := s.answer(m)
	if f == nil {
		s.reply(message(m.id, "result", result), m.batch)
	}
	return f
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
func (s *session) answered(m *request, err error) {
	n, _ := m.key.(float64)
	if done := s.asked[int(n)]; done != nil {
		delete(s.asked, int(n))
		done(m.result, err)
	}
}

// batch collects the answers to an array of messages, which are written together.
type batch struct {
	left    int // messages that are not done with, and one until the whole array was read
	size    int // bytes of the answers
	answers [][]byte
}

// receiveBatch takes up the messages of an array.
func (s *session) receiveBatch(line []byte) {
	var all [][]byte
	values(line, func(i int, value []byte) bool {
		all = append(all, value)
		return i < maxMessages
	})
	var f *fault
	switch {
	case len(all) == 0:
		f = invalid("the batch is empty")
	case len(all) > maxMessages:
		f = invalid(fmt.Sprintf("the batch has more than %d messages", maxMessages))
	case s.version != "" && !slices.Contains(batched, s.version):
		f = invalid("this version of the protocol has no batches; send one message a line")
	}
	if f != nil {
		s.refuse(&request{}, f, nil)
		return
	}
	b := &batch{left: len(all) + 1}
	for _, one := range all {
		s.accept(one, b)
	}
	s.reply(nil, b)
}

// reply has an answer written, nil if there is none: at once, or with the others of its batch after the last one. A
// client that does not read gets only so many.
func (s *session) reply(text []byte, b *batch) {
	if b == nil {
		if len(text) > 0 && s.answersSize+len(text) <= maxWaiting+maxFaults {
			s.answersSize += len(text)
			s.push(answer{text: text})
		}
		return
	}
	if len(text) > 0 && s.batchSize+len(text) <= maxBatch+maxFaults {
		b.answers = append(b.answers, text)
		b.size += len(text)
		s.batchSize += len(text)
	}
	if b.left--; b.left > 0 || len(b.answers) == 0 {
		return
	}
	s.push(answer{text: slices.Concat([]byte("["), bytes.Join(b.answers, []byte(",")), []byte("]")), batch: b})
}
