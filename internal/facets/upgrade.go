package facets

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/obtain"
	"github.com/hallmark-mcp/hallmark/internal/pin"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/internal/wire"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// UpgradeOptions say how to upgrade.
type UpgradeOptions struct {
	// Facets says how facets are upgraded; with Dry nothing is written, of servers neither. Its Confirm
	// is asked about all facets at once. Without Servers.Begin the servers that they declare are pinned
	// as Pin says.
	Facets Options
	Pin    pin.Options // Confirm is told of each server; with Dry its answer does not count
}

// Upgraded is what became of an [Upgrade].
type Upgraded struct {
	Facets  *Installation  // nil if no facet was meant
	Status  []ServerStatus // of all servers that were meant
	Servers []*pin.Pinned  // that were looked at, because they are outdated or declared otherwise
	Changes []ServerChange // of all servers that were meant, by name
	Written bool
}

// Upgrade resolves the named facets and servers anew, or all of the project. A server may be named
// "NAME@VERSION", but for one that a facet declares. An exact version of a package or a record in
// hallmark.toml is set to the version that is taken; each server that is outdated is pinned as
// [pin.Pin] does, with its consent, and no other is started. All of it is written, or nothing.
func Upgrade(ctx context.Context, h *host.Host, dir string, names []string, o UpgradeOptions) (*Upgraded, error) {
	o.Pin.Dry = o.Facets.Dry
	if o.Facets.Servers.Begin == nil {
		o.Facets.Servers.Pin = o.Pin
	}
	out := &Upgraded{}
	u := &upgrade{o: o, out: out, named: map[string]string{}, all: len(names) == 0}
	w, done, err := workspace.Open(ctx, h, dir, false)
	if err != nil {
		return out, err
	}
	err = u.readNames(w, names)
	done()
	if err != nil {
		return out, err
	}
	anyFacet := len(u.facets)+len(u.ofFacets) > 0 || u.all && len(w.Config.Facets)+len(w.Lock.Facets()) > 0
	if err := h.RequireHostConsent(u.hosts(w, anyFacet)...); err != nil {
		return out, err
	}
	if anyFacet {
		out.Facets, err = installFacets(ctx, h, dir, o.Facets, facetRequest{upgrade: true, names: u.facets,
			servers: u.ofFacets, asked: names, changeMore: u.pinOutdated})
		out.Written = out.Facets != nil && out.Facets.Written
	} else {
		out.Written, err = u.pinServersAlone(ctx, h, dir)
	}
	u.addServersOfFacets()
	for _, p := range out.Servers {
		p.Written = out.Written
	}
	return out, err
}

// readNames finds out which facets and servers are meant.
func (u *upgrade) readNames(w *workspace.Workspace, names []string) error {
	for _, name := range names {
		if _, ok := w.Config.Facets[name]; ok {
			u.facets = append(u.facets, name)
			continue
		}
		if is, _, _ := host.CutLast(name, "@"); w.Config.Facets[is].Name != "" {
			return versionOfFacet(w.Config.Facets[is], name)
		}
		server, version, _ := strings.Cut(name, "@")
		s, known := w.LockedServer(server)
		mine, declared := w.Config.Servers[server]
		switch {
		case known && s.Facet != "" && version != "":
			return evidence.Errorf(evidence.Validation, fmt.Sprintf("%+q", name), "run 'hallmark upgrade "+server+
				"'; or 'hallmark upgrade "+s.Facet+"', for a newer facet",
				fmt.Errorf("is a server of the facet %+q, which says what versions of it are taken", s.Facet))
		case known && s.Facet != "":
			u.ofFacets = append(u.ofFacets, server)
		case declared && mine.Facet != "":
			return evidence.Errorf(evidence.Refused, server, "run 'hallmark install'",
				fmt.Errorf("is not locked as a server of the facet %+q", mine.Facet))
		case declared:
			u.named[server] = version
		default:
			return notDeclared(w, "server or facet", name,
				slices.Concat(w.ServerNames(), w.FacetNames()))
		}
	}
	return nil
}

// versionOfFacet is the refusal of a facet's name with a version: which one is taken is said by hallmark.toml.
func versionOfFacet(f project.Facet, name string) error {
	hint := "run 'hallmark add " + name + "'"
	if f.Git != "" || f.Path != "" {
		hint = "change it there, and run 'hallmark install'"
	}
	return evidence.Errorf(evidence.Validation, fmt.Sprintf("%+q", name), hint,
		fmt.Errorf("is a facet, of which %s says what versions are taken", project.ConfigFile))
}

