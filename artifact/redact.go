package artifact

import (
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// userinfo is what stands between "//" and "@" in a URL or a malformed URL: up to the last
// "@" before the path, as a password may hold another.
var userinfo = spelling.Form(`([a-zA-Z][a-zA-Z0-9+.-]*:)?//[^/?#\s"'<>\\]*@`)

// slashedUserinfo matches the same with a slash in the password, although no URL allows one
// there. What follows the colon must not be a port.
var slashedUserinfo = spelling.Form(`//[^/?#\s"'<>\\:@]*:[0-9]*[^0-9/\s"'<>@][^\s"'<>@]*@`)

// bareUserinfo matches "user:password@host.example.com" without "//", as in the name of an
// image, a module or a program. It takes neither the kind of a Ref for a user nor a version for
// a host.
var bareUserinfo = spelling.Form(`(^|[\s"'=(\[,|])([a-z]+:)?([^\s"'=(\[,|/:@]+):[^\s"'/@]+@` +
	`((?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}|localhost|[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+)([:/\s"'),]|$)`)

// RedactURLs removes what may be a user name and a password from every URL in a text that is
// to be printed: "https://user:password@host/" becomes "https://host/". The user name of an
// ssh URL without a password stays: it says which repository is meant. The URLs need not
// parse, so that an error about a malformed one can be redacted too.
func RedactURLs(text string) string {
	if !strings.Contains(text, "@") {
		return text
	}
	text = bareUserinfo().ReplaceAllStringFunc(text, func(match string) string {
		m := bareUserinfo().FindStringSubmatch(match)
		switch Kind(m[3]) {
		case NPM, PyPI, GitHub, OCI, NuGet, Cargo, Go, Git, File:
			return match
		}
		return m[1] + m[2] + m[4] + m[5]
	})
	text = slashedUserinfo().ReplaceAllString(text, "//")
	return userinfo().ReplaceAllStringFunc(text, func(match string) string {
		at := strings.Index(match, "//") + 2
		scheme, user := match[:at], strings.TrimSuffix(match[at:], "@")
		if (scheme == "ssh://" || scheme == "git+ssh://") && !strings.ContainsAny(user, ":@") {
			return match
		}
		return scheme
	})
}
