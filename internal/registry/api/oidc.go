package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/hallmark-mcp/hallmark/internal/registry"
)

// oidcTime bounds the reading of discovery and keys, which are cached.
const oidcTime = 15 * time.Second

// Provider verifies the ID tokens of one OpenID Connect issuer. Its documents are read
// when a token is verified for the first time, so that a registry starts without it.
type Provider struct {
	Issuer   string // as in the tokens; /.well-known/openid-configuration is below it
	Audience string // that tokens must be for; the client id
	HTTP     *http.Client

	// What a valid token allows, if it has the claims: each with one of the values.
	Claims      map[string][]string
	Permissions []registry.Permission

	mu    sync.Mutex // never held while waiting
	found *discovery // nil until somebody asked; one that failed is replaced
}

// discovery is one reading of an issuer's documents. All logins that arrive meanwhile wait for
// it, each until its own context ends.
type discovery struct {
	done     chan struct{} // closed when the others are set
	verifier *oidc.IDTokenVerifier
	err      error
}

// Login exchanges a token of the issuer.
func (p *Provider) Login(ctx context.Context, token string) (registry.Grant, error) {
	var claims map[string]any
	subject, err := p.verify(ctx, token, &claims)
	if err != nil {
		return registry.Grant{}, err
	}
	for name, allowed := range p.Claims {
		if !slices.ContainsFunc(allowed, func(want string) bool { return has(claims[name], want) }) {
			return registry.Grant{}, refuse("the token's claim %+q is none that this registry takes", name)
		}
	}
	return registry.Grant{Method: registry.MethodOIDC, Subject: subject, Permissions: p.Permissions}, nil
}

// has reports whether a claim is want, or a list that holds it.
func has(claim any, want string) bool {
	switch c := claim.(type) {
	case string:
		return c == want
	case []any:
		return slices.Contains(c, any(want))
	case bool:
		return fmt.Sprint(c) == want
	}
	return false
}

// verify checks the token's signature, issuer, audience and expiry, and decodes its
// claims.
func (p *Provider) verify(ctx context.Context, token string, claims any) (subject string, err error) {
	if len(token) > maxToken {
		return "", refuse("the token is longer than %d bytes", maxToken)
	}
	ctx, cancel := context.WithTimeout(ctx, oidcTime)
	defer cancel()
	verifier, err := p.discover(ctx)
	if err != nil {
		return "", fmt.Errorf("OpenID Connect issuer %s: %w", p.Issuer, err)
	}
	id, err := verifier.Verify(ctx, token)
	var expired *oidc.TokenExpiredError
	switch {
	case errors.As(err, &expired):
		return "", refuse("the token has expired")
	case err != nil && ctx.Err() != nil:
		return "", fmt.Errorf("OpenID Connect issuer %s: %w", p.Issuer, err)
	case err != nil:
		return "", loginRefusal{fmt.Errorf("the token is not one of %s for %+q", p.Issuer, p.Audience), err}
	}
	if err := id.Claims(claims); err != nil {
		return "", refuse("the token's claims cannot be read")
	}
	return id.Subject, nil
}

// discover returns what the issuer's documents say, which are read once, when they can be
// read. The reading has its own time: it does not end with the login that began it.
func (p *Provider) discover(ctx context.Context) (*oidc.IDTokenVerifier, error) {
	p.mu.Lock()
	d := p.found
	if d == nil {
		d = &discovery{done: make(chan struct{})}
		p.found = d
		go p.read(context.WithoutCancel(ctx), d)
	}
	p.mu.Unlock()
	select {
	case <-d.done:
		return d.verifier, d.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// read fills in d. The next login asks again if it fails.
func (p *Provider) read(ctx context.Context, d *discovery) {
	defer close(d.done)
	ctx, cancel := context.WithTimeout(ctx, oidcTime)
	defer cancel()
	client := withoutRedirects(p.HTTP)
	client.Transport = shortAnswers{client.Transport}
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, client), p.Issuer)
	if err != nil {
		d.err = err
		p.mu.Lock()
		p.found = nil
		p.mu.Unlock()
		return
	}
	d.verifier = provider.Verifier(&oidc.Config{ClientID: p.Audience})
}

// maxIssuerAnswer is how long an issuer's documents may be, in bytes.
const maxIssuerAnswer = 1 << 20

// shortAnswers limits how much of an answer can be read: the library reads answers to their
// end.
type shortAnswers struct{ next http.RoundTripper }

func (s shortAnswers) RoundTrip(req *http.Request) (*http.Response, error) {
	next := s.next
	if next == nil {
		next = http.DefaultTransport
	}
	res, err := next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	res.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(res.Body, maxIssuerAnswer), res.Body}
	return res, nil
}
