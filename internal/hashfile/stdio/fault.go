package stdio

import (
	"bytes"
	"encoding/json"
)

// Codes of errors.
const (
	codeOther              = 0 // what the MCP SDKs send for a request out of turn
	codeBusy               = -32000
	codeUnsupportedVersion = -32022
	codeInvalidRequest     = -32600
	codeMethodNotFound     = -32601
	codeInvalidParams      = -32602
	codeInternal           = -32603
	codeParse              = -32700
)

// fault is why a message is answered with an error.
type fault struct {
	id   json.RawMessage // of the message, as written; nil if it is not known
	Code int             `json:"code"`
	Text string          `json:"message"`
	Data any             `json:"data,omitempty"`
}

func invalid(id json.RawMessage, text string) *fault {
	return &fault{id: id, Code: codeInvalidRequest, Text: "Invalid Request: " + text}
}

func unparsable() *fault {
	return &fault{Code: codeParse, Text: "Parse error: the line is not valid JSON"}
}

func (f *fault) answer() []byte {
	id := f.id
	if id == nil {
		id = json.RawMessage("null")
	}
	return message(id, "error", f)
}

// message returns an answer, without a line end. Its id stays as the client wrote it.
func message(id json.RawMessage, member string, value any) []byte {
	text, err := encode(value)
	if err != nil { // a result that is no JSON, which is a mistake of the server
		member, text = "error", []byte(`{"code":-32603,"message":"the answer cannot be written"}`)
	}
	return concat([]byte(`{"jsonrpc":"2.0","id":`), id, []byte(`,"`+member+`":`), text, []byte("}"))
}

func concat(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// encode returns a value as JSON in which <, > and & stand for themselves.
func encode(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(value)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
