package jsonrpc

import (
	"bytes"
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
)

// Message is one JSON-RPC message: the values of its routing members.
type Message struct {
	Whole                      Span // the message itself
	ID, Method, Params, Result Span
	Err                        Span
}

// Names are member names, as [Scanner.Object] wants them.
func Names(s ...string) [][]byte {
	out := make([][]byte, len(s))
	for i := range s {
		out[i] = []byte(s[i])
	}
	return out
}

var routing = Names("jsonrpc", "id", "method", "params", "result", "error")

// Message scans the object at b[i]. If err is ErrDuplicate or ErrFold the members that are not ambiguous are
// set.
func (s *Scanner) Message(b []byte, i int) (m Message, err error) {
	var at [6]Span
	end, err := s.Object(b, i, routing, at[:])
	return Message{Whole: Span{i, end}, ID: at[1], Method: at[2], Params: at[3], Result: at[4], Err: at[5]}, err
}

// Ends reports whether nothing but white space follows b[:i].
func Ends(b []byte, i int) bool { return SkipSpace(b, i) == len(b) }

// MaxID bounds the text of an id.
const MaxID = 1024 // bytes

// IDKey is the type and value of an id, under which it is looked up: "s" and the
// text of a string, "n" and the shortest decimal form of a number. ok is false for
// anything else, for a string that is not well formed, and beyond MaxID.
func IDKey(raw []byte) (key string, ok bool) {
	if len(raw) == 0 || len(raw) > MaxID {
		return "", false
	}
	switch c := raw[0]; {
	case c == '"':
		t, ok := Text(raw)
		return "s" + t, ok
	case c == '-' || '0' <= c && c <= '9':
		if string(raw) == "-0" {
			raw = raw[1:]
		}
		if bytes.ContainsAny(raw, ".eE") {
			return numberKey(string(raw))
		}
		return "n" + string(raw), true
	}
	return "", false
}

// numberKey is IDKey for a number with a fraction or an exponent, which may be an
// integer all the same.
func numberKey(s string) (string, bool) {
	if e := strings.IndexAny(s, "eE"); e >= 0 {
		if n, err := strconv.Atoi(s[e+1:]); err != nil || n > MaxID || n < -MaxID {
			return "", false // 1e999999999 would fill memory
		}
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return "", false
	}
	return "n" + strings.TrimSuffix(r.RatString(), "/1"), true
}

// The codes of JSON-RPC errors.
const (
	CodeParse    = -32700
	CodeRequest  = -32600 // not a request that can be routed
	CodeNoMethod = -32601
	CodeParams   = -32602
	CodeInternal = -32603
)

// ErrorLine is a line with a JSON-RPC error as the answer to the request whose raw id is
// id; nil is null.
func ErrorLine(id []byte, code int, text string) []byte {
	if len(id) == 0 || len(id) > MaxID || bytes.IndexByte(id, '\r') >= 0 {
		id = []byte("null")
	}
	line := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	line = append(line, `,"error":{"code":`...)
	line = strconv.AppendInt(line, int64(code), 10)
	line = append(line, `,"message":`...)
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string
	}
	line = append(line, quoted...)
	return append(line, "}}\n"...)
}
