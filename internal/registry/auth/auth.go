// Package auth defines who may publish under which names: permissions and the grants that
// hold them, the forms of tokens and proofs, and the key with which an author signs a proof.
// It asks nobody; package api exchanges proofs for grants.
//
// # Tokens
//
// A login gives a JWT that is signed with Ed25519 (header alg EdDSA), is valid for five
// minutes, and has the claims of the official registry:
//
//	{
//	  "iss": "mcp-registry", "iat": …, "nbf": …, "exp": …,
//	  "auth_method": "dns",
//	  "auth_method_sub": "example.com",
//	  "permissions": [{"action": "publish", "resource": "com.example/*"}]
//	}
//
// Every replica that has the same key takes it; nothing is stored. An API token lives
// longer and is an entry of the registry's tokens: "hlmk_" and 43 characters of base64url, which are
// 32 random bytes. Only the SHA-256 of its text is kept.
//
// A resource is a name, or the beginning of names when it ends in "*"; "*" alone is
// every name. Letters count as they are written.
//
// # Proofs
//
//	dns   a TXT record of the domain itself   com.example/* and com.example.*
//	http  https://DOMAIN/.well-known/mcp-registry-auth, at most 4,096 bytes, no
//	      redirects                            com.example/*
//
// Both hold one or several records of the form
//
//	v=MCPv1; k=ed25519; p=BASE64          the 32 bytes of the key
//	v=MCPv1; k=ecdsap384; p=BASE64        the 49 bytes of the compressed point
//
// The login sends the domain, the time now (RFC 3339, at most 15 seconds off) and the
// signature of that text in hexadecimal: 64 bytes of Ed25519, or 96 of ECDSA over
// SHA-384, R and S in 48 bytes each. A domain is a name with a dot: no address, no port,
// nothing below github.io, where who may write to one repository could speak for an
// organisation.
//
//	github-at    a GitHub access token        io.github.USER/*, and io.github.ORG/* for
//	                                          each organisation that USER owns
//	github-oidc  a token of GitHub Actions    io.github.REPOSITORY_OWNER/*
//	oidc         an ID token of one issuer    what the operator says
//	none         nothing                      io.modelcontextprotocol.anonymous/*
package auth

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
type Method string

// The methods.
const (
	GitHubAT   Method = "github-at"
	GitHubOIDC Method = "github-oidc"
	OIDC       Method = "oidc"
	DNS        Method = "dns"
	HTTP       Method = "http"
	None       Method = "none"
	APIToken   Method = "token" // an API token, without a login
)

// Action is what a permission is about.
type Action string

// The actions. Either allows to change the status of a record.
const (
	Publish Action = "publish"
	Edit    Action = "edit"
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

// ClaimedNames returns the names that a token says it may publish, nil if it is no JSON Web Token. Nothing is checked: it is for
// the holder of the token to read.
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
		if p.Action == Publish {
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
	Method      Method
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

// Anonymous is what a login without proof gives.
func Anonymous() Grant {
	const names = "io.modelcontextprotocol.anonymous/*"
	return Grant{Method: None, Subject: "anonymous", Permissions: []Permission{{Publish, names}, {Edit, names}}}
}
