package userconfig

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/registry/pkg/model"

	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// Registry returns the base URL for a package. It is an error if nobody agreed to a variable in
// the URL.
func (n NPM) Registry(name string) (string, error) {
	if scope, _, ok := strings.Cut(name, "/"); ok {
		if base, err := n.valueToSend(scope + ":registry"); base != "" || err != nil {
			return base, err
		}
	}
	base, err := n.valueToSend("registry")
	return cmp.Or(base, model.RegistryURLNPM), err
}

// Hosts returns the hosts that a package is asked of. It looks up no variable.
func (n NPM) Hosts(name string) []string {
	key := "registry"
	if scope, _, ok := strings.Cut(name, "/"); ok &&
		(n.Value(scope+":registry") != "" || len(n.project.templates[scope+":registry"].uses) > 0) {
		key = scope + ":registry"
	}
	if t, ok := n.project.templates[key]; ok && n.Value(key) == "" {
		return []string{t.uses[0].Host}
	}
	base, err := n.Registry(name)
	if err != nil {
		return nil
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return nil
	}
	return []string{wire.HostPort(u)}
}

// Authorization returns the Authorization header for u: that of the longest path at or above
// the path of u that has credentials, "" if none has.
func (n NPM) Authorization(u *url.URL) (string, error) {
	if hasDotSegment(u) {
		return "", nil
	}
	// In npm's order: //host/a/b, //host/a/, //host/a, //host/, //host
	for key := "//" + wire.HostPort(u) + cmp.Or(u.EscapedPath(), "/"); len(key) > 2; key = parentKey(key) {
		for _, kind := range []struct{ name, scheme string }{{":_authToken", "Bearer"}, {":_auth", "Basic"}} {
			value, err := n.secretToSend(key + kind.name)
			if err != nil {
				return "", err
			}
			if value != "" {
				return npmHeader(kind.scheme, value, key+kind.name)
			}
		}
		user, err := n.secretToSend(key + ":username")
		if err != nil {
			return "", err
		}
		password, err := n.secretToSend(key + ":_password")
		if err != nil {
			return "", err
		}
		if user != "" && password != "" {
			clear, err := decodeBase64(password)
			if err != nil {
				return "", fmt.Errorf("npm setting %s is not base64", wire.Plain(key+":_password", 300))
			}
			return Basic(user, clear), nil
		}
	}
	return "", nil
}

// hasDotSegment reports whether a server may take the path of u for another one, because a
// segment of it is "." or "..".
func hasDotSegment(u *url.URL) bool {
	for segment := range strings.FieldsFuncSeq(u.Path, func(r rune) bool { return r == '/' || r == '\\' }) {
		if segment == "." || segment == ".." {
			return true
		}
	}
	return false
}

// secretToSend returns the value of a key for a request, "" if it holds a variable that is not
// set: sending that could only do harm.
func (n NPM) secretToSend(key string) (string, error) {
	v, err := n.valueToSend(key)
	if err != nil || strings.Contains(v, "${") {
		return "", err
	}
	return v, nil
}

// npmHeader returns an Authorization header. Errors name the key, and never show the value.
func npmHeader(scheme, value, key string) (string, error) {
	if err := checkHeader(value, "npm setting "+wire.Plain(key, 300)); err != nil {
		return "", err
	}
	return scheme + " " + value, nil
}

// parentKey returns a key without its last segment, or without its last slash.
func parentKey(key string) string {
	if strings.HasSuffix(key, "/") {
		return key[:len(key)-1]
	}
	return key[:strings.LastIndexByte(key, '/')+1]
}

// decodeBase64 decodes what npm does: either alphabet, with or without padding.
func decodeBase64(s string) (string, error) {
	s = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(s, "="))
	data, err := base64.RawStdEncoding.DecodeString(s)
	return string(data), err
}
