package guard

import (
	"errors"
	"slices"

	"github.com/hallmark-mcp/hallmark/internal/guard/jsonrpc"
)

// An answer that cannot be read ends the request that it answers, so that nobody waits for
// ever. Which one that is is read from the id, leniently: all that a server can gain by
// naming another one is that its own answer to that is dropped. If there is no id that can be
// read, an answer to one of those that wait is lost: they are ended as soon as no more of
// them are left than answers were lost.

// lose ends the requests that a line seems to answer, of which tail is the end if it was cut.
func (s *session) lose(line, tail []byte, why error) {
	found := jsonrpc.FindCandidates(line)
	if id := jsonrpc.LastID(tail); id != nil && len(found) == 1 && found[0].ID == nil {
		found[0].ID = id
	}
	if len(found) > 1 && why == jsonrpc.ErrLong {
		found = append(found, jsonrpc.Candidate{RPC: true, Answer: true}) // what was cut off may be more
	}
	for _, m := range found {
		if m.IsAnswer() {
			s.loseOne(m, why)
		}
	}
}

// maxLost bounds the answers that were lost. With more, nobody is left waiting.
const maxLost = 64

// loseOne ends the request that m seems to answer, or notes that an answer is lost.
func (s *session) loseOne(m jsonrpc.Candidate, why error) {
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
		delete(s.pending, id)
	case ok, !m.RPC: // of a request that nobody waits for; something else
	case string(m.ID) == "null" && s.told > 0:
		// Some servers answer notifications so. It cannot be told from an answer to what
		// was asked since, until one of those is answered.
	default:
		s.lost = append(s.lost, s.asks)
	}
	s.mu.Unlock()
	if q != nil {
		s.end(q, why.Error())
	}
	s.settleLost()
}

// end answers q with an error, outside of what is handled.
func (s *session) end(q *request, why string) {
	line := s.broken(q, why)
	if len(line) == 0 {
		return
	}
	if s.flush != nil {
		s.flush()
	}
	s.toClient(line)
}

// settleLost ends the requests of which no more wait than answers to them were lost.
func (s *session) settleLost() {
	s.mu.Lock()
	var ended []*request
	for k := 0; k < len(s.lost); k++ {
		var wait []string
		for id, q := range s.pending {
			if q.turn <= s.lost[k] && !q.cancelled {
				wait = append(wait, id)
			}
		}
		if len(wait) > k+1 && len(s.lost) < maxLost {
			continue
		}
		slices.Sort(wait)
		for _, id := range wait {
			ended = append(ended, s.pending[id])
			delete(s.pending, id)
		}
		s.lost, k = s.lost[k+1:], -1
	}
	s.mu.Unlock()
	for _, q := range ended {
		s.end(q, "it cannot be told from its answer which request it is for")
	}
}
