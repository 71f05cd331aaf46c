// Package wire describes to a person what other machines send: hosts and URLs without possible
// secrets, text that fits on one line, and why a request failed ([Error]).
//
// It does no I/O.
//
// # Consent
//
// A person must agree before a file of a checkout takes effect: that
// a host gets requests, and that a host gets the value of a variable.
//
// It asks nobody by itself. A caller that can ask a person sets the functions of an [Agreement];
// without one everything is refused, with an error that names the option to allow it.
package wire

import (
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// Error says why the outside did not give an artifact. Its causes are
//
//	not_found    the registry or host has no such thing
//	unreachable  it did not answer, or not with the thing; a later try may succeed
//	too_large    a limit of size was passed
//	ambiguous    the Ref names several files
//	unsupported  refused by a rule of ours: kind of Ref, plain http, redirects,
//	             encoding, address
type Error struct {
	Ref    string         // as it prints; the message leaves out the query of a URL
	Cause  evidence.Cause //
	URL    string         // what was asked for, without userinfo, query and fragment; may be empty
	Status int            // of the last HTTP reply, 0 if there was none
	Err    error          // what happened
	Hint   string         // what to do next, for a person; may be empty
	Files  []string       // the files that an ambiguous Ref could mean, as the registry names them
}

// Error returns the message in one line: the artifact, the request, and what went wrong.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(Name(e.Ref))
	b.WriteString(": ")
	b.WriteString(strings.ReplaceAll(string(e.Cause), "_", " "))
	if e.URL != "" && !strings.HasPrefix(e.Ref, e.URL) {
		b.WriteString(": ")
		b.WriteString(e.URL)
	}
	if e.Err != nil {
		b.WriteString(": ")
		b.WriteString(Plain(e.Err.Error(), 600))
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
