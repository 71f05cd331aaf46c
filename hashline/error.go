package hashline

import (
	"fmt"
	"strconv"
)

// Code names a kind of error, for programs.
type Code string

// The codes of this package's errors.
const (
	Stale           Code = "stale"            // the file changed where the edit does
	AnchorNotFound  Code = "anchor_not_found" // no line has the number and tag, nor the tag alone
	AnchorAmbiguous Code = "anchor_ambiguous" // the line has another tag, and several have this one
	Overlap         Code = "overlap"          // two operations meet, or a range ends before it begins
	Binary          Code = "binary"           // not UTF-8, or a NUL
	TooLarge        Code = "too_large"
	NoChange        Code = "no_change"
	EchoedTags      Code = "echoed_tags" // content with the tags that a reader was shown
	Invalid         Code = "invalid"     // an operation that is not well formed
)

// Error says why an edit or a file is refused. Text from outside in its message is
// escaped.
type Error struct {
	Code       Code
	Operations []int // concerned, by index
	Candidates []int // lines that an anchor may have meant
	Line       int   // that an anchor names, if that is a line at all

	message string
}

// Error is the message, without the code.
func (e *Error) Error() string { return e.message }

func refuse(code Code, format string, args ...any) *Error {
	return &Error{Code: code, message: fmt.Sprintf(format, args...)}
}

// add says what another error says, too.
func (e *Error) add(other *Error) {
	e.message += ". And " + other.message
	e.Candidates = append(e.Candidates, other.Candidates...)
}

// in says that an error is about one operation, counted from 1 as people and models do.
func (e *Error) in(operation int) *Error {
	e.message = "operation " + strconv.Itoa(operation+1) + ": " + e.message
	return e.about(operation)
}

// about names the operations that an error is about.
func (e *Error) about(operations ...int) *Error {
	e.Operations = operations
	return e
}
