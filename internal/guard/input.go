package guard

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/hallmark-mcp/hallmark/internal/guard/jsonrpc"
)

// A server asks its client for something (a completion by its model, an answer of the user, its roots)
// by a request of its own. Two kinds of answers ask as well: from protocol version 2026-07-28 on a
// result of type input_required, which holds such requests, and since 2025-11-25 the error that sends
// the user to a URL.

const codeElicitURL = "n-32042" // as jsonrpc.IDKey gives it

// maxInputs bounds the audit lines for one answer.
const maxInputs = 100

var (
	errDenied   = errors.New("it asks the client for input, and requests by the server are denied")
	inputFields = jsonrpc.Names("inputRequests")
	faultFields = jsonrpc.Names("code", "message")
)

// checkInput logs what an answer asks of the client, and returns errDenied if that is denied.
func (s *session) checkInput(line []byte, m *jsonrpc.Message, q *request) error {
	var asked []string
	switch {
	case m.Err.Present():
		var at [2]jsonrpc.Span
		if _, err := s.s.Object(line, m.Err.Lo, faultFields, at[:]); err != nil {
			return err
		}
		if code, _ := jsonrpc.IDKey(at[0].Of(line)); code != codeElicitURL {
			return nil
		}
		asked = []string{"elicitation/create"}
	case line[m.Result.Lo] != '{':
		return nil
	default:
		var at [1]jsonrpc.Span
		if _, err := s.s.Object(line, m.Result.Lo, inputFields, at[:]); err != nil {
			return err
		}
		if !at[0].Present() || line[at[0].Lo] == 'n' {
			return nil
		}
		var requests map[string]struct {
			Method string `json:"method"`
		}
		if err := json.Unmarshal(at[0].Of(line), &requests); err != nil {
			return errors.New("inputRequests is not an object of requests")
		}
		for _, id := range slices.Sorted(maps.Keys(requests)) {
			asked = append(asked, requests[id].Method)
		}
	}
	if len(asked) == 0 {
		return nil // a busy server asks only to be called again
	}
	denied := s.requestPolicy() != RequestsLog
	for _, method := range asked[:min(len(asked), maxInputs)] {
		if denied {
			s.notes.Audit(method, q.tool, "refused", "requests by the server are denied")
		} else {
			s.notes.Audit(method, q.tool, "forwarded to the client", "")
		}
	}
	if denied {
		return errDenied
	}
	return nil
}