// hosts are those that are asked about what is meant.
func (u *upgrade) hosts(w *workspace.Workspace, anyFacet bool) (uses []wire.HostUse) {
	if anyFacet {
		uses = w.FacetHosts()
	}
	for _, s := range w.LockableServers() {
		_, named := u.named[s.Name]
		if named || u.all || slices.Contains(u.ofFacets, s.Name) || slices.Contains(u.facets, s.Facet) {
			uses = append(uses, w.ServerHosts(s)...)
			uses = append(uses, w.PackageHosts(s)...)
		}
	}
	return uses
}

// addServersOfFacets adds what became of the servers that facets declare, and orders all by name.
func (u *upgrade) addServersOfFacets() {
	out := u.out
	if out.Facets != nil {
		out.Servers = append(out.Servers, out.Facets.Pinned...)
		out.Changes = append(out.Changes, out.Facets.ServerChanges...)
		for _, c := range out.Facets.ServerChanges {
			if c.Status != nil {
				out.Status = append(out.Status, *c.Status)
			}
		}
	}
	sortServerChanges(out.Changes)
	slices.SortStableFunc(out.Status, func(a, b ServerStatus) int { return strings.Compare(a.Name, b.Name) })
	slices.SortStableFunc(out.Servers, func(a, b *pin.Pinned) int { return strings.Compare(a.Name, b.Name) })
}

// upgrade is an upgrade under way.
type upgrade struct {
	o        UpgradeOptions
	out      *Upgraded
	facets   []string          // that are named
	ofFacets []string          // servers that are named, and that facets declare
	named    map[string]string // servers of hallmark.toml, and the version to take or ""
	all      bool              // all servers are meant
}

// pinServersAlone upgrades servers of a project of whose facets none is meant.
func (u *upgrade) pinServersAlone(ctx context.Context, h *host.Host, dir string) (written bool, err error) {
	w, done, err := workspace.Open(ctx, h, dir, true)
	if err != nil {
		return false, err
	}
	defer done()
	logs := w.Logs(u.o.Pin.Log)
	demands, err := w.Demands(logs)
	if err != nil {
		return false, err
	}
	if err := demandServersRemembered(w, demands); err != nil {
		return false, err
	}
	files, text, err := u.pinOutdated(ctx, w, logs)
	if err != nil || len(files) == 0 {
		return false, err
	}
	if text != nil {
		files = append(files, durable.File{Path: w.Path(project.ConfigFile), Data: text, Perm: w.FilePerm()})
	}
	return w.Commit(ctx, files)
}

// pinOutdated pins the servers that are outdated. It returns the files that change, save for the
// lock, whose new entries w has; and hallmark.toml, nil if it stays.
func (u *upgrade) pinOutdated(ctx context.Context, w *workspace.Workspace,
	logs *trail.Logs) (files []durable.File, text []byte, err error) {
	for _, name := range slices.Sorted(maps.Keys(w.Config.Servers)) {
		version, named := u.named[name]
		entry, locked := w.Lock.Server(name)
		declared := w.Config.Servers[name]
		switch {
		case declared.Facet != "": // its facet's upgrade looks at it
			continue
		case !named && (!u.all || !locked || u.o.Facets.Offline):
			continue
		case !locked:
			return nil, nil, evidence.Errorf(evidence.Refused, name, "run 'hallmark pin "+name+"' first",
				errors.New("is not locked"))
		case u.o.Facets.Offline:
			return nil, nil, obtain.OfflineError(name)
		}
		status, next, err := findLatest(ctx, w, declared, version)
		if err != nil {
			return nil, nil, err
		}
		u.out.Status = append(u.out.Status, status)
		if !status.Outdated() {
			u.out.Changes = append(u.out.Changes, unchangedServer(declared, entry, &status))
			continue
		}
		p := &pin.Pinning{Workspace: w, Logs: logs, Options: u.o.Pin, Declared: next, Path: w.Host.Getenv("PATH"),
			Upgrade: true}
		more, err := p.Pin(ctx)
		if p.Result.Name != "" {
			u.out.Servers = append(u.out.Servers, &p.Result)
			u.out.Changes = append(u.out.Changes, pinnedChange(declared, &p.Result, &status, err != nil))
		}
		if err != nil {
			return nil, nil, err
		}
		files = append(files, more...)
		if text == nil {
			text = w.Text
		}
		if text, err = workspace.SetLaunch(text, next); err != nil {
			return nil, nil, err
		}
	}
	return files, text, nil
}
