package surface

import "fmt"

// Problem classifies an [Error]. The texts come from the vectors in
// spec/surface.json.
type Problem string

// What can be wrong with a listing, an item or a stored surface.
const (
	ProblemSyntax          Problem = "syntax"           // not one JSON value
	ProblemUTF8            Problem = "invalid-utf8"     // bytes that are not UTF-8
	ProblemSurrogate       Problem = "lone-surrogate"   // \ud800 without its other half
	ProblemDuplicateMember Problem = "duplicate-member" // a member name twice in one object
	ProblemDepth           Problem = "depth"            // nested deeper than MaxDepth
	ProblemSize            Problem = "size"             // more bytes, values or items than the limits
	ProblemNumber          Problem = "number"           // no IEEE 754 double, or beyond ±2^53 with a fraction
	ProblemReserved        Problem = "reserved-member"  // $hallmark.int in what a server sent
	ProblemShape           Problem = "shape"            // not an object, or a member of the wrong type
	ProblemName            Problem = "name"             // no name, or an empty one
	ProblemDuplicateItem   Problem = "duplicate-item"   // a name twice among the items of a kind
	ProblemConflict        Problem = "conflict"         // an item differs between two captures (Union)
	ProblemVersion         Problem = "version"          // another schema than hallmark.surface/v1 (Read)
	ProblemUnknownMember   Problem = "unknown-member"   // a top-level member outside the form (Read)
	ProblemNotCanonical    Problem = "not-canonical"    // a value that New would have written otherwise (Read)
)

// Error says what is wrong and where.
type Error struct {
	Problem Problem
	Item    string // the key of an item, or its place ("tools[3]"); "" for the whole
	Detail  string // one line; text from outside is escaped
}

// Error says what is wrong, and with which item.
func (e *Error) Error() string {
	if e.Item == "" {
		return e.Detail
	}
	return Escape(clip(e.Item, 200)) + ": " + e.Detail
}

func newError(p Problem, format string, args ...any) *Error {
	return &Error{Problem: p, Detail: fmt.Sprintf(format, args...)}
}

// withItem names the item of an error that does not yet name one.
func withItem(item string, err *Error) *Error {
	if err != nil && err.Item == "" {
		err.Item = item
	}
	return err
}

// clip shortens s to about n bytes for a message.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}
