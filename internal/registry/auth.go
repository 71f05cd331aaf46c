package registry

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/surface"
)

// Method is how a token was obtained.
type LoginMethod string

// The methods.
const (
	MethodGitHubAT   LoginMethod = "github-at"
	MethodGitHubOIDC LoginMethod = "github-oidc"
	MethodOIDC       LoginMethod = "oidc"
	MethodDNS        LoginMethod = "dns"
	MethodHTTP       LoginMethod = "http"
	MethodNone       LoginMethod = "none"
	MethodToken      LoginMethod = "token" // an API token, without a login
)

// Action is what a permission is about.
type Action string

// The actions. Either allows to change the status of a record.
const (
	ActionPublish Action = "publish"
	ActionEdit    Action = "edit"
)

// Permission allows one action on the names that Resource matches.
type Permission struct {
	Action   Action `json:"action" enum:"publish,edit"`
	Resource string `json:"resource" doc:"A name, or the beginning of names and a *"`
}

// matches reports whether p is about name.
func (p Permission) matches(name string) bool {
	if prefix, ok := strings.CutSuffix(p.Resource, "*"); ok {
		return strings.HasPrefix(name, prefix)
	}
	return name == p.Resource
}

// ClaimedNames returns the names that a token says it may publish, nil if it is no JSON Web Token. Nothing is checked:
// it is for the holder of the token to read.
func ClaimedNames(token string) (names []string) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return nil
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return nil
	}
	var claims struct {
		Permissions []Permission `json:"permissions"`
	}
	if surface.DecodeKnown(payload, &claims) != nil {
		return nil
	}
	for _, p := range claims.Permissions {
		if p.Action == ActionPublish {
			names = append(names, p.Resource)
		}
	}
	return names
}

// CheckResource is an error unless resource can match the name of a server, or of an
// archive in a scope, "@scope/name".
func CheckResource(resource string) error {
	prefix, wild := strings.CutSuffix(resource, "*")
	prefix = strings.TrimPrefix(prefix, "@")
	switch {
	case resource == "*":
		return nil
	case len(resource) > maxResource:
		return fmt.Errorf("resource: longer than %d bytes", maxResource)
	case prefix == "" || strings.Trim(prefix, nameCharacters) != "" || strings.Count(prefix, "/") > 1:
		return fmt.Errorf("resource %+q: not a name such as com.example/notes or com.example/*", resource)
	case !wild && !strings.Contains(prefix, "/"):
		return fmt.Errorf("resource %+q: a name has a slash; for a whole namespace write %s/*", resource, prefix)
	case wild && !strings.HasSuffix(prefix, "/") && !strings.HasSuffix(prefix, ".") && !strings.Contains(prefix, "/"):
		// com.example* would also be com.example-of-somebody-else/x.
		return fmt.Errorf("resource %+q: a namespace ends in /* or .*", resource)
	}
	return nil
}

// Lifetime is how long a login's token is valid.
const Lifetime = 5 * time.Minute

const (
	maxResource    = 256
	nameCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/"
)

// Grant is what a token says of its bearer.
type Grant struct {
	Method      LoginMethod
	Subject     string // a user, a domain, a workflow, the id of an API token
	Permissions []Permission
}

// Allows reports whether the bearer may act on name.
func (g Grant) Allows(action Action, name string) bool {
	return slices.ContainsFunc(g.Permissions, func(p Permission) bool { return p.Action == action && p.matches(name) })
}

// Resources lists what the bearer may act on.
func (g Grant) Resources(action Action) []string {
	var out []string
	for _, p := range g.Permissions {
		if p.Action == action {
			out = append(out, p.Resource)
		}
	}
	return out
}

// ErrToken is wrapped by the error of a token that is not valid: forged, expired,
// revoked or unknown.
var ErrToken = errors.New("invalid token")

// AnonymousGrant is what a login without proof gives.
func AnonymousGrant() Grant {
	const names = "io.modelcontextprotocol.anonymous/*"
	return Grant{Method: MethodNone, Subject: "anonymous",
		Permissions: []Permission{{ActionPublish, names}, {ActionEdit, names}}}
}
