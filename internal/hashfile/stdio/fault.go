package stdio

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// codeBusy is the code of the error for a request that cannot wait with the others.
const codeBusy = -32000

// fault is why a message is not passed on.
type fault struct {
	code int64
	text string
	id   json.RawMessage // of the message, as written; nil if it is not known
}

func invalid(id json.RawMessage, text string) *fault {
	return &fault{code: jsonrpc.CodeInvalidRequest, text: "Invalid Request: " + text, id: id}
}

func unparsable() *fault {
	return &fault{code: jsonrpc.CodeParseError, text: "Parse error: the line is not valid JSON"}
}

// answer returns the message that tells the client.
func (f *fault) answer() []byte {
	id := f.id
	if id == nil {
		id = json.RawMessage("null")
	}
	text, err := json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   jsonrpc.Error   `json:"error"`
	}{"2.0", id, jsonrpc.Error{Code: f.code, Message: f.text}})
	if err != nil { // an id that cannot be repeated
		text = []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request"}}`)
	}
	return text
}
