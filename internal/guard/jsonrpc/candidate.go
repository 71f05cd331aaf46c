package jsonrpc

import (
	"bytes"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// Candidate is an object in a line that is not valid JSON-RPC, or was cut, which looks like a
// message. It is read leniently.
type Candidate struct {
	ID     []byte // as written; nil if there is none
	RPC    bool   // it has the member jsonrpc
	Method bool
	Answer bool // it has a result or an error
	Spread bool // it began in an earlier line
}

// IsAnswer reports whether c looks like an answer.
func (c Candidate) IsAnswer() bool { return c.Answer || c.RPC && c.ID != nil && !c.Method }

// IDKey is IDKey of the id of c, if that is a whole string or number.
func (c Candidate) IDKey() (string, bool) {
	if len(c.ID) == 0 {
		return "", false
	}
	var s Scanner
	if end, err := s.Value(c.ID, 0); err != nil || end != len(c.ID) {
		return "", false
	}
	return IDKey(c.ID)
}

// FindCandidates returns the objects of a line that stand where messages do: at the top level,
// or in arrays.
func FindCandidates(line []byte) []Candidate {
	var c Candidates
	return append(c.Next(line), c.Leave()...)
}

// Candidates finds the objects of lines that are no messages. What begins a line may go on in the next; a string
// ends with its line.
type Candidates struct {
	open  []container
	ended bool // what is open stands behind other text, and does not go on
}

// container is an object or array that has not ended yet.
type container struct {
	object    bool
	candidate bool // it stands where messages do, and was not returned yet
	inside    bool // it has messages
	name      bool // the next string is the name of a member
	Candidate
}

// Next returns the objects that end in line, and those that do not end but look like an answer already: with an
// id, or else begun in this line. Each is returned once.
func (c *Candidates) Next(line []byte) (found []Candidate) {
	if c.ended {
		c.open, c.ended = c.open[:0], false
	}
	first := SkipSpace(line, 0)
	for i := 0; i < len(line); i++ {
		switch b := line[i]; b {
		case '{', '[':
			if len(c.open) == 0 {
				c.ended = i > first
			}
			inside := len(c.open) == 0 || c.open[len(c.open)-1].inside
			if len(c.open) == MaxNesting {
				return found
			}
			c.open = append(c.open, container{object: b == '{', candidate: b == '{' && inside,
				inside: b == '[' && inside, name: true})
		case '}', ']':
			if last := len(c.open) - 1; last >= 0 {
				found = append(found, c.leave(last)...)
			}
		case ',':
			if len(c.open) > 0 {
				c.open[len(c.open)-1].name = true
			}
		case '"':
			end, _ := SkipString(line, i)
			if end <= i+1 || end > len(line) || line[end-1] != '"' {
				end = len(line)
			}
			c.readString(line, i, end)
			i = end - 1
		}
	}
	for k := range c.open {
		top := &c.open[k]
		if top.candidate && top.IsAnswer() && (len(top.ID) > 0 || top.RPC && !top.Spread) {
			top.candidate, found = false, append(found, top.Candidate)
		}
		top.Spread = true
	}
	return found
}

// Leave returns the objects that have not ended, and forgets them.
func (c *Candidates) Leave() []Candidate { return c.leave(0) }

// leave ends the containers from the k-th on, the innermost first.
func (c *Candidates) leave(k int) (found []Candidate) {
	for i := len(c.open) - 1; i >= k; i-- {
		if c.open[i].candidate {
			found = append(found, c.open[i].Candidate)
		}
	}
	c.open = c.open[:k]
	return found
}

// readString reads the string line[i:end], which may be the name of a member.
func (c *Candidates) readString(line []byte, i, end int) {
	if len(c.open) == 0 {
		return
	}
	top := &c.open[len(c.open)-1]
	if !top.name || !top.object {
		return
	}
	top.name = false
	if at := SkipSpace(line, end); top.candidate && (at == len(line) || line[at] == ':') {
		name, _ := Text(line[i:end])
		top.readMember(name, line, SkipSpace(line, at+1))
	}
}

// readMember notes the member called name, whose value begins at line[i].
func (c *Candidate) readMember(name string, line []byte, i int) {
	switch strings.ToLower(name) {
	case "jsonrpc":
		c.RPC = true
	case "id":
		id := scalar(line, i)
		c.ID = bytes.Clone(id[:min(len(id), MaxID+1)])
	case "method":
		c.Method = true
	case "result", "error":
		c.Answer = true
	}
}

// scalar is the string or word at line[i], or the character with which anything else begins.
func scalar(line []byte, i int) []byte {
	if i >= len(line) {
		return nil
	}
	end := i + 1
	switch {
	case line[i] == '"':
		end, _ = SkipString(line, i)
	case strings.IndexByte("{[", line[i]) < 0:
		for end < len(line) && strings.IndexByte(" \t\r\n,]}", line[end]) < 0 {
			end++
		}
	}
	return line[i:max(i+1, min(end, len(line)))]
}

// lastID is an id at the end of a message, where many programs write it.
var lastID = spelling.Form(`"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?[0-9.eE+-]+)\s*\}\s*$`)

// LastID is the id with which a message ends, as written, or nil.
func LastID(tail []byte) []byte {
	if m := lastID().FindSubmatch(tail); m != nil {
		return m[1]
	}
	return nil
}
