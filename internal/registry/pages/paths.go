package pages

import (
	"net/url"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// pagePath is the path of a page about a name: name's parts as they are where that can be
// read back, URL-encoded as one segment elsewhere.
func pagePath(kind ledger.Kind, name string, rest ...string) string {
	path := "/" + registry.Plural(kind) + "/"
	if a, b, ok := strings.Cut(name, "/"); ok && plainSegment(a) && plainSegment(b) &&
		(kind == ledger.Server || strings.HasPrefix(a, "@")) {
		path += name
	} else {
		path += url.PathEscape(name)
	}
	for _, r := range rest {
		path += "/" + url.PathEscape(r)
	}
	return path
}

// versionPath is the path of the page of a version.
func versionPath(kind ledger.Kind, name, version string) string {
	return pagePath(kind, name, "versions", version)
}

// apiPath is the path of the same in the API.
func apiPath(kind ledger.Kind, name, version string, rest ...string) string {
	path := "/v0/" + registry.Plural(kind) + "/" + url.PathEscape(name) + "/versions/" + url.PathEscape(version)
	for _, r := range rest {
		path += "/" + r
	}
	return path
}

func plainSegment(s string) bool {
	return s != "" && s != "." && s != ".." && strings.Trim(s, plainText) == ""
}

// plainText is what a name or version may have to be part of a command that is copied,
// or of a path as it is.
const plainText = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@._-"

// isPlainWord reports whether text can be copied into a command or a file as it is: shells and file
// formats read it as one word.
func isPlainWord(text string) bool {
	for part := range strings.SplitSeq(text, "/") {
		if !plainSegment(strings.ReplaceAll(part, "+", "")) || part[0] == '-' {
			return false
		}
	}
	return true
}

// listPath is the path of a page of a list.
func listPath(kind ledger.Kind, search, cursor string) string {
	q := url.Values{}
	if search != "" {
		q.Set("search", search)
	}
	if cursor != "" {
		q.Set("cursor", cursor)
	}
	path := url.URL{Path: "/" + registry.Plural(kind), RawQuery: q.Encode()}
	return path.String()
}
