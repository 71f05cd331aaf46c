package workspace

import (
	"errors"
	"maps"
	"slices"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/registry/client"
	"github.com/hallmark-mcp/hallmark/internal/wire"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/project"
)

// MayAsk requires consent to ask hosts, as [host.Host.RequireHostConsent] does, except for the host
// that the caller named.
func (w *Workspace) MayAsk(uses ...wire.HostUse) error {
	return w.Host.RequireHostConsent(slices.DeleteFunc(slices.Clone(uses), func(u wire.HostUse) bool {
		return w.NamedHost != "" && u.Host == w.NamedHost
	})...)
}

// registryHosts returns the project's registry, nil if it names none.
func (w *Workspace) registryHosts() []wire.HostUse {
	if w.Config.Registry.URL == "" {
		return nil
	}
	return []wire.HostUse{
		{Host: host.HostOfURL(w.Config.Registry.URL), File: project.ConfigFile + ", [registry] url"}}
}

// registryClient returns a client of the project's registry, which sends no request without
// consent.
func (w *Workspace) registryClient() *client.Client {
	return &client.Client{Base: w.Config.Registry.URL, Through: w.Host.Patience.Over,
		May: func() error { return w.Host.RequireHostConsent(w.registryHosts()...) }}
}

// facetHosts returns the hosts that a facet comes from.
func (w *Workspace) facetHosts(f project.Facet) []wire.HostUse {
	if f.Kind().HasRecords() {
		return w.registryHosts()
	}
	if url := f.URL(); url != "" {
		return []wire.HostUse{{Host: host.HostOfURL(url), File: project.ConfigFile + ", facet " + f.Name}}
	}
	return nil
}

// FacetHosts returns the hosts that all declared facets come from.
func (w *Workspace) FacetHosts() (uses []wire.HostUse) {
	for _, name := range slices.Sorted(maps.Keys(w.Config.Facets)) {
		uses = append(uses, w.facetHosts(w.Config.Facets[name])...)
	}
	return uses
}

// ServerHosts returns the hosts that are asked for the program of a server. Consent to reach a
// server by its URL is asked separately: see PinOptions.
func (w *Workspace) ServerHosts(s project.Server) (uses []wire.HostUse) {
	theirs := func(kind artifact.Kind) []wire.HostUse {
		if w.Host.Fetch == nil {
			return nil
		}
		return w.Host.Fetch.CheckoutHosts(kind)
	}
	from := project.ConfigFile
	if s.Facet != "" {
		from = "the facet " + s.Facet
	}
	if s.Record != "" || s.Source != "" {
		uses = w.registryHosts()
	}
	if s.Record != "" { // which says of which kind its package is
		return slices.Concat(uses, theirs(artifact.NPM), theirs(artifact.PyPI))
	}
	if s.Command == "" {
		return uses
	}
	for _, p := range launcher.Parse(s.Command, s.Arguments).Packages {
		if p.Repository() != "" {
			uses = append(uses,
				wire.HostUse{Host: fetch.RepositoryHost(p.Repository()),
					File: from + ", server " + s.Name})
			continue
		}
		uses = append(uses, w.registryHosts()...) // whose record may vouch for it
		uses = append(uses, theirs(artifact.Kind(p.Ecosystem))...)
	}
	return uses
}

// LockHosts returns the hosts that are asked about locked entries.
func (w *Workspace) LockHosts() (uses []wire.HostUse) {
	for _, name := range w.Lock.Servers() {
		entry, _ := w.Lock.Server(name)
		if entry.Record != nil && entry.Record.Registry == w.Config.Registry.Name() {
			uses = append(uses, w.registryHosts()...)
		}
		if repository, _, ok := host.CutLast(entry.Image, ":"); ok {
			uses = append(uses,
				wire.HostUse{Host: fetch.RepositoryHost(repository), File: project.LockFile + ", server " + name})
		}
	}
	for _, name := range w.Lock.Facets() {
		if entry, _ := w.Lock.Facet(name); entry.Source.Kind.HasRecords() &&
			entry.Source.Registry == w.Config.Registry.Name() {
			uses = append(uses, w.registryHosts()...)
		}
	}
	return uses
}

// NoRegistryError returns the error about a subject that needs a registry if none is configured.
func NoRegistryError(subject string) error {
	return evidence.Errorf(evidence.Validation, subject,
		"add [registry] url = \"…\" to "+project.ConfigFile+", or give --registry URL to 'hallmark add'",
		errors.New("no registry is configured"))
}

// Registry returns the client of the configured registry, or nil if none is configured.
func (w *Workspace) Registry() *client.Client {
	if w.Config.Registry.URL == "" {
		return nil
	}
	return w.registryClient()
}
