package transfer

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// UserAgent names Hallmark; some registries refuse a client without a name.
const UserAgent = "hallmark (+https://github.com/hallmark-mcp/hallmark)"

// Network sends requests under one set of authorities and one proxy.
type Network struct {
	transport *http.Transport
	sender    http.RoundTripper // transport, under the Patience of the Route
	redirects int               // most hops per request

	trust func() error // reads the authorities into transport, once; called before each request
}

// Route says how a [Network] reaches the outside.
type Route struct {
	RootCAs *x509.CertPool // nil: the system's

	// Authorities returns the authorities that take the place of RootCAs, or nil for RootCAs.
	// It is called once, before the first request. It may be nil.
	Authorities func() (*x509.CertPool, error)

	// Proxy chooses a proxy for a request; nil, or a nil URL, means none.
	Proxy func(*url.URL) (*url.URL, error)

	AllowAddr func(host string, addr netip.Addr) error // see [Dialer]

	// Dial takes the place of a [Dialer] with AllowAddr, which nil stands for.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	Patience *Patience // with hosts that are silent; may be nil

	Redirects int // most hops per request
	Idle      int // connections to a host that are kept
}

// NewNetwork returns a network; nothing is sent.
func NewNetwork(r Route) *Network {
	t := &http.Transport{
		TLSClientConfig:        &tls.Config{RootCAs: r.RootCAs, MinVersion: tls.VersionTLS12},
		DisableCompression:     true, // else Go asks for gzip and decodes it silently
		MaxResponseHeaderBytes: 64 << 10,
		TLSHandshakeTimeout:    15 * time.Second,
		IdleConnTimeout:        90 * time.Second,
		MaxIdleConnsPerHost:    max(r.Idle, 1),
		DialContext:            r.Dial,
	}
	if t.DialContext == nil {
		t.DialContext = Dialer(r.AllowAddr)
	}
	if r.Proxy != nil {
		t.Proxy = func(req *http.Request) (*url.URL, error) {
			if req.URL.Scheme == "http" {
				return nil, nil // plain http is for this machine alone
			}
			return r.Proxy(req.URL)
		}
	}
	trust := func() error { return nil }
	if r.Authorities != nil {
		trust = sync.OnceValue(func() error {
			roots, err := r.Authorities()
			if roots != nil {
				t.TLSClientConfig.RootCAs = roots
			}
			return err
		})
	}
	return &Network{transport: t, sender: r.Patience.Over(t), redirects: max(r.Redirects, 0), trust: trust}
}

// CloseIdleConnections closes connections that are kept for reuse.
func (n *Network) CloseIdleConnections() { n.transport.CloseIdleConnections() }

// RoundTrip sends one request as it is, by the rules of the [Route] alone. It is for libraries
// that speak HTTP themselves.
func (n *Network) RoundTrip(req *http.Request) (*http.Response, error) {
	return n.sender.RoundTrip(req)
}

// get sends r and follows redirects. The reply may have any status but that of a redirect. The
// caller closes its body. Errors are failures.
func (n *Network) get(ctx context.Context, r Request) (*http.Response, error) {
	if err := n.trust(); err != nil {
		return nil, NewRefusal("%w", err)
	}
	at, seen := r.URL, []string{r.URL.String()}
	authorization := r.Authorization
	for {
		if at.Scheme == "https" {
			r.Base = nil // another machine leads to nothing on this one
		}
		if err := r.checkURL(at); err != nil {
			return nil, NewRefusal("%s: %w", wire.ShowURL(at), err)
		}
		req, err := r.newRequest(ctx, at, authorization)
		if err != nil {
			return nil, err
		}
		resp, err := n.sender.RoundTrip(req)
		if wire.NotAgreed(err) != nil {
			return nil, err // a proxy that nobody agreed to
		}
		if err != nil {
			return nil, ConnectionFailure(err)
		}
		if !isRedirect(resp.StatusCode) {
			return resp, nil
		}
		io.CopyN(io.Discard, resp.Body, 4<<10) // so that the connection can be reused
		resp.Body.Close()
		next, err := r.location(at, resp)
		if err != nil {
			return nil, err
		}
		key := next.String()
		if i := slices.Index(seen, key); i >= 0 {
			return nil, NewRefusal("redirect loop: %s", showLoop(seen[i:]))
		}
		if len(seen) > n.redirects {
			return nil, NewRefusal("more than %d redirects, the last to %s", n.redirects, wire.ShowURL(next))
		}
		seen = append(seen, key)
		if !wire.SameHost(at, next) {
			authorization = nil
		}
		at = next
	}
}

// newRequest is the request for a URL, with what authorization, which may be nil, says for it.
func (r Request) newRequest(ctx context.Context, at *url.URL,
	authorization func(*url.URL) (string, error)) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, NewRefusal("%s cannot be requested", wire.ShowURL(at))
	}
	req.Header.Set("User-Agent", UserAgent)
	req.Header.Set("Accept-Encoding", "identity")
	if r.Accept != "" {
		req.Header.Set("Accept", r.Accept)
	}
	if r.from > 0 {
		req.Header.Set("Range", "bytes="+strconv.FormatInt(r.from, 10)+"-")
		req.Header.Set("If-Range", r.ifRange)
	} else {
		r.Known.setHeaders(req.Header)
	}
	if authorization != nil {
		value, err := authorization(at)
		if wire.NotAgreed(err) != nil {
			return nil, err // a person decides; nothing was sent to this URL
		}
		if err != nil {
			return nil, NewRefusal("%w", err)
		}
		if value != "" {
			req.Header.Set("Authorization", value)
		}
	}
	return req, nil
}

func isRedirect(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// showLoop prints the members of a redirect loop.
func showLoop(members []string) string {
	var names []string
	for _, m := range append(members, members[0]) {
		if u, err := url.Parse(m); err == nil {
			names = append(names, wire.ShowURL(u))
		}
	}
	return strings.Join(names, " -> ")
}
