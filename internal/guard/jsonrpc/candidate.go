package jsonrpc

import (
	"regexp"
	"strings"
	"sync"
)

// Candidate is an object in a line that is not valid JSON-RPC, or was cut, which looks like a
// message. It is read leniently.
type Candidate struct {
	ID     []byte // as written; nil if there is none
	RPC    bool   // it has the member jsonrpc
	Method bool
	Answer bool // it has a result or an error
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
func FindCandidates(line []byte) (found []Candidate) {
	type container struct {
		object    bool
		candidate bool // it stands where messages do
		name      bool // the next string is the name of a member
		Candidate
	}
	var stack []container
	leave := func() {
		if top := stack[len(stack)-1]; top.object && top.candidate {
			found = append(found, top.Candidate)
		}
		stack = stack[:len(stack)-1]
	}
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case '{', '[':
			inside := len(stack) == 0 || !stack[len(stack)-1].object && stack[len(stack)-1].candidate
			if len(stack) == MaxNesting {
				return found
			}
			stack = append(stack, container{object: c == '{', candidate: inside, name: true})
		case '}', ']':
			if len(stack) > 0 {
				leave()
			}
		case ',':
			if len(stack) > 0 {
				stack[len(stack)-1].name = true
			}
		case '"':
			end, _ := SkipString(line, i)
			if end <= i+1 || end > len(line) || line[end-1] != '"' {
				end = len(line)
			}
			if len(stack) > 0 && stack[len(stack)-1].name && stack[len(stack)-1].object {
				top := &stack[len(stack)-1]
				top.name = false
				if at := SkipSpace(line, end); top.candidate && at < len(line) && line[at] == ':' {
					name, _ := Text(line[i:end])
					top.readMember(name, line, SkipSpace(line, at+1))
				}
			}
			i = end - 1
		}
	}
	for len(stack) > 0 {
		leave()
	}
	return found
}

// readMember notes the member called name, whose value begins at line[i].
func (c *Candidate) readMember(name string, line []byte, i int) {
	switch strings.ToLower(name) {
	case "jsonrpc":
		c.RPC = true
	case "id":
		c.ID = scalar(line, i)
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
var lastID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?[0-9.eE+-]+)\s*\}\s*$`)
})

// LastID is the id with which a message ends, as written, or nil.
func LastID(tail []byte) []byte {
	if m := lastID().FindSubmatch(tail); m != nil {
		return m[1]
	}
	return nil
}
