package registry

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/surface"
)

// Problem is the body of every answer that is an error: RFC 9457 problem details
// with the members of the official registry, beside which a refusal for file hashes
// carries the members "error" and "details" of its own. It is the error type of
// [client.Client] too.
type Problem struct {
	Title   string                 `json:"title"`
	Status  int                    `json:"status"` // of HTTP
	Detail  string                 `json:"detail,omitempty"`
	Failure string                 `json:"error,omitempty"`   // HashFailed or absent
	Details map[string]HashFailure `json:"details,omitempty"` // by identifier, as in file_hashes
	Errors  []ProblemError         `json:"errors,omitempty"`

	// Class is the class of the checks in Errors, as evidence.Class prints it: "policy" if a
	// package belongs to another server. It is absent if they are about the document.
	Class string `json:"class,omitempty"`

	// Proof comes with the status 410: it is the C2SP tlog-proof of the log's entry about the
	// deletion of the version.
	Proof string `json:"proof,omitempty"`

	// RetryAfter is the header of that name, in whole seconds; 0 if there is none.
	RetryAfter time.Duration `json:"-"`

	// Registry is the base URL of the registry that answered; "" if that is not known.
	Registry string `json:"-"`
}

// HashFailed is the "error" of a refusal for file hashes.
const HashFailed = "Hash validation failed"

// WasDeleted is the message of a refusal to publish a version that was deleted.
const WasDeleted = "it can be restored, and not published again"

// HashFailure is one claim of file_hashes that did not hold.
type HashFailure struct {
	Expected string     `json:"expected"`
	Actual   string     `json:"actual,omitempty"` // absent if nothing could be computed
	Status   HashStatus `json:"status"`
	Reason   string     `json:"reason,omitempty"` // more for a person, where nothing could be computed
}

// HashStatus says how a claim failed.
type HashStatus string

// The statuses.
const (
	HashMismatch    HashStatus = "mismatch"
	HashNotFound    HashStatus = "not_found"
	HashUnreachable HashStatus = "unreachable"
	HashTooLarge    HashStatus = "too_large"
	HashAmbiguous   HashStatus = "ambiguous"
	HashUnsupported HashStatus = "unsupported"
)

// ProblemError is one of several errors.
type ProblemError struct {
	Message  string `json:"message"`
	Location string `json:"location,omitempty"` // "body.packages[0].version"
	Value    any    `json:"value,omitempty"`
}

// NewProblem makes a Problem with the usual title of its status.
func NewProblem(status int, format string, args ...any) *Problem {
	title := http.StatusText(status)
	if status == StatusClientGone {
		title = "Client Closed Request"
	}
	return &Problem{Title: title, Status: status, Detail: fmt.Sprintf(format, args...)}
}

// StatusClientGone is what logs show when a client did not wait for the answer.
const StatusClientGone = 499

// Error prints the status, the detail and one line for each error. What it prints
// came from a server, so it is escaped.
func (p *Problem) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s", p.Status, surface.Escape(p.Title))
	if p.Detail != "" {
		b.WriteString(": " + surface.Escape(p.Detail))
	} else if p.Failure != "" {
		b.WriteString(": " + surface.Escape(p.Failure))
	}
	for _, e := range p.Errors {
		b.WriteString("\n  ")
		if e.Location != "" {
			b.WriteString(surface.Escape(e.Location) + ": ")
		}
		b.WriteString(surface.Escape(e.Message))
	}
	for _, id := range SortedKeys(p.Details) {
		f := p.Details[id]
		fmt.Fprintf(&b, "\n  %s: %s\n    expected %s", surface.Escape(id), surface.Escape(string(f.Status)),
			surface.Escape(f.Expected))
		if f.Actual != "" {
			b.WriteString("\n    actual   " + surface.Escape(f.Actual))
		}
		if f.Reason != "" {
			b.WriteString("\n    reason   " + surface.Escape(f.Reason))
		}
	}
	return b.String()
}

// GetStatus lets the HTTP library send the problem with its status.
func (p *Problem) GetStatus() int { return p.Status }

// GetHeaders lets the HTTP library send RetryAfter, and the challenge of a 401.
func (p *Problem) GetHeaders() http.Header {
	h := http.Header{}
	if p.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(p.RetryAfter.Seconds())))
	}
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	return h
}

// ContentType lets the HTTP library send problems under their own type.
func (p *Problem) ContentType(string) string { return ProblemType }

// ProblemType is the media type of an answer that is an error.
const ProblemType = "application/problem+json"
