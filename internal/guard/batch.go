package guard

import (
	"bytes"
	"errors"

	"github.com/hallmark-mcp/hallmark/internal/guard/jsonrpc"
	"github.com/hallmark-mcp/hallmark/internal/guard/notes"
)

// clientBatch handles an array of messages.
func (s *session) clientBatch(line []byte, i int) []byte {
	batch, end, err := s.s.Batch(line, i)
	switch {
	case err == nil && !jsonrpc.Ends(line, end):
		err = jsonrpc.ErrSyntax
	case err == nil && len(batch) == 0:
		err = &refused{jsonrpc.CodeRequest, "the batch is empty"}
	}
	if err != nil {
		code := jsonrpc.CodeParse
		if r := (*refused)(nil); errors.As(err, &r) {
			code = r.code
		}
		s.toClient(notes.ErrorLine(nil, code, err.Error()))
		return nil
	}
	wait := false
	for k := range batch {
		wait = wait || batch[k].Fault == nil && s.mustWait(line, &batch[k].Message)
	}
	if !wait {
		return s.passBatch(line, batch)
	}
	var waiting []jsonrpc.Message
	for k := range batch {
		if batch[k].Fault != nil {
			s.answer(line, &batch[k].Message, batch[k].Fault)
			continue
		}
		waiting = append(waiting, batch[k].Message)
	}
	if err := s.hold(line, waiting); err != nil {
		for k := range waiting {
			s.answer(line, &waiting[k], err)
		}
	}
	return nil
}

// passBatch routes each message of a batch and returns what is left of it: the line
// itself if all messages pass.
func (s *session) passBatch(line []byte, batch []jsonrpc.Element) []byte {
	var pass []jsonrpc.Span
	for k := range batch {
		e := &batch[k]
		if e.Fault != nil {
			s.answer(line, &e.Message, e.Fault)
		} else if s.request(line, &e.Message) {
			pass = append(pass, e.Whole)
		}
	}
	if len(pass) == len(batch) {
		return line
	}
	return jsonrpc.JoinBatch(line, pass)
}

// serverBatch handles an array of messages, each by itself.
func (s *session) serverBatch(line []byte, i int) []byte {
	var elements []jsonrpc.Span
	end, err := s.s.Array(line, i, func(e jsonrpc.Span) error {
		elements = append(elements, e)
		return nil
	})
	if err == nil && !jsonrpc.Ends(line, end) {
		err = jsonrpc.ErrSyntax
	}
	if err != nil {
		return s.drop(line, &jsonrpc.Message{}, err)
	}
	untouched := true
	out := []byte{'['}
	for _, e := range elements {
		part := e.Of(line)
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
