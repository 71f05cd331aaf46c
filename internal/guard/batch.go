package guard

import (
	"bytes"
	"errors"
)

// clientBatch handles an array of messages.
func (s *session) clientBatch(line []byte, i int) []byte {
	batch, end, err := s.batch(line, i)
	switch {
	case err == nil && !ends(line, end):
		err = errSyntax
	case err == nil && len(batch) == 0:
		err = &refused{codeRequest, "the batch is empty"}
	}
	if err != nil {
		code := codeParse
		if r := (*refused)(nil); errors.As(err, &r) {
			code = r.code
		}
		s.toClient(failure(nil, code, err.Error()))
		return nil
	}
	wait := false
	for k := range batch {
		wait = wait || batch[k].fault == nil && s.mustWait(line, &batch[k].message)
	}
	if !wait {
		return s.passBatch(line, batch)
	}
	var waiting []message
	for k := range batch {
		if batch[k].fault != nil {
			s.answer(line, &batch[k].message, batch[k].fault)
			continue
		}
		waiting = append(waiting, batch[k].message)
	}
	if err := s.hold(line, waiting); err != nil {
		for k := range waiting {
			s.answer(line, &waiting[k], err)
		}
	}
	return nil
}

// element is one message of a batch; fault says why it cannot be routed.
type element struct {
	message
	fault error
}

// batch scans the array at b[i].
func (s *session) batch(b []byte, i int) (batch []element, end int, err error) {
	var inner scanner // the array's own scan goes on around it
	end, err = s.s.array(b, i, func(at span) error {
		e := element{message: message{whole: at}}
		if b[at.lo] != '{' {
			e.fault = &refused{codeRequest, "not a JSON-RPC message"}
		} else if m, err := inner.message(b, at.lo); err != nil {
			e.message, e.fault = m, &refused{codeRequest, err.Error()}
			e.whole = at
		} else {
			e.message = m
		}
		batch = append(batch, e)
		return nil
	})
	return batch, end, err
}

// passBatch routes each message of a batch and returns what is left of it: the line
// itself if all messages pass.
func (s *session) passBatch(line []byte, batch []element) []byte {
	var pass []span
	for k := range batch {
		e := &batch[k]
		if e.fault != nil {
			s.answer(line, &e.message, e.fault)
		} else if s.request(line, &e.message) {
			pass = append(pass, e.whole)
		}
	}
	if len(pass) == len(batch) {
		return line
	}
	return joinBatch(line, pass)
}

// joinBatch is a batch of the messages at parts, or nil if there are none.
func joinBatch(line []byte, parts []span) []byte {
	if len(parts) == 0 {
		return nil
	}
	out := []byte{'['}
	for k, at := range parts {
		if k > 0 {
			out = append(out, ',')
		}
		out = append(out, at.of(line)...)
	}
	return append(out, "]\n"...)
}

// serverBatch handles an array of messages, each by itself.
func (s *session) serverBatch(line []byte, i int) []byte {
	var elements []span
	end, err := s.s.array(line, i, func(e span) error {
		elements = append(elements, e)
		return nil
	})
	if err == nil && !ends(line, end) {
		err = errSyntax
	}
	if err != nil {
		return s.drop(line, &message{}, err)
	}
	untouched := true
	out := []byte{'['}
	for _, e := range elements {
		part := e.of(line)
		got := s.serverMessage(part, 0)
		untouched = untouched && len(got) == len(part) && &got[0] == &part[0]
		if got = bytes.TrimRight(got, "\r\n"); len(got) == 0 {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, got...)
	}
	if untouched {
		return line
	}
	if len(out) == 1 {
		return nil
	}
	return append(out, "]\n"...)
}
