package fetch

import (
	"net/url"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/fetch/transfer"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// For returns the client for what a namespace asks for: with the credentials of
// the operator that are mapped to it, and with those alone. A server's name stands for
// its namespace. The two clients share connections and limits, save Limits.Together,
// of which each client of For has its own.
func (c *Client) For(namespace string) *Client {
	namespace, _, _ = strings.Cut(namespace, "/")
	view := *c
	view.namespace, view.together = namespace, transfer.NewBudget(c.limits.Together)
	view.credentials = *c.operator.Load()
	return &view
}

// SetCredentials replaces those of [Config] for the clients that For makes from now on.
// The slice must not change afterwards.
func (c *Client) SetCredentials(all []HostCredential) { c.operator.Store(&all) }

// credential is the operator's credential for u, for the namespace at work.
func (c *Client) credential(u *url.URL) (HostCredential, bool) {
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

// addCredentials adds the operator's credentials to those that own gives. Own may be nil.
func (c *Client) addCredentials(own func(*url.URL) (string, error)) func(*url.URL) (string, error) {
	if c.namespace == "" || len(c.credentials) == 0 {
		return own
	}
	return func(u *url.URL) (string, error) {
		if k, ok := c.credential(u); ok {
			return k.header()
		}
		if own == nil {
			return "", nil
		}
		return own(u)
	}
}
