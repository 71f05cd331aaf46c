package jsonrpc

import (
	"net/url"
	"path"
	"strings"
)

// MatchTemplate reports whether uri could be an expansion of the RFC 6570 template:
// literals must be there in order, and each expression stands for any text, also
// none. A brace without its pair is a literal.
func MatchTemplate(template, uri string) bool {
	literal, rest, any := cutExpression(template)
	if !strings.HasPrefix(uri, literal) {
		return false
	}
	uri = uri[len(literal):]
	for any {
		literal, rest, any = cutExpression(rest)
		if !any {
			return strings.HasSuffix(uri, literal)
		}
		at := strings.Index(uri, literal)
		if at < 0 {
			return false
		}
		uri = uri[at+len(literal):]
	}
	return uri == ""
}

// cutExpression returns what stands before and after the first expression.
func cutExpression(template string) (literal, rest string, ok bool) {
	open := strings.IndexByte(template, '{')
	if open < 0 {
		return template, "", false
	}
	n := strings.IndexByte(template[open:], '}')
	if n < 0 {
		return template, "", false
	}
	return template[:open], template[open+n+1:], true
}

// NormalURI is one spelling for those of a URI that servers commonly take for the
// same: letter case of scheme and host, percent-encoding, "." and ".." and repeated
// or final slashes of the path, and the fragment.
func NormalURI(uri string) string {
	uri, _, _ = strings.Cut(uri, "#")
	scheme, rest, ok := strings.Cut(uri, ":")
	if !ok {
		return uri
	}
	rest, query, hasQuery := strings.Cut(rest, "?")
	for range 2 { // "%2561" is "%61" is "a"
		if plain, err := url.PathUnescape(rest); err == nil {
			rest = plain
		}
	}
	host := ""
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		host, rest, _ = strings.Cut(after, "/")
		host, rest = "//"+strings.ToLower(host), "/"+rest
	}
	if hasQuery {
		query = "?" + query
	}
	return strings.ToLower(scheme) + ":" + host + path.Clean(rest) + query
}
