package stdio

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/hallmark-mcp/hallmark/surface"
)

// encode returns a value as JSON in which <, > and & stand for themselves.
func encode(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(value)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// absent reports whether a member is missing or null.
func absent(raw []byte) bool { return len(raw) == 0 || string(raw) == "null" }

// text reads a string; ok is false if it is none, or one that readers take differently.
func text(raw []byte) (s string, ok bool) {
	if len(raw) == 0 || raw[0] != '"' || surface.CheckJSON(raw, surface.Limits{}) != nil {
		return "", false
	}
	return s, json.Unmarshal(raw, &s) == nil
}

// object reads an object; ok is false if it is none. What is missing or null has no members.
func object(raw []byte) (members map[string]json.RawMessage, ok bool) {
	return members, absent(raw) || json.Unmarshal(raw, &members) == nil
}

// members returns the members of an object, which has to be valid, and the names of those that are there twice. It
// does not look into their values.
func members(object []byte) (found map[string]json.RawMessage, twice []string) {
	found = map[string]json.RawMessage{}
	var name string
	values(object, func(i int, value []byte) bool {
		if i%2 == 0 {
			if name = ""; json.Unmarshal(value, &name) != nil {
				return false
			}
			return true
		}
		if found[name] != nil {
			twice = append(twice, name)
		}
		found[name] = value
		return true
	})
	return found, twice
}

// values calls each with the values of an object or array, which has to be valid, until it returns false. The names of
// an object count as values.
func values(of []byte, each func(i int, value []byte) bool) {
	at := 1
	for i := 0; ; i++ {
		for strings.IndexByte(" \t\r\n,:", of[at]) >= 0 {
			at++
		}
		if of[at] == '}' || of[at] == ']' {
			return
		}
		end := skipValue(of, at)
		if !each(i, of[at:end:end]) {
			return
		}
		at = end
	}
}

// skipValue returns where the value that begins at b[i] ends.
func skipValue(b []byte, i int) int {
	depth := 0
	for {
		switch b[i] {
		case '"':
			for i++; b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		default:
			for depth == 0 && strings.IndexByte(",:]} \t\r\n", b[i+1]) < 0 {
				i++
			}
		}
		if i++; depth == 0 {
			return i
		}
	}
}
