package fetch

import (
	"sync"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/internal/fetch/transfer"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// tool is what the user's files say of one ecosystem. They are read when it is first needed, so that
// a command that asks no registry opens no file of another tool, and a broken file stops only what
// comes from the registries of its own tool.
type tool struct {
	config  Config
	hosts   wire.Hosts        // that the configuration names
	network *transfer.Network // nil if the ecosystem has none of its own
}

// withTool returns a view of c for packages of a kind, which has the configuration of their
// ecosystem.
func (c *Client) withTool(kind artifact.Kind) (*Client, error) {
	read := c.tools[kind]
	if read == nil {
		return c, nil
	}
	t, err := read()
	if err != nil {
		return nil, err
	}
	view := *c
	view.config, view.hosts = t.config, c.hosts.WithTool(t.hosts)
	if t.network != nil {
		view.network = t.network
	}
	return &view, nil
}

// ofTool returns what the configuration of an ecosystem says.
func ofTool[T any](c *Client, kind artifact.Kind, say func(*Client) (T, error)) (none T, err error) {
	if c, err = c.withTool(kind); err != nil {
		return none, err
	}
	return say(c)
}

// isNamedByTool reports whether the user's configuration of any tool names a host. A configuration
// that cannot be read names none.
func (c *Client) isNamedByTool(host string) bool {
	for _, read := range c.tools {
		if t, err := read(); err == nil && t.hosts.Names(host) {
			return true
		}
	}
	return false
}

// route returns how the hosts of ecosystems without a route of their own are reached.
func (c *Client) route() transfer.Route {
	return transfer.Route{RootCAs: c.config.RootCAs, Proxy: c.config.Proxy, AllowAddr: c.config.AllowAddr,
		Patience: c.config.Patience, Redirects: c.limits.Redirects, Idle: c.limits.Parallel, Dial: c.config.dial}
}

// connections are the networks of a client.
type connections struct {
	mu  sync.Mutex
	all []*transfer.Network
}

// add makes a network.
func (n *connections) add(route transfer.Route) *transfer.Network {
	network := transfer.NewNetwork(route)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, network)
	return network
}

// close closes connections that are kept for reuse.
func (n *connections) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, network := range n.all {
		network.CloseIdleConnections()
	}
}
