package jsonrpc

import (
	"strings"

	"github.com/hallmark-mcp/hallmark/surface"
)

// CodeWithheld is the code of the JSON-RPC error for a request that drift forbids, or that cannot
// be judged because the surface is not known.
const CodeWithheld = -32050

// OwnErrorLine is [ErrorLine] with a message of the guard, which says so, as the answer to the request whose raw id is
// id; nil is null. message is the guard's own text, in which text from outside is escaped.
func OwnErrorLine(id []byte, code int, message string) []byte {
	return ErrorLine(id, code, "hallmark: "+message)
}

// ShowText is text from outside as a message shows it: escaped and cut.
func ShowText(s string) string { return escapeAndCut(s, 200) }

// escapeAndCut escapes s and cuts it after most bytes.
func escapeAndCut(s string, most int) string {
	if len(s) > most {
		return surface.Escape(strings.ToValidUTF8(s[:most], "")) + "…"
	}
	return surface.Escape(s)
}

// Quote is text of a server as a message shows it: escaped, cut, and in quotation marks, which it
// cannot close because its own become apostrophes. So no message presents text of a server as
// Hallmark's.
func Quote(s string) string {
	return `"` + strings.ReplaceAll(escapeAndCut(s, 80), `"`, "'") + `"`
}

// ShowReason is the reason that a server gave, as a message shows it.
func ShowReason(s string) string {
	if s == "" {
		return "the server said nothing"
	}
	return "the server said: " + Quote(s)
}

// ShowName is a name as a message shows it: in quotation marks unless it is one word, as most are.
func ShowName(s string) string {
	outsideWord := func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }
	if s == "" || len(s) > 128 || strings.ContainsFunc(s, outsideWord) {
		return Quote(s)
	}
	return s
}
