package fetch

import (
	"maps"
	"slices"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// newHosts returns the hosts that c may ask: the public registries, those that an operator's
// credentials are for, and those that the user's configuration of any tool names.
func (c *Client) newHosts() wire.Hosts {
	h := wire.NewHosts(wire.Named{}, c.config.Agreement, c.config.AnyHost).OrElse(c.isNamedByTool)
	for _, e := range ecosystems {
		public, _ := e.registries(c.config)
		for _, base := range public {
			h.Allow(wire.HostOfText(base))
		}
	}
	for _, k := range c.config.Credentials {
		h.Allow(k.hostPort())
	}
	return h
}

// Hosts returns the hosts that c would ask for a package, sorted; none for a kind that has no
// registry, or whose configuration cannot be read. It sends nothing, and looks up no variable.
func (c *Client) Hosts(kind artifact.Kind, name string) []string {
	e := ecosystemOfKind(kind)
	if e == nil {
		return nil
	}
	c, err := c.withTool(kind)
	if err != nil {
		return nil // the fetch reports it
	}
	hosts := e.packageHosts(c.config, name)
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// Names reports whether Hallmark itself, the user's configuration or the caller of c names a
// host, so that asking it needs no consent.
func (c *Client) Names(host string) bool { return c.hosts.Names(host) }

// CheckoutHosts returns the hosts that only the checkout's configuration names, and that are
// asked for packages of a kind, as registry or as proxy; sorted. A configuration that cannot be read
// names none.
func (c *Client) CheckoutHosts(kind artifact.Kind) []wire.HostUse {
	c, err := c.withTool(kind)
	if err != nil {
		return nil // the fetch reports it
	}
	return c.hosts.OfCheckout(kind)
}

// ForRefs returns a client for a caller who names refs: the hosts in them are asked without
// consent.
func (c *Client) ForRefs(refs ...artifact.Ref) *Client {
	named := map[string]bool{}
	for _, ref := range refs {
		if e := ecosystemOfKind(ref.Kind()); e != nil {
			named[e.namedHost(ref)] = true
		}
	}
	view := *c
	view.hosts = c.hosts.With(slices.Collect(maps.Keys(named))...)
	return &view
}
