package guard

import (
	"errors"
	"slices"

	"github.com/hallmark-mcp/hallmark/internal/guard/jsonrpc"
)

// An answer that cannot be read ends the request that it answers, so that no client waits for ever.
// Which request that is is read from the id, leniently: a server that names another request gains only
// that its own answer to that one is dropped. If no id can be read, the answer to some waiting request
// is lost, and it is not known to which. The requests that waited then are all ended as soon as no more
// of them are left than answers were lost.

// errSpread says that a message was not written as one line.
var errSpread = errors.New("it is spread over several lines")

// endAnswered ends the requests that a line seems to answer, by itself or together with the lines before. tail
// is the end of a line that was cut.
func (s *session) endAnswered(line, tail []byte, why error) {
	var alone jsonrpc.Candidates
	found := alone.Next(line)
	if len(tail) > 0 || slices.ContainsFunc(found, func(m jsonrpc.Candidate) bool { return m.RPC && m.IsAnswer() }) {
		s.endSpread()
		s.spread = alone
	} else {
		found = s.spread.Next(line)
	}
	if len(tail) > 0 {
		found = append(found, s.spread.Leave()...)
	}
	if id := jsonrpc.LastID(tail); id != nil && len(found) == 1 && found[0].ID == nil {
		found[0].ID = id
	}
	if len(found) > 1 && why == jsonrpc.ErrLong {
		found = append(found, jsonrpc.Candidate{RPC: true, Answer: true}) // what was cut off may be more
	}
	s.endCandidates(found, why)
}

// endSpread ends the requests that the lines seem to answer which were no messages, since another line was one.
func (s *session) endSpread() { s.endCandidates(s.spread.Leave(), errSpread) }

// endCandidates ends the requests that found seem to answer.
func (s *session) endCandidates(found []jsonrpc.Candidate, why error) {
	for _, m := range found {
		if m.Spread {
			why = errSpread
		}
		if m.IsAnswer() {
			s.endCandidate(m, why)
		}
	}
}

const codeNoMethod = "n-32601" // as jsonrpc.IDKey gives it

// answersNotification reports whether m may be what some servers answer to a notification, which has no answer: no
// id, or null, and an empty result, or that there is no such method. Each notification explains one of these.
func (s *session) answersNotification(line []byte, m *jsonrpc.Message) bool {
	if m.ID.Present() && string(m.ID.Of(line)) != "null" {
		return false
	}
	if m.Err.Present() {
		var at [2]jsonrpc.Span
		if _, err := s.s.Object(line, m.Err.Lo, faultFields, at[:]); err != nil {
			return false
		}
		if code, _ := jsonrpc.IDKey(at[0].Of(line)); code != codeNoMethod {
			return false
		}
	} else if string(m.Result.Of(line)) != "null" && !isEmptyObject(m.Result.Of(line)) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.notified == 0 {
		return false
	}
	s.notified--
	return true
}

// isEmptyObject reports whether the valid JSON value raw is an object without members.
func isEmptyObject(raw []byte) bool { return raw[0] == '{' && raw[jsonrpc.SkipSpace(raw, 1)] == '}' }

// maxLostAnswers bounds the lost answers. With more, all requests that may be meant are ended.
const maxLostAnswers = 64

// endCandidate ends the request that m seems to answer, or notes that an answer is lost.
func (s *session) endCandidate(m jsonrpc.Candidate, why error) {
	id, ok := m.IDKey()
	s.mu.Lock()
	q := s.pending[id]
	if q == nil && ok { // 5 for "5", and the other way round
		other := "n" + id[1:]
		if id[0] == 'n' {
			other = "s" + id[1:]
		}
		if q = s.pending[other]; q != nil {
			id, why = other, errors.New("its id is of another type than the request's")
		}
	}
	switch {
	case q != nil:
		s.settle(id)
	case ok, !m.RPC: // it answers a request that does not wait, or is no message
	default:
		s.lostAnswers = append(s.lostAnswers, s.sent)
	}
	s.mu.Unlock()
	if q != nil {
		s.endRequest(q, why.Error())
	}
	s.endAmbiguous()
}

// endRequest answers q with an error, besides what the current line is answered with.
func (s *session) endRequest(q *request, why string) {
	line := s.answerBroken(q, why)
	if len(line) == 0 {
		return
	}
	if s.flush != nil {
		s.flush()
	}
	s.toClient(line)
}

// endAmbiguous ends requests of which no more wait than answers to them were lost.
func (s *session) endAmbiguous() {
	s.mu.Lock()
	var ended []*request
	for k := 0; k < len(s.lostAnswers); k++ {
		var wait []string
		for id, q := range s.pending {
			if q.order <= s.lostAnswers[k] && !q.cancelled && !q.endless {
				wait = append(wait, id)
			}
		}
		if len(wait) > k+1 && len(s.lostAnswers) < maxLostAnswers {
			continue
		}
		slices.Sort(wait)
		for _, id := range wait {
			ended = append(ended, s.pending[id])
			s.settle(id)
		}
		s.lostAnswers, k = s.lostAnswers[k+1:], -1
	}
	s.mu.Unlock()
	for _, q := range ended {
		s.endRequest(q, "it cannot be told from its answer which request it is for")
	}
}

// drop leaves out a message of the server. If it seems to answer a request, that is answered with an
// error.
func (s *session) drop(line []byte, m *jsonrpc.Message, why error) []byte {
	const most = 64 // bytes of it in the note
	s.notes.Printf("dropped a message of the server: %s; it began %s", why,
		jsonrpc.Quote(string(line[:min(len(line), most)])))
	id, ok := jsonrpc.IDKey(m.ID.Of(line))
	s.mu.Lock()
	q := s.pending[id]
	if ok = ok && !m.Method.Present() && q != nil; ok {
		s.settle(id)
	}
	s.mu.Unlock()
	if !ok {
		var tail []byte
		if why == jsonrpc.ErrLong {
			tail = s.lineEnd
		}
		s.endAnswered(line, tail, why)
		return nil
	}
	s.endSpread()
	return s.answerBroken(q, why.Error())
}

// answerBroken is what the client gets in place of an answer to q that is not passed on.
func (s *session) answerBroken(q *request, why string) []byte {
	switch q.kind {
	case askGuard:
		q.answer <- Answer{Err: []byte(`{"code":0,"message":"the answer cannot be read"}`)}
		return nil
	case askInitialize:
		s.abandonHandshake()
	}
	return jsonrpc.OwnErrorLine(q.rawID, jsonrpc.CodeInternal, "the server's answer is not passed on: "+why)
}
