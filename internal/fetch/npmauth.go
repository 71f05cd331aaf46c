package fetch

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/registry/pkg/model"
)

// registry is the base URL for a package. It is an error if nobody agreed to a variable in it.
func (n NPMConfig) registry(name string) (string, error) {
	if scope, _, ok := strings.Cut(name, "/"); ok {
		if base, err := n.sent(scope + ":registry"); base != "" || err != nil {
			return base, err
		}
	}
	base, err := n.sent("registry")
	return cmp.Or(base, model.RegistryURLNPM), err
}

// authorization is the Authorization header for u: that of the longest path at or
// above u's which has credentials, "" if none has.
func (n NPMConfig) authorization(u *url.URL) (string, error) {
	if dotted(u) {
		return "", nil
	}
	// As npm does it: //host/a/b, //host/a/, //host/a, //host/, //host
	for key := "//" + hostPort(u) + cmp.Or(u.EscapedPath(), "/"); len(key) > 2; key = parent(key) {
		if token, err := n.secret(key + ":_authToken"); token != "" || err != nil {
			if err != nil {
				return "", err
			}
			return header("Bearer", token, key+":_authToken")
		}
		if auth, err := n.secret(key + ":_auth"); auth != "" || err != nil {
			if err != nil {
				return "", err
			}
			return header("Basic", auth, key+":_auth")
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
				return "", fmt.Errorf("npm setting %s is not base64", plain(key+":_password", 300))
			}
			return basic(user, clear), nil
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
func (n NPMConfig) secret(key string) (string, error) {
	v, err := n.sent(key)
	if err != nil || strings.Contains(v, "${") {
		return "", err
	}
	return v, nil
}

func header(scheme, value, key string) (string, error) {
	for i := range len(value) {
		if value[i] <= ' ' || value[i] > '~' {
			return "", fmt.Errorf("npm setting %s has characters that cannot be sent", plain(key, 300))
		}
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
