package evidence

import (
	"errors"

	"github.com/hallmark-mcp/hallmark/artifact"
)

// Class is what kind of failure a problem is. Commands exit with the code of the
// first class present, in the order of the constants.
type Class int

// The classes, most urgent first. The zero value is no failure.
const (
	OK         Class = iota
	Integrity        // bytes differ from a claim
	Signature        // a required signature is missing, wrong or by an untrusted key
	Refused          // policy refuses: unpinned, no confirmation, untrusted
	Drift            // a surface or a tag moved since it was approved
	Validation       // bad usage or malformed input
	Operation        // I/O, network, server: nothing was decided
)

// String is the name of the class in JSON documents.
func (c Class) String() string {
	switch c {
	case OK:
		return "ok"
	case Integrity:
		return "integrity"
	case Signature:
		return "signature"
	case Refused:
		return "policy"
	case Drift:
		return "drift"
	case Validation:
		return "validation"
	}
	return "operation"
}

// MarshalText is String.
func (c Class) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// Worse returns the more urgent of two classes.
func Worse(a, b Class) Class {
	if a == OK || b != OK && b < a {
		return b
	}
	return a
}

// Classed is implemented by errors that know their class.
type Classed interface {
	error
	Class() Class
}

// ClassOf is the most urgent class in the tree of err: OK for nil, Operation for an
// error that names none.
func ClassOf(err error) Class {
	if err == nil {
		return OK
	}
	if c := classIn(err); c != OK {
		return c
	}
	return Operation
}

// classIn is the most urgent class that an error in the tree of err names; OK if none does.
func classIn(err error) Class {
	if c, ok := err.(Classed); ok {
		return c.Class()
	}
	switch x := err.(type) {
	case interface{ Unwrap() error }:
		if inner := x.Unwrap(); inner != nil {
			return classIn(inner)
		}
	case interface{ Unwrap() []error }:
		worst := OK
		for _, inner := range x.Unwrap() {
			worst = Worse(worst, classIn(inner))
		}
		return worst
	}
	return OK
}

// Error is a problem with one subject, in the form in which commands print it: the
// subject, what is wrong, indented lines with details, and what to do next.
type Error struct {
	Subject string // an artifact, file or server; may be empty
	Kind    Class
	Err     error  // what is wrong
	Detail  string // further lines, each indented by two spaces and ended by a newline; may be empty
	Hint    string // what to do next; may be empty
}

// Error is the message, without what may be a password in a URL.
func (e *Error) Error() string {
	s := e.Err.Error()
	if e.Subject != "" {
		s = e.Subject + ": " + s
	}
	if e.Detail != "" {
		s += "\n" + e.Detail[:len(e.Detail)-1]
	}
	if e.Hint != "" {
		s += "\n  hint: " + e.Hint
	}
	return artifact.RedactURLs(s)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Class is e.Kind, or the class of the cause where e has none.
func (e *Error) Class() Class {
	if e.Kind == OK {
		return ClassOf(e.Err)
	}
	return e.Kind
}

// Errorf returns a problem with subject; hint may be empty.
func Errorf(kind Class, subject, hint string, err error) error {
	if err == nil {
		err = errors.New(kind.String())
	}
	return &Error{Subject: subject, Kind: kind, Err: err, Hint: hint}
}
