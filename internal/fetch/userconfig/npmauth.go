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

// Registry is the base URL for a package. It is an error if nobody agreed to a variable in it.
func (n NPM) Registry(name string) (string, error) {
	if scope, _, ok := strings.Cut(name, "/"); ok {
		if base, err := n.sent(scope + ":registry"); base != "" || err != nil {
			return base, err
		}
	}
	base, err := n.sent("registry")
	return cmp.Or(base, model.RegistryURLNPM), err
}

// Hosts are the hosts that a package is asked of. No variable is looked up.
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

// Authorization is the Authorization header for u: that of the longest path at or
// above u's which has credentials, "" if none has.
func (n NPM) Authorization(u *url.URL) (string, error) {
	if dotted(u) {
		return "", nil
	}
	// As npm does it: //host/a/b, //host/a/, //host/a, //host/, //host
	for key := "//" + wire.HostPort(u) + cmp.Or(u.EscapedPath(), "/"); len(key) > 2; key = parent(key) {
		if token, err := n.secret(key + ":_authToken"); token != "" || err != nil {
			if err != nil {
				return "", err
			}
			return npmHeader("Bearer", token, key+":_authToken")
		}
		if auth, err := n.secret(key + ":_auth"); auth != "" || err != nil {
			if err != nil {
				return "", err
			}
			return npmHeader("Basic", auth, key+":_auth")
		}
		user, err := n.secret(key + ":username")
		if err != nil {
			return "", err
		}
		password, err := n.secret(key + ":_password")
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

// dotted reports whether a server may take u for another path than its text says.
func dotted(u *url.URL) bool {
	for segment := range strings.FieldsFuncSeq(u.Path, func(r rune) bool { return r == '/' || r == '\\' }) {
		if segment == "." || segment == ".." {
			return true
		}
	}
	return false
}

// secret is a setting, unless it holds a variable that is not set: then sending it
// could only do harm.
func (n NPM) secret(key string) (string, error) {
	v, err := n.sent(key)
	if err != nil || strings.Contains(v, "${") {
		return "", err
	}
	return v, nil
}

// npmHeader is an Authorization header. The key is named in errors, the value never.
func npmHeader(scheme, value, key string) (string, error) {
	if err := checkHeader(value, "npm setting "+wire.Plain(key, 300)); err != nil {
		return "", err
	}
	return scheme + " " + value, nil
}

// parent takes the last segment or the last slash off a key.
func parent(key string) string {
	if strings.HasSuffix(key, "/") {
		return key[:len(key)-1]
	}
	return key[:strings.LastIndexByte(key, '/')+1]
}

// decodeBase64 reads what npm reads: either alphabet, with or without padding.
func decodeBase64(s string) (string, error) {
	s = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(s, "="))
	data, err := base64.RawStdEncoding.DecodeString(s)
	return string(data), err
}
