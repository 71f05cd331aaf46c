package stdio

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/hallmark-mcp/hallmark/internal/spelling"
	"github.com/hallmark-mcp/hallmark/surface"
)

// maxExact is the greatest integer up to which all clients tell ids that are numbers from one another.
const maxExact = 1 << 53

// request is one message of the client: a request, a notification, which has no id, or an answer.
type request struct {
	id     json.RawMessage // as written; nil if there is none, or it is not known
	key    any             // the id as a string or float64, by which it equals others; nil likewise
	method string          // "" is an answer
	params map[string]json.RawMessage

	result, failure json.RawMessage // of an answer

	stateless bool   // see the version of the name
	roots     *Roots // the client's capability; nil if it has none

	call      *Call // of a tool, as all below
	writes    bool
	size      int             // bytes that it holds while it waits
	batch     *batch          // or nil
	ctx       context.Context // while it is at work and answered
	cancel    context.CancelFunc
	cancelled bool
	answered  bool // its answer waits to be written
}

// fault is why a message is answered with an error.
type fault struct {
	Code int    `json:"code"`
	Text string `json:"message"`
	Data any    `json:"data,omitempty"`
}

// Codes of errors.
const (
	codeEarly              = 0 // what the SDKs answer to a request out of turn
	codeBusy               = -32000
	codeUnsupportedVersion = -32022
	codeInvalidRequest     = -32600
	codeMethodNotFound     = -32601
	codeInvalidParams      = -32602
	codeParse              = -32700
)

func invalid(text string) *fault {
	return &fault{Code: codeInvalidRequest, Text: "Invalid Request: " + text}
}

func wrong(text string) *fault {
	return &fault{Code: codeInvalidParams, Text: "invalid params: " + text}
}

// message returns an answer, without a line end. Its id stays as the client wrote it.
func message(id json.RawMessage, member string, value any) []byte {
	text, err := encode(value)
	if err != nil { // a result that is no JSON, which is a mistake of the server
		member, text = "error", []byte(`{"code":-32603,"message":"the answer cannot be written"}`)
	}
	return slices.Concat([]byte(`{"jsonrpc":"2.0","id":`), id, []byte(`,"`+member+`":`), text, []byte("}"))
}

// parse reads one JSON value, which has to be valid, as a message, of which the id at least is set as far as it is
// known. The message is nil if it is to be dropped.
func parse(data []byte) (*request, *fault) {
	m := &request{}
	if data[0] != '{' {
		return m, invalid("the message is no object")
	}
	e, twice := members(data)
	key, ok := parseID(e["id"])
	if ok && !slices.Contains(twice, "id") {
		m.id, m.key = e["id"], key
	}
	m.result, m.failure = e["result"], e["error"]
	answers := m.result != nil || m.failure != nil
	method, isText := text(e["method"])
	switch {
	case answers && e["method"] == nil && (m.id == nil || len(twice) > 0):
		return nil, nil // an answer is never answered
	case answers && e["method"] == nil:
		return m, nil
	case len(twice) > 0:
		return m, invalid("a member is there twice")
	case string(e["jsonrpc"]) != `"2.0"`:
		return m, invalid(`jsonrpc is not "2.0"`)
	case answers:
		return m, invalid("it is a request and an answer")
	case e["id"] != nil && !ok:
		return m, invalid("the id is neither a string nor an integer of at most 53 bits")
	case !isText || method == "":
		return m, invalid("there is no method, or it is no string")
	}
	m.method = method
	f := m.readParams(e["params"])
	if f != nil && m.id == nil { // a notification is never answered
		return nil, nil
	}
	return m, f
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
		if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
			return key, n <= maxExact && n >= -maxExact // before it was rounded
		}
		return key, v == float64(int64(v)) && v < maxExact && v > -maxExact
	}
	return nil, false
}

// readParams reads the parameters. Arguments of tools are left to the tools, which explain what is wrong with them.
func (m *request) readParams(params []byte) *fault {
	if absent(params) {
		return nil
	}
	if params[0] != '{' {
		return wrong("they are no object")
	}
	found, twice := members(params)
	for name, value := range found {
		if len(twice) > 0 || name != "arguments" && surface.CheckJSON(value, surface.Limits{}) != nil {
			return invalid("params hold a member twice, or one that readers take differently or that is nested " +
				"too deep")
		}
	}
	m.params = found
	return nil
}

// lastID matches an id at the end of a message, where the client libraries write it.
var lastID = spelling.Form(`"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?[0-9]+)\s*\}\s*$`)

// identify returns a message over the limit with its id, if its beginning or its end shows it, and whether it is an
// answer.
func (e *excess) identify() (m *request, answers bool) {
	d := json.NewDecoder(bytes.NewReader(e.head))
	start, err := d.Token()
	var id json.RawMessage
	for err == nil && start == json.Delim('{') {
		var name json.Token
		if name, err = d.Token(); err == nil {
			answers = answers || name == "result" || name == "error"
			var value json.RawMessage
			if err = d.Decode(&value); err == nil && name == "id" {
				id = value
			}
		}
	}
	if found := lastID().FindSubmatch(e.tail); id == nil && found != nil && start == json.Delim('{') {
		id = found[1]
	}
	m = &request{}
	if key, ok := parseID(id); ok {
		m.id, m.key = id, key
	}
	return m, answers
}
