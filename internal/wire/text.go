package wire

import (
	"fmt"
	"net/url"
	"strings"
)

// Name is a Ref in a message. The query of a URL may hold a token and is left out.
func Name(ref string) string {
	if before, _, ok := strings.Cut(ref, "?"); ok {
		ref = before + "?..."
	}
	return Plain(ref, 600)
}

// ShowURL prints a URL for a person: without what may be secret, in ASCII, bounded. Nil
// is "".
func ShowURL(u *url.URL) string {
	if u == nil {
		return ""
	}
	clean := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	return Plain(clean.String(), 400)
}

// Plain makes text from outside fit for one line: escaped where it is not printable
// ASCII, at most limit bytes.
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

// Quoted puts text from outside, such as the value of a header, in quotation marks.
func Quoted(s string) string {
	const limit = 120
	if len(s) > limit {
		s = s[:limit] + "..."
	}
	return fmt.Sprintf("%+q", s)
}
