package wire

import (
	"fmt"
	"net/url"
	"strings"
)

// Name returns a Ref for a message. It omits the query of a URL, which may hold a token.
func Name(ref string) string {
	if before, _, ok := strings.Cut(ref, "?"); ok {
		ref = before + "?..."
	}
	return Plain(ref, 600)
}

// ShowURL returns a URL for a person: without possible secrets, in ASCII, bounded. It returns ""
// for nil.
func ShowURL(u *url.URL) string {
	if u == nil {
		return ""
	}
	clean := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	return Plain(clean.String(), 400)
}

// Plain returns text from outside for one line: with escapes in place of all but printable ASCII,
// at most limit bytes.
func Plain(s string, limit int) string {
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

// Quoted returns text from outside, such as the value of a header, in quotation marks.
func Quoted(s string) string {
	const limit = 120
	if len(s) > limit {
		s = s[:limit] + "..."
	}
	return fmt.Sprintf("%+q", s)
}
