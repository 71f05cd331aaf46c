package fetch

import (
	"net/url"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/fetch/transfer"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// For returns a client that fetches on behalf of a namespace: with the operator's
// credentials that are mapped to it, and with no others. A server's name stands for its
// namespace. The two clients share connections and limits, except Limits.Together, which
// each client of For has for itself.
func (c *Client) For(namespace string) *Client {
	namespace, _, _ = strings.Cut(namespace, "/")
	view := *c
	view.namespace, view.together = namespace, transfer.NewBudget(c.limits.Together)
	view.credentials = *c.operator.Load()
	return &view
}

// SetCredentials replaces the credentials of [Config] for the clients that For returns from
// now on. The slice must not change afterwards.
func (c *Client) SetCredentials(all []HostCredential) { c.operator.Store(&all) }

// findCredential returns the operator's credential for the host of u, if there is one that
// the namespace of c may use.
func (c *Client) findCredential(u *url.URL) (HostCredential, bool) {
	if c.namespace == "" {
		return HostCredential{}, false
	}
	i := slices.IndexFunc(c.credentials, func(k HostCredential) bool {
		return k.Host != "" && k.hostPort() == wire.HostPort(u) && slices.Contains(k.Namespaces, c.namespace)
	})
	if i < 0 {
		return HostCredential{}, false
	}
	return c.credentials[i], true
}

// addCredentials returns a function for [transfer.Request].Authorization: the operator's
// credential for a host, or what own gives where there is none. Own may be nil.
func (c *Client) addCredentials(own func(*url.URL) (string, error)) func(*url.URL) (string, error) {
	if c.namespace == "" || len(c.credentials) == 0 {
		return own
	}
	return func(u *url.URL) (string, error) {
		if k, ok := c.findCredential(u); ok {
			return k.header()
		}
		if own == nil {
			return "", nil
		}
		return own(u)
	}
}
