package jsonrpc

import "errors"

// Element is one message of a batch.
type Element struct {
	Message
	Fault error // why the message cannot be routed, or nil
}

var errNotMessage = errors.New("not a JSON-RPC message")

// Batch scans the array at b[i] and returns its elements and where it ends. An element that
// cannot be routed has a Fault; err is not nil only if the array itself is not valid.
func (s *Scanner) Batch(b []byte, i int) (batch []Element, end int, err error) {
	var inner Scanner // the scan of the array goes on while its elements are scanned
	end, err = s.Array(b, i, func(at Span) error {
		e := Element{Message: Message{Whole: at}}
		if b[at.Lo] != '{' {
			e.Fault = errNotMessage
		} else {
			e.Message, e.Fault = inner.Message(b, at.Lo)
			e.Whole = at
		}
		batch = append(batch, e)
		return nil
	})
	return batch, end, err
}

// Messages scans the message or batch at b[i], and returns what it has and where that ends. A message that cannot be
// routed has a Fault; err is not nil only for a batch that is not valid.
func (s *Scanner) Messages(b []byte, i int) (all []Element, end int, err error) {
	if b[i] == '[' {
		return s.Batch(b, i)
	}
	m, fault := s.Message(b, i)
	return []Element{{m, fault}}, m.Whole.Hi, nil
}

// JoinBatch is a line with a batch of the messages at parts of the line b, or nil if there are
// none.
func JoinBatch(b []byte, parts []Span) []byte {
	if len(parts) == 0 {
		return nil
	}
	out := []byte{'['}
	for k, at := range parts {
		if k > 0 {
			out = append(out, ',')
		}
		out = append(out, at.Of(b)...)
	}
	return append(out, "]\n"...)
}
