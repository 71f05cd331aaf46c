package stdio

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/hallmark-mcp/hallmark/surface"
)

// maxExact is the greatest integer up to which the SDK keeps the ids that are numbers.
const maxExact = 1 << 53

// message is one message of the client.
type message struct {
	request  *jsonrpc.Request  // or nil
	response *jsonrpc.Response // or nil; if both are nil, the message is dropped
	id       json.RawMessage   // as written; nil if there is none
	tool     string            // of tools/call
	version  string            // of initialize
	cancels  jsonrpc.ID        // of notifications/cancelled
}

// envelope holds the members of a message.
type envelope struct {
	version, id, method, params, result, failure []byte
}

// parse reads one JSON value, which has to be valid, as a message.
func parse(data []byte) (message, *fault) {
	if data[0] != '{' {
		return message{}, invalid(nil, "the message is no object")
	}
	e, twice := split(data)
	var m message
	id, ok := parseID(e.id)
	if ok && !slices.Contains(twice, "id") {
		m.id = e.id
	}
	answers := e.method == nil && (e.result != nil || e.failure != nil)
	var method string
	switch {
	case answers && (m.id == nil || len(twice) > 0):
		return message{}, nil // an answer is never answered
	case answers:
		m.response = e.response(id)
		return m, nil
	case len(twice) > 0:
		return m, invalid(m.id, "a member is there twice")
	case string(e.version) != `"2.0"`:
		return m, invalid(m.id, `jsonrpc is not "2.0"`)
	case e.method == nil:
		return m, invalid(m.id, "there is no method")
	case e.result != nil || e.failure != nil:
		return m, invalid(m.id, "it is a request and an answer")
	case e.id != nil && !ok:
		return m, invalid(nil, "the id is neither a string nor an integer of at most 53 bits")
	case surface.CheckJSON(e.method, surface.Limits{}) != nil || json.Unmarshal(e.method, &method) != nil ||
		e.method[0] != '"':
		return m, invalid(m.id, "the method is no string")
	}
	m.request = &jsonrpc.Request{Method: method, Params: e.params}
	if m.id != nil {
		m.request.ID = id
	}
	return m, m.readParams()
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

// parseID reads an id; ok is false if it is none that the SDK keeps as it is.
func parseID(raw []byte) (id jsonrpc.ID, ok bool) {
	if len(raw) == 0 || surface.CheckJSON(raw, surface.Limits{}) != nil {
		return id, false
	}
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return id, false
	}
	switch v := value.(type) {
	case string:
	case float64:
		if v != float64(int64(v)) || v > maxExact || v < -maxExact {
			return id, false
		}
	default:
		return id, false
	}
	id, err := jsonrpc.MakeID(value)
	return id, err == nil
}

// response reads an answer of the client. One that cannot be read is an error, so that its call does not wait for more.
func (e *envelope) response(id jsonrpc.ID) *jsonrpc.Response {
	r := &jsonrpc.Response{ID: id, Result: e.result}
	if e.failure != nil {
		failure := new(jsonrpc.Error)
		if json.Unmarshal(e.failure, failure) != nil {
			failure = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "an error that cannot be read"}
		}
		r.Result, r.Error = nil, failure
	}
	return r
}

// readParams reads what the transport needs of the parameters. Arguments of tools are left to the tools, which
// explain what is wrong with them.
func (m *message) readParams() *fault {
	params := m.request.Params
	if len(params) == 0 || params[0] != '{' {
		return nil
	}
	seen, odd := map[string]bool{}, false
	members(params, func(name string, value []byte) bool {
		odd = seen[name] || name != "arguments" && surface.CheckJSON(value, surface.Limits{}) != nil
		seen[name] = true
		switch {
		case name == "name" && m.request.Method == "tools/call":
			json.Unmarshal(value, &m.tool) // what is no string, the SDK refuses
		case name == "protocolVersion" && m.request.Method == "initialize":
			json.Unmarshal(value, &m.version)
		case name == "requestId" && m.request.Method == "notifications/cancelled":
			m.cancels, _ = parseID(value)
		}
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
