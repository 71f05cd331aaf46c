package facets

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/kind"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// Part is something that a project has, with what it brings along.
type Part struct {
	Kind     string `json:"kind"` // "facet", "server", "skill", "agent" or "command"
	Name     string `json:"name"`
	Version  string `json:"version,omitempty"` // locked; of a server what [kind.VersionOf] says
	From     string `json:"from,omitempty"`    // source of a facet, artifact of a server
	Declared string `json:"declared,omitempty"`
	Line     int    `json:"line,omitempty"` // of hallmark.toml, if that declares it
	Locked   bool   `json:"locked,omitempty"`
	// Repeated says that what it brings along stands at an earlier place.
	Repeated bool   `json:"repeated,omitempty"`
	Brings   []Part `json:"brings,omitempty"`
}

// The kinds of parts that are no deliverables.
const (
	PartFacet  = "facet"
	PartServer = "server"
)

// Limits of the ways that are looked for: a lock that somebody wrote by hand may have more than there
// is time for.
const (
	maxChains = 50     // that are told
	maxSteps  = 10_000 // from a facet to one that brings it along
)

// Tree says what a project has, as hallmark.toml and hallmark.lock tell it: the facets that are
// declared with all that they bring along, then those that nothing declares any more, then servers.
// Nothing is compared, and nothing but the two files is read.
func Tree(ctx context.Context, h *host.Host, dir string) ([]Part, error) {
	w, done, err := workspace.Open(ctx, h, dir, false)
	if err != nil {
		return nil, err
	}
	defer done()
	return newOrigins(w).tree(), nil
}

// Why says by which ways a facet or server comes into a project: each begins with a part that
// hallmark.toml declares, or that nothing declares any more, and ends with the one that is named.
func Why(ctx context.Context, h *host.Host, dir, name string) ([][]Part, error) {
	w, done, err := workspace.Open(ctx, h, dir, false)
	if err != nil {
		return nil, err
	}
	defer done()
	o := newOrigins(w)
	chains := o.chains(name)
	if len(chains) == 0 {
		names := slices.Concat(w.ServerNames(), w.FacetNames(), w.Lock.Facets())
		return nil, project.NoSuch("server or facet", project.LockFile, name, names)
	}
	return chains, nil
}

// origins is what the lock says of where parts come from.
type origins struct {
	w       *workspace.Workspace
	servers map[string][]string // that facets declare, by facet
	bringer map[string][]string // the facets that bring a facet along
	steps   int                 // taken so far
}

func newOrigins(w *workspace.Workspace) *origins {
	o := &origins{w: w, servers: map[string][]string{}, bringer: map[string][]string{}}
	for _, name := range w.Lock.Servers() {
		if entry, _ := w.Lock.Server(name); entry.Launch.Facet != "" {
			o.servers[entry.Launch.Facet] = append(o.servers[entry.Launch.Facet], name)
		}
	}
	for _, name := range w.Lock.Facets() {
		entry, _ := w.Lock.Facet(name)
		for other := range entry.Composes {
			o.bringer[other] = append(o.bringer[other], name)
		}
	}
	return o
}

// roots are the facets that are declared, and then those that are locked and that nothing brings along.
func (o *origins) roots() []string {
	names := slices.Sorted(maps.Keys(o.w.Config.Facets))
	for _, name := range slices.Sorted(slices.Values(o.w.Lock.Facets())) {
		if _, declared := o.w.Config.Facets[name]; !declared && len(o.bringer[name]) == 0 {
			names = append(names, name)
		}
	}
	return names
}

// tree are all parts.
func (o *origins) tree() (all []Part) {
	seen := map[string]bool{}
	for _, name := range o.roots() {
		all = append(all, o.facetTree(name, seen))
	}
	for _, name := range slices.Sorted(slices.Values(o.w.Lock.Facets())) {
		if !seen[name] { // those that bring along each other, in a lock that somebody wrote by hand
			all = append(all, o.facetTree(name, seen))
		}
	}
	names := o.w.ServerNames()
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		entry, _ := o.w.Lock.Server(name)
		if facetName := cmp.Or(entry.Launch.Facet, o.w.Config.Servers[name].Facet); !seen[facetName] {
			all = append(all, o.server(name))
		}
	}
	return all
}

