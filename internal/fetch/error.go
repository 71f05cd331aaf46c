package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
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

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(name(e.Ref))
	b.WriteString(": ")
	b.WriteString(strings.ReplaceAll(string(e.Cause), "_", " "))
	if e.URL != "" && !strings.HasPrefix(e.Ref, e.URL) {
		b.WriteString(": ")
		b.WriteString(e.URL)
	}
	if e.Err != nil {
		b.WriteString(": ")
		b.WriteString(plain(e.Err.Error(), 600))
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

var (
	errTimeUp  = errors.New("time is up")
	errStalled = errors.New("no data for too long")
)

// name is a Ref in a message. The query of a URL may hold a token.
func name(ref string) string {
	if before, _, ok := strings.Cut(ref, "?"); ok {
		ref = before + "?..."
	}
	return plain(ref, 600)
}

// interrupted is the error of a fetch whose caller gave up.
func interrupted(ctx context.Context, ref artifact.Ref) error {
	return fmt.Errorf("%s: fetch interrupted: %w", name(ref.String()), ctx.Err())
}

func unsupportedKind(ref artifact.Ref) *Error {
	kind := string(ref.Kind())
	if kind == "" {
		kind = "empty"
	}
	return &Error{Ref: ref.String(), Cause: evidence.Unsupported,
		Err: fmt.Errorf("%s refs cannot be fetched", kind)}
}

// statusError is a reply that is not the thing asked for.
func statusError(status int) error {
	if text := http.StatusText(status); text != "" {
		return fmt.Errorf("answered %d %s", status, text)
	}
	return fmt.Errorf("answered %d", status)
}

// show prints a URL for a person: without what may be secret, in ASCII, bounded.
func show(u *url.URL) string {
	if u == nil {
		return ""
	}
	clean := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	return plain(clean.String(), 400)
}

// plain makes text from outside fit for one line: escaped where it is not
// printable ASCII, at most limit bytes.
func plain(s string, limit int) string {
	printable := func(s string) bool {
		for i := range len(s) {
			if s[i] < ' ' || s[i] > '~' {
				return false
			}
		}
		return true
	}
	if len(s) > limit {
		s = s[:limit] + "..."
	}
	if printable(s) {
		return s
	}
	s = fmt.Sprintf("%+q", s)
	return s[1 : len(s)-1]
}

// quoted is plain in quotation marks, for the values of headers.
func quoted(s string) string {
	const limit = 120
	if len(s) > limit {
		s = s[:limit] + "..."
	}
	return fmt.Sprintf("%+q", s)
}
