package guard

import (
	"bytes"
	"encoding/json"
	"math/big"
	"strconv"
	"strings"

	"github.com/hallmark-mcp/hallmark/surface"
)

// message is one JSON-RPC message: the values of its routing members.
type message struct {
	whole                      span // the message itself
	id, method, params, result span
	err                        span
}

func names(s ...string) [][]byte {
	out := make([][]byte, len(s))
	for i := range s {
		out[i] = []byte(s[i])
	}
	return out
}

var routing = names("jsonrpc", "id", "method", "params", "result", "error")

// message scans the object at b[i]. If err is errDuplicate or errFold the members
// that could be told are set.
func (s *scanner) message(b []byte, i int) (m message, err error) {
	var at [6]span
	end, err := s.object(b, i, routing, at[:])
	return message{whole: span{i, end}, id: at[1], method: at[2], params: at[3], result: at[4], err: at[5]}, err
}

// ends reports whether nothing but white space follows b[:i].
func ends(b []byte, i int) bool { return space(b, i) == len(b) }

// maxID bounds the text of an id.
const maxID = 1024 // bytes

// idKey is the type and value of an id, under which it is looked up: "s" and the
// text of a string, "n" and the shortest decimal form of a number. ok is false for
// anything else, for a string that is not well formed, and beyond maxID.
func idKey(raw []byte) (key string, ok bool) {
	if len(raw) == 0 || len(raw) > maxID {
		return "", false
	}
	switch c := raw[0]; {
	case c == '"':
		t, ok := text(raw)
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

// numberKey is idKey for a number with a fraction or an exponent, which may be an
// integer all the same.
func numberKey(s string) (string, bool) {
	if e := strings.IndexAny(s, "eE"); e >= 0 {
		if n, err := strconv.Atoi(s[e+1:]); err != nil || n > maxID || n < -maxID {
			return "", false // 1e999999999 would fill memory
		}
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return "", false
	}
	return "n" + strings.TrimSuffix(r.RatString(), "/1"), true
}

// The codes of JSON-RPC errors that the guard answers with.
const (
	codeParse    = -32700
	codeRequest  = -32600 // not a request that can be routed
	codeParams   = -32602
	codeInternal = -32603 // the server's answer cannot be passed on
	codeWithheld = -32050 // drift, or the surface is not known
)

// failure is a line with a JSON-RPC error as the answer to the request whose raw id
// is id; nil is null. message is the guard's own text, in which text from outside
// is escaped.
func failure(id []byte, code int, message string) []byte {
	if len(id) == 0 || len(id) > maxID || bytes.IndexByte(id, '\r') >= 0 {
		id = []byte("null")
	}
	line := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	line = append(line, `,"error":{"code":`...)
	line = strconv.AppendInt(line, int64(code), 10)
	line = append(line, `,"message":`...)
	quoted, err := json.Marshal("hallmark: " + message)
	if err != nil {
		quoted = []byte(`"hallmark: refused"`)
	}
	line = append(line, quoted...)
	return append(line, "}}\n"...)
}

// shown is text from outside for a message: escaped and cut.
func shown(s string) string { return cut(s, 200) }

func cut(s string, most int) string {
	if len(s) > most {
		return surface.Escape(strings.ToValidUTF8(s[:most], "")) + "…"
	}
	return surface.Escape(s)
}

// quote is text of a server for a message: escaped, cut, and in quotation marks, which it
// cannot close: its own become apostrophes. Nothing that a server says stands in a message as
// if Hallmark said it.
func quote(s string) string {
	return `"` + strings.ReplaceAll(cut(s, 80), `"`, "'") + `"`
}

// serverSaid is what a server gave as a reason.
func serverSaid(s string) string {
	if s == "" {
		return "the server said nothing"
	}
	return "the server said: " + quote(s)
}

// named is a name for a message: in quotation marks unless it is one word, as most are.
func named(s string) string {
	if s == "" || len(s) > 128 || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }) {
		return quote(s)
	}
	return s
}
