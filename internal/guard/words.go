package guard

import (
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/guard/jsonrpc"
	"github.com/hallmark-mcp/hallmark/surface"
)

// codeWithheld is the code of the JSON-RPC error for what drift forbids, or for a call while
// the surface is not known.
const codeWithheld = -32050

// failure is a line with a JSON-RPC error as the answer to the request whose raw id
// is id; nil is null. message is the guard's own text, in which text from outside
// is escaped.
func failure(id []byte, code int, message string) []byte {
	return jsonrpc.ErrorLine(id, code, "hallmark: "+message)
}

// showText is text from outside for a message: escaped and cut.
func showText(s string) string { return cut(s, 200) }

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

// showReason is what a server gave as a reason.
func showReason(s string) string {
	if s == "" {
		return "the server said nothing"
	}
	return "the server said: " + quote(s)
}

// showName is a name for a message: in quotation marks unless it is one word, as most are.
func showName(s string) string {
	if s == "" || len(s) > 128 || strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r > '~' || r == '"' ||
			r == '\\'
	}) {
		return quote(s)
	}
	return s
}
