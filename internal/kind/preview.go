package kind

import (
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/project"
)

// Preview is what a person is told about a server before its first start.
type Preview struct {
	Environment []string // names of the variables that it gets, sorted
	Hosts       []string // where its packages come from, or where it is itself
	Sends       []string // "NAME to HOST": variables in its headers
}

// commandHosts returns the hosts that the packages or the image of a command line come from.
func commandHosts(h *host.Host, s project.Server) (hosts []string) {
	if s.Command == "" {
		return nil // a registry's record says which packages
	}
	for _, p := range launcher.Parse(s.Command, s.Arguments).Packages {
		switch {
		case p.Repository() != "":
			host, _, _ := strings.Cut(p.Repository(), "/")
			hosts = append(hosts, host)
		case p.Ecosystem == launcher.Go:
			hosts = append(hosts, "the module proxies that go is configured with")
		default:
			hosts = append(hosts, h.Fetch.Hosts(artifact.Kind(p.Ecosystem), p.Name)...)
		}
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}
