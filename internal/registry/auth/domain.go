package auth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

const (
	dnsTime      = 5 * time.Second
	httpTime     = 10 * time.Second
	maxWellKnown = 4096 // bytes
)

// Outside is how logins reach other services. The registry's operator decides what its
// parts may connect to.
type Outside struct {
	// HTTP refuses addresses that are not public. Its redirect policy is not used.
	HTTP *http.Client

	LookupTXT func(ctx context.Context, name string) ([]string, error)
	ProofPort string // of https servers with proofs; "" is 443, others are for tests

	GitHubAPI          string // base URL of GitHub's API, without a slash at the end
	GitHubOIDC         string // issuer of the tokens of GitHub Actions; "" is GitHub's
	GitHubOIDCAudience string // "" refuses them

	OIDC *Provider // nil if no issuer is configured
}

// LoginDNS exchanges a proof that DNS vouches for.
func (o *Outside) LoginDNS(ctx context.Context, p Proof, now time.Time) (Grant, error) {
	domain, signature, err := p.check(now)
	if err != nil {
		return Grant{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, dnsTime)
	defer cancel()
	texts, err := o.LookupTXT(ctx, domain+".") // absolute: no search list of this machine
	if notFound(err) {
		texts, err = nil, nil
	}
	if err != nil {
		return Grant{}, refusal{fmt.Errorf("the TXT records of %s cannot be read now", domain), err}
	}
	if !slices.ContainsFunc(texts, record.MatchString) {
		if at := o.misplaced(ctx, domain); at != "" {
			return Grant{}, refuse("there is no record v=MCPv1 at %s, but one at %s: it belongs to the domain itself", domain, at)
		}
	}
	if err := p.verify(texts, signature, "in DNS"); err != nil {
		return Grant{}, err
	}
	names := reversed(domain)
	return Grant{Method: DNS, Subject: domain, Permissions: []Permission{{Publish, names + "/*"}, {Publish, names + ".*"}}}, nil
}

// notFound reports whether DNS answered that there is nothing.
func notFound(err error) bool {
	var dns *net.DNSError
	return errors.As(err, &dns) && dns.IsNotFound
}

// misplaced looks where people put the record by mistake.
func (o *Outside) misplaced(ctx context.Context, domain string) string {
	for _, label := range []string{"_mcp-auth.", "_mcp-registry."} {
		texts, err := o.LookupTXT(ctx, label+domain+".")
		if err == nil && slices.ContainsFunc(texts, record.MatchString) {
			return label + domain
		}
	}
	return ""
}

// LoginHTTP exchanges a proof that the domain's web server vouches for.
func (o *Outside) LoginHTTP(ctx context.Context, p Proof, now time.Time) (Grant, error) {
	domain, signature, err := p.check(now)
	if err != nil {
		return Grant{}, err
	}
	host := domain
	if o.ProofPort != "" && o.ProofPort != "443" {
		host = net.JoinHostPort(domain, o.ProofPort)
	}
	ctx, cancel := context.WithTimeout(ctx, httpTime)
	defer cancel()
	const path = "/.well-known/mcp-registry-auth"
	status, text, err := o.get(ctx, "https://"+host+path, "text/plain", "", maxWellKnown)
	switch {
	case err != nil:
		return Grant{}, refusal{fmt.Errorf("https://%s%s cannot be read", domain, path), err}
	case status != http.StatusOK:
		return Grant{}, refuse("https://%s%s answers %d", domain, path, status)
	}
	if err := p.verify([]string{strings.TrimSpace(string(text))}, signature, "at https://"+domain+path); err != nil {
		return Grant{}, err
	}
	return Grant{Method: HTTP, Subject: domain, Permissions: []Permission{{Publish, reversed(domain) + "/*"}}}, nil
}

// get requests url without following redirects and returns a body of at most limit
// bytes. The bearer token may be empty.
func (o *Outside) get(ctx context.Context, url, accept, token string, limit int64) (status int, body []byte, err error) {
	status, body, _, err = o.request(ctx, url, accept, token, limit)
	return status, body, err
}

func (o *Outside) request(ctx context.Context, url, accept, token string, limit int64) (int, []byte, http.Header, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, nil, nil, err
	}
	req.Header.Set("Accept", accept)
	req.Header.Set("User-Agent", "hallmark")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := still(o.HTTP).Do(req)
	if err != nil {
		return 0, nil, nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, limit+1))
	if err == nil && int64(len(body)) > limit {
		err = fmt.Errorf("the answer has more than %d bytes", limit)
	}
	return res.StatusCode, body, res.Header, err
}

// still is c without redirects: the answer of another host, or of another
// path, is no answer.
func still(c *http.Client) *http.Client {
	copied := *c
	copied.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &copied
}
