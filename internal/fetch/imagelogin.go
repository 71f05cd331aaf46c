package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/google/go-containerregistry/pkg/authn"
	ociname "github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/fetch/transfer"
	"github.com/hallmark-mcp/hallmark/internal/fetch/userconfig"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// logIn asks a registry how it wants requests to be authorized, and obtains that: nothing, the
// credentials themselves, or a token for pulling from the repository. The token comes from
// the URL that the registry names, often on another host, and the credentials are sent
// there over https, as the protocol demands. It sets the repository's header and scheme.
func (c *Client) logIn(ctx context.Context, ref artifact.Ref, r *ociRepository) error {
	if err := c.hosts.Check(r.base, wire.ByRef); err != nil {
		return err
	}
	auth, err := c.findOCICredentials(ctx, ref, r)
	if err != nil {
		return err
	}
	reg := r.name.Registry
	var challenge *transport.Challenge
	err = c.repeatLogin(ctx, r, func(ctx context.Context, g *ociGuard) (err error) {
		challenge, err = transport.Ping(ctx, reg, g)
		return err
	})
	if err != nil {
		return c.transferError(ctx, ref, r.base, err)
	}
	if r.plain = challenge.Insecure; r.plain {
		r.base.Scheme = "http"
	}
	config, err := authn.Authorization(ctx, auth)
	if err != nil {
		return &wire.Error{Ref: ref.String(), Cause: evidence.Unsupported,
			Err: fmt.Errorf("credentials for %s: %w", wire.Plain(r.base.Host, 255), err)}
	}
	switch {
	case challenge.Scheme == "":
	case config.RegistryToken != "":
		r.header, err = userconfig.Bearer(config.RegistryToken, "the credential for "+wire.Plain(r.base.Host, 255))
	case strings.EqualFold(challenge.Scheme, "basic"):
		switch {
		case config.Username != "" && config.Password != "":
			r.header = userconfig.Basic(config.Username, config.Password)
		case config.Auth != "":
			r.header = "Basic " + config.Auth
		}
	case strings.EqualFold(challenge.Scheme, "bearer"):
		token, failed := c.exchangeToken(ctx, auth, r, challenge)
		if failed != nil {
			return c.transferError(ctx, ref, r.base, failed)
		}
		r.header, err = userconfig.Bearer(token, "the token from the image registry")
	default:
		err = fmt.Errorf("the image registry wants authentication of kind %s", wire.Quoted(challenge.Scheme))
	}
	if err != nil {
		return &wire.Error{Ref: ref.String(), Cause: evidence.Unsupported, URL: wire.ShowURL(r.base), Err: err}
	}
	return nil
}

// exchangeToken obtains a token for pulling from the repository.
func (c *Client) exchangeToken(ctx context.Context, auth authn.Authenticator, r *ociRepository,
	challenge *transport.Challenge) (string, error) {
	var token *transport.Token
	err := c.repeatLogin(ctx, r, func(ctx context.Context, g *ociGuard) (err error) {
		token, err = transport.Exchange(ctx, r.name.Registry, auth, g, []string{r.name.Scope(transport.PullScope)},
			challenge)
		return err
	})
	if err != nil {
		return "", err
	}
	return cmp.Or(token.AccessToken, token.Token), nil
}

// findOCICredentials returns the operator's credentials for the namespace of c, or the user's.
// It does not wait longer than ctx for a helper program that keeps them.
func (c *Client) findOCICredentials(ctx context.Context, ref artifact.Ref,
	r *ociRepository) (authn.Authenticator, error) {
	// The default registry has two names.
	for _, host := range []string{r.base.Host, strings.TrimPrefix(r.base.Host, "index.")} {
		if k, ok := c.findCredential(&url.URL{Host: host}); ok {
			config := authn.AuthConfig{Username: k.Username, Password: k.Password}
			if k.Username == "" && k.Password == "" {
				config.RegistryToken = k.Token
			}
			return authn.FromConfig(config), nil
		}
		if r.base.Host != ociname.DefaultRegistry {
			break
		}
	}
	keychain := c.config.OCI.Keychain
	if keychain == nil {
		return authn.Anonymous, nil
	}
	type answer struct {
		auth authn.Authenticator
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		auth, err := authn.Resolve(ctx, keychain, r.name)
		done <- answer{auth, err}
	}()
	select {
	case a := <-done:
		if a.err != nil {
			return nil, fmt.Errorf("%s: docker's credentials for %s: %w", wire.Name(ref.String()),
				wire.Plain(r.base.Host, 255), a.err)
		}
		return a.auth, nil
	case <-ctx.Done():
		return nil, c.transferError(ctx, ref, r.base, c.limits.forTransfer().OverdueError(ctx, transfer.Nothing))
	}
}

