package stdio

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"sync"

	"github.com/hallmark-mcp/hallmark/surface"
)

// maxExact is the greatest integer up to which all clients keep ids that are numbers.
const maxExact = 1 << 53

// request is one message of the client: a request, a notification, which has no id, or an answer.
type request struct {
	id     json.RawMessage // as written; nil if there is none
	key    any             // the id as a string or float64, by which it equals others
	method string          // "" is an answer
	params map[string]json.RawMessage
	odd    bool // the parameters are there, and no object
	given  bool // the parameters are there, and not null

	result, failure json.RawMessage // of an answer

	running // of a call
}

// envelope holds the members of a message.
type envelope struct {
	version, id, method, params, result, failure []byte
}

// parse reads one JSON value, which has to be valid, as a message. It returns neither a message nor a fault for what is
// dropped.
func parse(data []byte) (*request, *fault) {
	if data[0] != '{' {
		return nil, invalid(nil, "the message is no object")
	}
	e, twice := split(data)
	m := &request{result: e.result, failure: e.failure}
	key, ok := parseID(e.id)
	if ok && !slices.Contains(twice, "id") {
		m.id, m.key = e.id, key
	}
	answers := e.method == nil && (e.result != nil || e.failure != nil)
	switch {
	case answers && (m.id == nil || len(twice) > 0):
		return nil, nil // an answer is never answered
	case answers:
		return m, nil
	case len(twice) > 0:
		return nil, invalid(m.id, "a member is there twice")
	case string(e.version) != `"2.0"`:
		return nil, invalid(m.id, `jsonrpc is not "2.0"`)
	case e.method == nil:
		return nil, invalid(m.id, "there is no method")
	case e.result != nil || e.failure != nil:
		return nil, invalid(m.id, "it is a request and an answer")
	case e.id != nil && !ok:
		return nil, invalid(nil, "the id is neither a string nor an integer of at most 53 bits")
	}
	var method, known = text(e.method)
	if !known || method == "" {
		return nil, invalid(m.id, "the method is no string, or an empty one")
	}
	m.method = method
	return m, m.readParams(e.params)
}

// split returns the members of an object that belong to messages, and the names of those that are there twice.
func split(object []byte) (e envelope, twice []string) {
	known := map[string]*[]byte{"jsonrpc": &e.version, "id": &e.id, "method": &e.method, "params": &e.params,
		"result": &e.result, "error": &e.failure}
	members(object, func(name string, value []byte) bool {
		if at := known[name]; at != nil {
			if *at != nil {
				twice = append(twice, name)
			}
			*at = value[:len(value):len(value)]
		}
		return true
	})
	return e, twice
}

// parseID reads an id; ok is false if it is neither a string nor an integer that all clients keep.
func parseID(raw []byte) (key any, ok bool) {
	if len(raw) == 0 || surface.CheckJSON(raw, surface.Limits{}) != nil || json.Unmarshal(raw, &key) != nil {
		return nil, false
	}
	switch v := key.(type) {
	case string:
		return key, true
	case float64:
		return key, v == float64(int64(v)) && v <= maxExact && v >= -maxExact
	}
	return nil, false
}

// text reads a string; ok is false if it is none, or one that readers take differently.
func text(raw []byte) (s string, ok bool) {
	if len(raw) == 0 || raw[0] != '"' || surface.CheckJSON(raw, surface.Limits{}) != nil {
		return "", false
	}
	return s, json.Unmarshal(raw, &s) == nil
}

// absent reports whether a member is missing or null.
func absent(raw []byte) bool { return len(raw) == 0 || string(raw) == "null" }

// object reads an object; ok is false if it is none. What is missing or null has no members.
func object(raw []byte) (members map[string]json.RawMessage, ok bool) {
	return members, absent(raw) || json.Unmarshal(raw, &members) == nil
}

// readParams reads the parameters. Arguments of tools are left to the tools, which explain what is wrong with them.
func (m *request) readParams(params []byte) *fault {
	m.given = !absent(params)
	if m.odd = m.given && params[0] != '{'; m.odd || !m.given {
		return nil
	}
	m.params = map[string]json.RawMessage{}
	odd := false
	members(params, func(name string, value []byte) bool {
		odd = m.params[name] != nil || name != "arguments" && surface.CheckJSON(value, surface.Limits{}) != nil
		m.params[name] = value[:len(value):len(value)]
		return !odd
	})
	if odd {
		return invalid(m.id, "params hold a member twice, or one that readers take differently")
	}
	return nil
}

// lastID matches an id at the end of a message, where the client libraries write it.
var lastID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?[0-9]+)\s*\}\s*$`)
})

// identify returns the id of a message over the limit, if its beginning or its end shows it, and whether it is an
// answer.
func (e *excess) identify() (id json.RawMessage, answers bool) {
	d := json.NewDecoder(bytes.NewReader(e.head))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return nil, false
	}
	for {
		name, err := d.Token()
		if err != nil {
			break
		}
		answers = answers || name == "result" || name == "error"
		var value json.RawMessage
		if d.Decode(&value) != nil {
			break
		}
		if name == "id" {
			id = value
		}
	}
	if m := lastID().FindSubmatch(e.tail); id == nil && m != nil {
		id = m[1]
	}
	if _, ok := parseID(id); !ok {
		id = nil
	}
	return id, answers
}
