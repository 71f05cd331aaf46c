package api

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

	"github.com/hallmark-mcp/hallmark/internal/registry"
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
func (o *Outside) LoginDNS(ctx context.Context, p registry.Proof, now time.Time) (registry.Grant, error) {
	domain, signature, err := checkProof(p, now)
	if err != nil {
		return registry.Grant{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, dnsTime)
	defer cancel()
	texts, err := o.LookupTXT(ctx, domain+".") // absolute: no search list of this machine
	if notFound(err) {
		texts, err = nil, nil
	}
	if err != nil {
		return registry.Grant{}, loginRefusal{fmt.Errorf("the TXT records of %s cannot be read now", domain), err}
	}
	if !slices.ContainsFunc(texts, record().MatchString) {
		if at := o.findMisplaced(ctx, domain); at != "" {
			return registry.Grant{},
				refuse("there is no record v=MCPv1 at %s, but one at %s: it belongs to the domain itself",
					domain, at)
		}
	}
	if err := verifyProof(p, texts, signature, "in DNS"); err != nil {
		return registry.Grant{}, err
	}
	names := namespace(domain)
	return registry.Grant{Method: registry.MethodDNS, Subject: domain, Permissions: []registry.Permission{
		{Action: registry.ActionPublish, Resource: names + "/*"},
		{Action: registry.ActionPublish, Resource: names + ".*"},
	}}, nil
}

// notFound reports whether DNS answered that there is nothing.
func notFound(err error) bool {
	var dns *net.DNSError
	return errors.As(err, &dns) && dns.IsNotFound
}

// findMisplaced looks where people put the record by mistake, and returns the name there.
func (o *Outside) findMisplaced(ctx context.Context, domain string) string {
	for _, label := range []string{"_mcp-auth.", "_mcp-registry."} {
		texts, err := o.LookupTXT(ctx, label+domain+".")
		if err == nil && slices.ContainsFunc(texts, record().MatchString) {
			return label + domain
		}
	}
	return ""
}

// LoginHTTP exchanges a proof that the domain's web server vouches for.
func (o *Outside) LoginHTTP(ctx context.Context, p registry.Proof, now time.Time) (registry.Grant, error) {
	domain, signature, err := checkProof(p, now)
	if err != nil {
		return registry.Grant{}, err
	}
	host := domain
	if o.ProofPort != "" && o.ProofPort != "443" {
		host = net.JoinHostPort(domain, o.ProofPort)
	}
	ctx, cancel := context.WithTimeout(ctx, httpTime)
	defer cancel()
	const path = "/.well-known/mcp-registry-auth"
	status, text, err := o.getText(ctx, "https://"+host+path, maxWellKnown)
	switch {
	case err != nil:
		return registry.Grant{}, loginRefusal{fmt.Errorf("https://%s%s cannot be read", domain, path), err}
	case status != http.StatusOK:
		return registry.Grant{}, refuse("https://%s%s answers %d", domain, path, status)
	}
	if err := verifyProof(p, []string{strings.TrimSpace(string(text))}, signature, "at https://"+domain+path); err !=
		nil {
		return registry.Grant{}, err
	}
	names := []registry.Permission{{Action: registry.ActionPublish, Resource: namespace(domain) + "/*"}}
	return registry.Grant{Method: registry.MethodHTTP, Subject: domain, Permissions: names}, nil
}

// getText requests url and returns the status and a body of at most limit bytes.
func (o *Outside) getText(ctx context.Context, url string, limit int64) (status int, body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Accept", "text/plain")
	req.Header.Set("User-Agent", "hallmark")
	res, err := withoutRedirects(o.HTTP).Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	body, err = io.ReadAll(io.LimitReader(res.Body, limit+1))
	if err == nil && int64(len(body)) > limit {
		err = fmt.Errorf("the answer has more than %d bytes", limit)
	}
	return res.StatusCode, body, err
}

// withoutRedirects returns a copy of c that follows no redirects: what another host or another
// path answers says nothing about the one that was asked.
func withoutRedirects(c *http.Client) *http.Client {
	copied := *c
	copied.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &copied
}
