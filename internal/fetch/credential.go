package fetch

import (
	"net/url"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/fetch/transfer"
	"github.com/hallmark-mcp/hallmark/internal/fetch/userconfig"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// HostCredential is what an operator lets a server say to one host, on behalf of the
// namespaces that may see what is there. The check of a publish tells its publisher
// whether a digest is right, so that a namespace which may not read a host must not
// make the server read it.
type HostCredential struct {
	Host       string   // host, or host:port if the port is not 443
	Username   string   // with Password: basic authentication
	Password   string   //
	Token      string   // bearer token, if there is no user name
	Namespaces []string // such as "com.example", each exactly; empty means none
}

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

// hostPort is the host as hostPort has it of a URL.
func (k HostCredential) hostPort() string { return wire.HostPort(&url.URL{Host: k.Host}) }

// header is the value of an Authorization header.
func (k HostCredential) header() (string, error) {
	if k.Username != "" || k.Password != "" {
		return userconfig.Basic(k.Username, k.Password), nil
	}
	return userconfig.Bearer(k.Token, "the credential for "+wire.Plain(k.Host, 255))
}
