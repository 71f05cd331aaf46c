package guard

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/guard/jsonrpc"
)

// An answer that cannot be read ends the request that it answers, so that nobody waits for
// ever. Which one that is is read from the id, leniently: all that a server can gain by
// naming another one is that its own answer to that is dropped. If there is no id that can be
// read, an answer to one of those that wait is lost: they are ended as soon as no more of
// them are left than answers were lost.

// seeming is an object of a line that cannot be read which looks like a message.
type seeming struct {
	id                  []byte // as written; nil if it has none
	rpc, method, answer bool   // it has the member jsonrpc; a method; a result or an error
}

// answers reports whether m seems to be an answer.
func (m seeming) answers() bool { return m.answer || m.rpc && m.id != nil && !m.method }

// seemings are the objects of a line that stand where messages do: by themselves, or in arrays.
func seemings(line []byte) (found []seeming) {
	type open struct {
		object, message bool
		name            bool // a member's name comes next
		seeming
	}
	var stack []open
	shut := func() {
		if top := stack[len(stack)-1]; top.object && top.message {
			found = append(found, top.seeming)
		}
		stack = stack[:len(stack)-1]
	}
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case '{', '[':
			inside := len(stack) == 0 || !stack[len(stack)-1].object && stack[len(stack)-1].message
			if len(stack) == jsonrpc.MaxNesting {
				return found
			}
			stack = append(stack, open{object: c == '{', message: inside, name: true})
		case '}', ']':
			if len(stack) > 0 {
				shut()
			}
		case ',':
			if len(stack) > 0 {
				stack[len(stack)-1].name = true
			}
		case '"':
			end, _ := jsonrpc.SkipString(line, i)
			if end <= i+1 || end > len(line) || line[end-1] != '"' {
				end = len(line)
			}
			if len(stack) > 0 && stack[len(stack)-1].name && stack[len(stack)-1].object {
				top := &stack[len(stack)-1]
				top.name = false
				if at := jsonrpc.SkipSpace(line, end); top.message && at < len(line) && line[at] == ':' {
					name, _ := jsonrpc.Text(line[i:end])
					switch strings.ToLower(name) {
					case "jsonrpc":
						top.rpc = true
					case "id":
						top.id = scalar(line, jsonrpc.SkipSpace(line, at+1))
					case "method":
						top.method = true
					case "result", "error":
						top.answer = true
					}
				}
			}
			i = end - 1
		}
	}
	for len(stack) > 0 {
		shut()
	}
	return found
}

// scalar is the string or word at line[i], or the mark with which something else begins.
func scalar(line []byte, i int) []byte {
	if i >= len(line) {
		return nil
	}
	end := i + 1
	switch {
	case line[i] == '"':
		end, _ = jsonrpc.SkipString(line, i)
	case strings.IndexByte("{[", line[i]) < 0:
		for end < len(line) && strings.IndexByte(" \t\r\n,]}", line[end]) < 0 {
			end++
		}
	}
	return line[i:max(i+1, min(end, len(line)))]
}

// lastID is the id at the end of a message, where programs often put it.
var lastID = regexp.MustCompile(`"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?[0-9.eE+-]+)\s*\}\s*$`)

// key is idKey of the id of m, if that is a whole string or number.
func (m seeming) key() (string, bool) {
	if len(m.id) == 0 {
		return "", false
	}
	var s jsonrpc.Scanner
	if end, err := s.Value(m.id, 0); err != nil || end != len(m.id) {
		return "", false
	}
	return jsonrpc.IDKey(m.id)
}

// lose ends the requests that a line seems to answer, of which tail is the end if it was cut.
func (s *session) lose(line, tail []byte, why error) {
	found := seemings(line)
	if m := lastID.FindSubmatch(tail); m != nil && len(found) == 1 && found[0].id == nil {
		found[0].id = m[1]
	}
	if len(found) > 1 && why == errLong {
		found = append(found, seeming{rpc: true, answer: true}) // what was cut off may be more
	}
	for _, m := range found {
		if m.answers() {
			s.loseOne(m, why)
		}
	}
}

// maxLost bounds the answers that were lost. With more, nobody is left waiting.
const maxLost = 64

// loseOne ends the request that m seems to answer, or notes that an answer is lost.
func (s *session) loseOne(m seeming, why error) {
	id, ok := m.key()
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
	case ok, !m.rpc: // of a request that nobody waits for; something else
	case string(m.id) == "null" && s.told > 0:
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