// facetTree is a facet with what it brings along, the first time that it is met.
func (o *origins) facetTree(name string, seen map[string]bool) Part {
	part := o.facet(name)
	if seen[name] {
		part.Repeated = true
		return part
	}
	seen[name] = true
	entry, _ := o.w.Lock.Facet(name)
	for _, other := range slices.Sorted(maps.Keys(entry.Composes)) {
		part.Brings = append(part.Brings, o.facetTree(other, seen))
	}
	part.Brings = append(part.Brings, deliverablesOf(entry)...)
	slices.Sort(o.servers[name])
	for _, server := range o.servers[name] {
		part.Brings = append(part.Brings, o.server(server))
	}
	return part
}

// facet is a facet without what it brings along.
func (o *origins) facet(name string) Part {
	part := Part{Kind: PartFacet, Name: name}
	if f, ok := o.w.Config.Facets[name]; ok {
		part.Declared, part.Line = f.String(), f.Line
	}
	if entry, ok := o.w.Lock.Facet(name); ok {
		part.Locked, part.Version, part.From = true, entry.Version, entry.Source.String()
	}
	return part
}

// server is a server of hallmark.toml or of a facet.
func (o *origins) server(name string) Part {
	part := Part{Kind: PartServer, Name: name}
	if s, ok := o.w.Config.Servers[name]; ok {
		part.Declared, part.Line = serverStatus(o.w, s).Declared, s.Line
	}
	if entry, ok := o.w.Lock.Server(name); ok {
		part.Locked, part.Version, part.From = true, kind.VersionOf(entry).Version, entry.Ref
	}
	return part
}

// deliverablesOf are the skills, agents and commands of a locked facet, which the paths of its members
// name.
func deliverablesOf(entry project.FacetLock) (parts []Part) {
	for _, d := range []struct {
		kind        facet.Kind
		prefix, end string
	}{
		{facet.KindSkill, "skills/", "/SKILL.md"}, {facet.KindAgent, "agents/", ".md"},
		{facet.KindCommand, "commands/", ".md"},
	} {
		for _, path := range slices.Sorted(maps.Keys(entry.Assets)) {
			name, ok := strings.CutPrefix(path, d.prefix)
			name, markdown := strings.CutSuffix(name, d.end)
			if ok && markdown && !strings.Contains(name, "/") {
				parts = append(parts, Part{Kind: string(d.kind), Name: name, Locked: true})
			}
		}
	}
	return parts
}

// chains are the ways that lead to a facet or a server of that name, at most maxChains.
func (o *origins) chains(name string) (all [][]Part) {
	_, declared := o.w.Config.Facets[name]
	if _, locked := o.w.Lock.Facet(name); declared || locked {
		all = o.facetChains(name, nil)
	}
	if !slices.Contains(o.w.ServerNames(), name) {
		return all
	}
	entry, _ := o.w.Lock.Server(name)
	of := cmp.Or(entry.Launch.Facet, o.w.Config.Servers[name].Facet)
	if of == "" {
		return append(all, []Part{o.server(name)})
	}
	for _, chain := range o.facetChains(of, nil) {
		all = append(all, append(chain, o.server(name)))
	}
	return all
}

// facetChains are the ways that lead to a facet; below are those that it leads to itself.
func (o *origins) facetChains(name string, below []string) (all [][]Part) {
	if o.steps++; o.steps > maxSteps || slices.Contains(below, name) || len(below) > MaxDepth {
		return nil
	}
	_, declared := o.w.Config.Facets[name]
	bringers := slices.Sorted(slices.Values(o.bringer[name]))
	if declared || len(bringers) == 0 {
		all = append(all, []Part{o.facet(name)})
	}
	for _, by := range bringers {
		for _, chain := range o.facetChains(by, append(slices.Clone(below), name)) {
			if len(all) < maxChains {
				all = append(all, append(slices.Clone(chain), o.facet(name)))
			}
		}
	}
	return all
}
