package guard

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/guard/jsonrpc"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// A Shape says what of a value is passed on.
type Shape struct {
	members map[string]Shape      // of an object; without fits only an object or a scalar is passed on
	fits    func(v []byte) bool   // which values are passed on as they are
	instead func(v []byte) []byte // JSON in place of other values; nil leaves the member out
	quiet   func(v []byte) bool   // which values are replaced without a note, as in every session
}

const (
	maxWord   = 64 // bytes of a name or version
	maxNumber = 32 // bytes
)

func object(members map[string]Shape) Shape { return Shape{members: members} }

// The shapes of simple values.
var (
	flag   = Shape{fits: isScalar}
	opaque = Shape{fits: isAnything}
	blank  = object(nil)

	// NoValue is the shape of a member that is always left out.
	NoValue = Shape{fits: isNoValue}
)

func oneOf(these ...string) func([]byte) bool {
	return func(v []byte) bool { return slices.Contains(these, string(v)) }
}

func always(json []byte) func([]byte) []byte { return func([]byte) []byte { return json } }

func isAnything([]byte) bool { return true }

// isScalar reports whether v is true, false, null or a number.
func isScalar(v []byte) bool { return len(v) <= maxNumber && bytes.IndexByte([]byte(`"{[`), v[0]) < 0 }

// isNoValue reports whether v means the same as no value.
func isNoValue(v []byte) bool {
	switch string(v) {
	case "null", `""`, "{}", "[]":
		return true
	}
	return false
}

// isWord reports whether v is a string that may be a name, a version or a date, and no sentence.
func isWord(v []byte) bool {
	outside := func(r rune) bool {
		return !('0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' ||
			strings.ContainsRune("._@/+-", r))
	}
	s, ok := jsonrpc.Text(v)
	return ok && s != "" && len(s) <= maxWord && !strings.ContainsFunc(s, outside)
}

// programVersion is a version of a program: numbers, commits, and the words that versions have.
var programVersion = spelling.Form(`^"v?[0-9](?:[-+._]?(?:alpha|beta|canary|dev|development|final|git|nightly|` +
	`next|post|pre|preview|r|rc|release|snapshot|stable|SNAPSHOT|g)?[0-9a-f]*)*"$`)

func isProgramVersion(v []byte) bool { return isWord(v) && programVersion().Match(v) }

// protocolDate is a protocol version: a date, of a draft or candidate with a few letters.
var protocolDate = spelling.Form(`^"(?:\d{4}-\d{2}-\d{2}(?:-[0-9A-Za-z.]{1,8})?|DRAFT-\d{4}-[0-9A-Za-z.]{1,8})"$`)

func isProtocolVersion(v []byte) bool { return protocolDate().Match(v) }

// areProtocolVersions reports whether v is a list of protocol versions.
func areProtocolVersions(v []byte) bool {
	var list []json.RawMessage
	return json.Unmarshal(v, &list) == nil && len(list) <= 32 && !slices.ContainsFunc(list,
		func(v json.RawMessage) bool { return !isProtocolVersion(v) })
}

// plainCursor is a cursor without room for words.
var plainCursor = spelling.Form(`^"[0-9.:,/_-]{1,32}"$`)

func isPlainCursor(v []byte) bool { return isNoValue(v) || isScalar(v) || plainCursor().Match(v) }
