package pin

import (
	"net/url"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/internal/foreign"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/project"
)

// Preview is what a person is told of a server before it is started for the first time.
type Preview struct {
	Environment []string // names of the variables that it gets, sorted
	Hosts       []string // where its packages come from, or where it is itself
	Sends       []string // "NAME to HOST": variables in its headers
}

// PreviewOf says what a server would get and where it would come from, by its declaration
// alone: nobody is asked.
func PreviewOf(h *host.Host, s project.Server) Preview {
	var p Preview
	if s.Type == "http" {
		if u, err := url.Parse(s.URL); err == nil {
			p.Hosts = []string{u.Host}
		}
		uses, err := headerUses(s)
		for _, u := range uses {
			if err == nil {
				p.Sends = append(p.Sends, u.Variable+" to "+u.Host)
			}
		}
		return p
	}
	p.Environment = append(p.Environment, "PATH")
	for _, name := range append(program.CommonVariables(), s.Variables...) {
		if foreign.HasVariable(h.Environ, name) {
			p.Environment = append(p.Environment, name)
		}
	}
	for name := range s.Environment {
		p.Environment = append(p.Environment, name)
	}
	slices.Sort(p.Environment)
	p.Environment = slices.Compact(p.Environment)
	p.Hosts = sourceHosts(h, s)
	return p
}

// sourceHosts are the hosts that the packages or the image of a server come from.
func sourceHosts(h *host.Host, s project.Server) (hosts []string) {
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

// entryHosts are the hosts that the packages of an entry of the lock come from.
func entryHosts(h *host.Host, entry project.ServerLock, s project.Server) []string {
	if hosts := PreviewOf(h, s).Hosts; len(hosts) > 0 {
		return hosts
	}
	if entry.Record != nil && entry.Source == project.KindArtifact {
		host, _, _ := strings.Cut(entry.Record.Registry, "/")
		return []string{host}
	}
	ref, err := artifact.Parse(entry.Ref)
	if err != nil {
		return nil
	}
	return h.Fetch.Hosts(ref.Kind(), ref.Name())
}