// repeatLogin calls f until it succeeds or fails for good. Errors are failures or those of
// ctx.
func (c *Client) repeatLogin(ctx context.Context, r *ociRepository, f func(context.Context, *ociGuard) error) error {
	return c.limits.forTransfer().Repeat(ctx, func(ctx context.Context) *transfer.Failure {
		guard := &ociGuard{net: c.network}
		if r.plain {
			guard.plainHost = r.base.Host
		}
		if err := f(ctx, guard); err != nil {
			return guard.failureOf(err)
		}
		return nil
	})
}

// ociGuard applies the rules of a transfer to a library that speaks HTTP itself: https only,
// bounded replies, our dialer and authorities.
type ociGuard struct {
	net       *transfer.Network
	plainHost string // the host that may be asked over plain http; "" is none

	mu      sync.Mutex
	failure *transfer.Failure // of the first request over https that got no reply
}

// maxLogin bounds each reply during a login, in bytes.
const maxLogin = 1 << 20

// RoundTrip implements [http.RoundTripper].
func (g *ociGuard) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := transfer.CheckURLPlain(req.URL, g.plainHost); err != nil {
		return nil, transfer.NewRefusal("%s: %w", wire.ShowURL(req.URL), err)
	}
	req = req.Clone(req.Context())
	req.Header.Set("User-Agent", transfer.UserAgent)
	req.Header.Set("Accept-Encoding", "identity")
	resp, err := g.net.RoundTrip(req)
	if err != nil {
		f := transfer.ConnectionFailure(err)
		if req.URL.Scheme == "https" {
			g.mu.Lock()
			if g.failure == nil {
				g.failure = f
			}
			g.mu.Unlock()
		}
		return nil, f
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(resp.Body, maxLogin), resp.Body}
	return resp, nil
}

// failureOf returns the failure behind an error of the library. The library's messages may
// hold the body of a reply, and so a token: only text that cannot hold one is kept.
func (g *ociGuard) failureOf(err error) *transfer.Failure {
	g.mu.Lock()
	defer g.mu.Unlock()
	var reply *transport.Error
	var f *transfer.Failure
	switch {
	case errors.As(err, &reply):
		f = &transfer.Failure{Cause: evidence.Unreachable, Status: reply.StatusCode,
			Err: fmt.Errorf("logging in to the image registry: %w", transfer.StatusError(reply.StatusCode))}
		switch status := reply.StatusCode; {
		case status == http.StatusUnauthorized || status == http.StatusForbidden:
			f.Hint = "it may be private: check the credentials for this host ('docker login')"
		case status == http.StatusTooManyRequests || status >= 500:
			f.Retry = true
		case status == http.StatusNotFound:
			f.Err = errors.New("the host is not an image registry: it has no /v2/")
		}
		return f
	case g.failure != nil:
		return g.failure
	case errors.As(err, &f):
		return f
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	return &transfer.Failure{Cause: evidence.Unreachable,
		Err: fmt.Errorf("logging in to the image registry: %s", wire.Plain(text, 300))}
}

// openRepository logs in to the repository of ref.
func (c *Client) openRepository(ctx context.Context, ref artifact.Ref) (*ociRepository, error) {
	r, err := parseRepository(ref)
	if err != nil {
		return nil, err
	}
	r.plain = c.config.OCI.PlainHTTP && artifact.IsLoopback(r.base.Hostname()) // allowed; logIn finds out
	if err := c.logIn(ctx, ref, r); err != nil {
		return nil, err
	}
	return r, nil
}
