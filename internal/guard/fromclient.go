package guard

import (
	"errors"

	"github.com/hallmark-mcp/hallmark/internal/guard/jsonrpc"
)

// fromClient handles one line from the client and returns what the server gets.
func (s *session) fromClient(line []byte, err error) []byte {
	if err != nil {
		s.toClient(jsonrpc.OwnErrorLine(nil, jsonrpc.CodeRequest, "the line is too long"))
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
		s.toClient(jsonrpc.OwnErrorLine(m.ID.Of(line), jsonrpc.CodeRequest, jsonrpc.ErrReturn.Error()))
		return nil
	case i == len(line):
		return line
	case line[i] == '{':
		return s.handleClientMessage(line, i)
	case line[i] == '[':
		return s.handleClientBatch(line, i)
	}
	code, why := jsonrpc.CodeParse, jsonrpc.ErrSyntax.Error()
	if end, err := s.s.Value(line, i); err == nil && jsonrpc.Ends(line, end) {
		code, why = jsonrpc.CodeRequest, "not a JSON-RPC message"
	}
	s.toClient(jsonrpc.OwnErrorLine(nil, code, why))
	return nil
}

// handleClientMessage handles the message that begins at line[i].
func (s *session) handleClientMessage(line []byte, i int) []byte {
	m, err := s.s.Message(line, i)
	switch {
	case (err == nil || !errors.Is(err, jsonrpc.ErrSyntax) && !errors.Is(err, jsonrpc.ErrNesting)) &&
		!jsonrpc.Ends(line, m.Whole.Hi):
		s.toClient(jsonrpc.OwnErrorLine(nil, jsonrpc.CodeParse, jsonrpc.ErrSyntax.Error()))
		return nil
	case err != nil:
		code := jsonrpc.CodeRequest
		if errors.Is(err, jsonrpc.ErrSyntax) {
			code, m.ID = jsonrpc.CodeParse, jsonrpc.Span{}
		}
		s.toClient(jsonrpc.OwnErrorLine(m.ID.Of(line), code, err.Error()))
		return nil
	}
	if s.mustWait(line, &m) {
		if err := s.hold(line, []jsonrpc.Message{m}); err != nil {
			s.answerRefused(line, &m, err)
		}
		return nil
	}
	if !s.request(line, &m) {
		return nil
	}
	return line
}

// handleClientBatch handles the array of messages that begins at line[i].
func (s *session) handleClientBatch(line []byte, i int) []byte {
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
		s.toClient(jsonrpc.OwnErrorLine(nil, code, err.Error()))
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
			s.answerRefused(line, &batch[k].Message, batch[k].Fault)
			continue
		}
		waiting = append(waiting, batch[k].Message)
	}
	if err := s.hold(line, waiting); err != nil {
		for k := range waiting {
			s.answerRefused(line, &waiting[k], err)
		}
	}
	return nil
}
