package project

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
	"github.com/hallmark-mcp/hallmark/launcher"
)

// Bounds of what is sent to a server of type "http".
const (
	maxURL         = 2048
	maxHeaders     = 32
	maxHeaderValue = 8 << 10 // bytes, with its variables filled in
)

var (
	headerRE    = spelling.Form(`^[A-Za-z0-9!#$%&'*+.^_|~-]{1,128}$`)
	referenceRE = spelling.Form(`\$\{([^}]*)\}`)
)

// ownHeaders are those that the protocol, or HTTP itself, uses. Beside them all that begin
// with "mcp-".
var ownHeaders = []string{
	"accept", "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "host",
	"keep-alive",
	"last-event-id", "origin", "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding",
	"upgrade",
}

// secretHeaders are parts of names of headers whose values are secrets.
var secretHeaders = []string{"authorization", "cookie", "key", "token", "secret", "password"}

// checkHeaders refuses headers that a server is not sent: the protocol's own, a secret that is written out, and what is
// no header.
func checkHeaders(headers map[string]string) error {
	if len(headers) > maxHeaders {
		return fmt.Errorf("more than %d headers", maxHeaders)
	}
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		lower := strings.ToLower(name)
		switch {
		case !headerRE().MatchString(name):
			return fmt.Errorf("%+q cannot be the name of a header", name)
		case seen[lower]:
			return fmt.Errorf("the header %s is given twice", name)
		case slices.Contains(ownHeaders, lower) || strings.HasPrefix(lower, "mcp-"):
			return fmt.Errorf("the header %s is the protocol's own", name)
		}
		seen[lower] = true
		value := headers[name]
		names := references(value)
		for _, v := range names {
			if !variableRE().MatchString(v) {
				return fmt.Errorf("header %s: %+q is no variable's name", name, v)
			}
		}
		secret := slices.ContainsFunc(secretHeaders, func(s string) bool { return strings.Contains(lower, s) })
		if secret && len(names) == 0 {
			return fmt.Errorf("header %s: a secret is not written here; name a variable as ${NAME}", name)
		}
		if err := checkHeaderValue(referenceRE().ReplaceAllString(value, "")); err != nil {
			return fmt.Errorf("header %s: %w", name, err)
		}
	}
	return nil
}

// checkURL says why a server is not asked under this URL.
func checkURL(s string) error {
	u, err := url.Parse(s)
	switch {
	case err != nil || len(s) > maxURL || u.Hostname() == "" || u.Opaque != "":
		return errors.New("is no URL such as https://mcp.example.com/mcp")
	case u.User != nil:
		return errors.New("a user name or password does not belong into it; use headers")
	case u.Fragment != "" || strings.Contains(s, "#"):
		return errors.New("has a fragment")
	case u.Scheme == "http" && !artifact.IsLoopback(u.Hostname()):
		return errors.New("plain http is for this machine only")
	case u.Scheme != "https" && u.Scheme != "http":
		return fmt.Errorf("the scheme %+q is not https", u.Scheme)
	case !slices.Equal(launcher.Redact([]string{s}), []string{s}):
		return errors.New("seems to hold a secret; use headers, with a variable")
	}
	return nil
}

// references are the names in value's ${NAME}, in order.
func references(value string) []string {
	var names []string
	for _, m := range referenceRE().FindAllStringSubmatch(value, -1) {
		names = append(names, m[1])
	}
	return names
}

func checkHeaderValue(value string) error {
	if len(value) > maxHeaderValue {
		return fmt.Errorf("longer than %d bytes", maxHeaderValue)
	}
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
		return errors.New("has a control character")
	}
	return nil
}

// HeaderVariables are the names of the environment variables in the headers of s, sorted.
func (s Server) HeaderVariables() []string {
	names := []string{}
	for _, value := range s.Headers {
		names = append(names, references(value)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// FillHeaders returns the headers of s with the values of variables. One that is not set
// is an error, and so is one that no header can hold.
func (s Server) FillHeaders(lookup func(string) (string, bool)) (map[string]string, error) {
	out := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		var missing error
		value := referenceRE().ReplaceAllStringFunc(s.Headers[name], func(ref string) string {
			v, ok := lookup(ref[2 : len(ref)-1])
			if !ok || v == "" {
				missing = fmt.Errorf("header %s: the variable %s is not set", name, ref[2:len(ref)-1])
			}
			return v
		})
		if missing != nil {
			return nil, missing
		}
		if err := checkHeaderValue(value); err != nil {
			return nil, fmt.Errorf("header %s, with its variables: %w", name, err)
		}
		out[name] = value
	}
	return out, nil
}
