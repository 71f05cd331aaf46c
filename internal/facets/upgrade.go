package facets

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/configedit"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/consent"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/obtain"
	"github.com/hallmark-mcp/hallmark/internal/pin"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// UpgradeOptions say how to upgrade.
type UpgradeOptions struct {
	Facets Options     // Confirm is asked about all facets at once; with Dry nothing is written, of servers neither
	Pin    pin.Options // Confirm is told of each server; with Dry its answer does not count
}

// Upgraded is what became of an [Upgrade].
type Upgraded struct {
	Facets  *Installation  // nil if no facet was meant
	Status  []ServerStatus // of all servers that were meant
	Servers []*pin.Pinned  // of those that are outdated
	Written bool
}

// Upgrade resolves the named facets and servers anew, or all of the project. A server may be named
// "NAME@VERSION". An exact version of a package or a record in hallmark.toml is set to the version
// that is taken; each server is pinned as [pin.Pin] does, with its consent. All of it is written, or
// nothing.
func Upgrade(ctx context.Context, h *host.Host, dir string, names []string, o UpgradeOptions) (*Upgraded, error) {
	o.Pin.Dry = o.Facets.Dry
	out := &Upgraded{}
	u := &upgrade{o: o, out: out, named: map[string]string{}, all: len(names) == 0}
	w, done, err := workspace.Open(ctx, h, dir, false)
	if err != nil {
		return out, err
	}
	var facets []string
	for _, name := range names {
		if _, ok := w.Config.Facets[name]; ok {
			facets = append(facets, name)
			continue
		}
		server, version, _ := strings.Cut(name, "@")
		if _, ok := w.Config.Servers[server]; !ok {
			done()
			return out, project.NoSuch("server or facet", project.ConfigFile, name,
				slices.Concat(w.ServerNames(), w.FacetNames()))
		}
		u.named[server] = version
	}
	anyFacet := len(facets) > 0 || u.all && len(w.Config.Facets)+len(w.Lock.Facets()) > 0
	done()
	var uses []consent.HostUse
	if anyFacet {
		uses = w.FacetHosts()
	}
	for _, name := range slices.Sorted(maps.Keys(w.Config.Servers)) {
		if _, named := u.named[name]; named || u.all {
			uses = append(uses, w.ServerHosts(w.Config.Servers[name])...)
		}
	}
	if err := h.RequireHostConsent(uses...); err != nil {
		return out, err
	}
	if anyFacet {
		out.Facets, err = installFacets(ctx, h, dir, o.Facets,
			facetRequest{upgrade: true, names: facets, asked: names, changeMore: u.pinOutdated})
		out.Written = out.Facets != nil && out.Facets.Written
	} else {
		out.Written, err = u.pinServersAlone(ctx, h, dir)
	}
	for _, p := range out.Servers {
		p.Written = out.Written
	}
	return out, err
}

// upgrade is an upgrade under way.
type upgrade struct {
	o     UpgradeOptions
	out   *Upgraded
	named map[string]string // servers, and the version to take or ""
	all   bool              // all servers are meant
}

// pinServersAlone upgrades servers of a project of whose facets none is meant.
func (u *upgrade) pinServersAlone(ctx context.Context, h *host.Host, dir string) (written bool, err error) {
	w, done, err := workspace.Open(ctx, h, dir, true)
	if err != nil {
		return false, err
	}
	defer done()
	logs := w.Logs(u.o.Pin.Log)
	books, err := w.Books(logs)
	if err != nil {
		return false, err
	}
	if err := demandServersRemembered(w, books); err != nil {
		return false, err
	}
	files, text, err := u.pinOutdated(ctx, w, logs)
	if err != nil || len(files) == 0 {
		return false, err
	}
	lock, err := w.Lock.Encode()
	if err != nil {
		return false, err
	}
	files = append(files, durable.File{Path: w.Path(project.LockFile), Data: lock, Perm: 0o644})
	if text != nil {
		files = append(files, durable.File{Path: w.Path(project.ConfigFile), Data: text, Perm: 0o644})
	}
	return true, w.Replace(ctx, files)
}

// pinOutdated pins the servers that are outdated. It returns the files that change, save for the
// lock, whose new entries w has; and hallmark.toml, nil if it stays.
func (u *upgrade) pinOutdated(ctx context.Context, w *workspace.Workspace,
	logs *trail.Logs) (files []durable.File, text []byte, err error) {
	for _, name := range slices.Sorted(maps.Keys(w.Config.Servers)) {
		version, named := u.named[name]
		_, locked := w.Lock.Server(name)
		switch {
		case !named && (!u.all || !locked || u.o.Facets.Offline):
			continue
		case !locked:
			return nil, nil, evidence.Errorf(evidence.Refused, name, "run 'hallmark pin' for this server first",
				errors.New("is not locked"))
		case u.o.Facets.Offline:
			return nil, nil, obtain.OfflineError(name)
		}
		status, next, err := findLatest(ctx, w, w.Config.Servers[name], version)
		if err != nil {
			return nil, nil, err
		}
		u.out.Status = append(u.out.Status, status)
		if !status.Outdated() {
			continue
		}
		p := &pin.Pinning{Workspace: w, Logs: logs, Options: u.o.Pin, Declared: next, Path: w.Host.Getenv("PATH"),
			Upgrade: true}
		more, err := p.Pin(ctx)
		if p.Result.Name != "" {
			u.out.Servers = append(u.out.Servers, &p.Result)
		}
		if err != nil {
			return nil, nil, err
		}
		files = append(files, more...)
		if text == nil {
			text = w.Text
		}
		if text, err = configedit.SetLaunch(text, next); err != nil {
			return nil, nil, err
		}
	}
	if len(files) == 0 {
		return nil, nil, nil
	}
	approvals, err := w.Approvals.Encode()
	return append(files, durable.File{Path: w.ApprovalsPath(), Data: approvals, Perm: 0o600}), text, err
}
