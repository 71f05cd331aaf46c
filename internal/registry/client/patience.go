package client

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/registry"
)

// How long a client waits. A publish is answered after the registry has fetched every
// package, for which one of this program takes DefaultTimeout at most.
const (
	dialTimeout    = 10 * time.Second // to connect, and again for the handshake
	answerTimeout  = 30 * time.Second // for the beginning of an answer
	callTimeout    = 60 * time.Second // for all of it
	publishTimeout = registry.DefaultTimeout + 5*time.Minute
)

const publishPath = "/publish"

// Clients come and go with every command and request; the connections are shared.
var (
	calls     = transport(answerTimeout)
	publishes = transport(publishTimeout)
)

// Transport is what a Client without HTTP calls through, with other authorities than the
// system's.
func Transport(roots *x509.CertPool) *http.Transport {
	t := transport(answerTimeout)
	t.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	return t
}

// transport is one whose answers begin within wait.
func transport(wait time.Duration) *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: dialTimeout}).DialContext,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    dialTimeout,
		ResponseHeaderTimeout:  wait,
		MaxResponseHeaderBytes: registry.MaxHeader,
		MaxIdleConns:           10,
		IdleConnTimeout:        registry.IdleTimeout,
	}
}

// wait is how long a call to path may take.
func (c *Client) wait(path string) time.Duration {
	switch {
	case c.timeout > 0:
		return c.timeout
	case path == publishPath:
		return publishTimeout
	}
	return callTimeout
}

// client returns the HTTP client for calls to path.
func (c *Client) client(path string) *http.Client {
	var client http.Client
	if c.HTTP != nil {
		client = *c.HTTP
	}
	if client.Transport == nil {
		client.Transport = calls
		if path == publishPath {
			client.Transport = publishes
		}
	}
	if c.Through != nil && path != publishPath { // which is answered after the registry has fetched every package
		client.Transport = c.Through(client.Transport)
	}
	if c.May != nil {
		client.Transport = asking{c.May, client.Transport}
	}
	client.CheckRedirect = stayOnHost
	return &client
}

// asking asks before each request whether it may be sent.
type asking struct {
	may  func() error
	next http.RoundTripper
}

func (a asking) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := a.may(); err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, err
	}
	return a.next.RoundTrip(r)
}
