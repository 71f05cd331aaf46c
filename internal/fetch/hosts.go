package fetch

import (
	"maps"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/internal/consent"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// newHosts are those that a client of the configuration may ask.
func newHosts(config Config) consent.Hosts {
	h := consent.NewHosts(config.named, config.Agreement, config.AnyHost)
	for _, e := range ecosystems {
		public, configured := e.registries(config)
		for _, base := range public {
			h.Allow(wire.HostOfText(base))
		}
		for _, base := range configured {
			h.AllowConfigured(wire.HostOfText(strings.TrimPrefix(base, "sparse+")))
		}
	}
	for _, k := range config.Credentials {
		h.Allow(k.hostPort())
	}
	return h
}

// Hosts are the hosts that a package is asked of, as c is configured; none for a kind that
// has no registry. Nobody is asked, and no variable is looked up.
func (c *Client) Hosts(kind artifact.Kind, name string) []string {
	e := ecosystemOfKind(kind)
	if e == nil {
		return nil
	}
	hosts := e.packageHosts(c.config, name)
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// Names reports whether Hallmark itself, the user's configuration or c's caller names a
// host, so that nobody need be asked about it.
func (c *Client) Names(host string) bool { return c.hosts.Names(host) }

// Theirs are the hosts that nobody but the checkout's configuration names and that packages
// of a kind may be asked of, or by, sorted.
func (c *Client) Theirs(kind artifact.Kind) []consent.HostUse { return c.hosts.OfCheckout(kind) }

// Asking is c for a caller who names these Refs: their hosts are asked without a question.
func (c *Client) Asking(refs ...artifact.Ref) *Client {
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
