package facets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/facet"
	"github.com/hallmark-mcp/hallmark/internal/closure"
	"github.com/hallmark-mcp/hallmark/internal/consent"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/lockentry"
	"github.com/hallmark-mcp/hallmark/internal/obtain"
	"github.com/hallmark-mcp/hallmark/internal/pin"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/record"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/client"
	"github.com/hallmark-mcp/hallmark/internal/tool"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/project"
)

// ServerStatus is a server of a project beside what its source has now. Versions are those
// of a package or a record, or the digest of an image.
type ServerStatus struct {
	Name     string
	Declared string              // command and arguments, or what stands in place of a command
	Locked   *project.ServerLock // nil: not locked
	Current  string              // that is locked; empty if it is not, or has no version
	Wanted   string              // that an upgrade takes; empty if the source has no versions
	Newest   string              // of all

	kind artifact.Kind // whose order its versions have
}

// Outdated reports whether there is something that an upgrade would take.
func (s ServerStatus) Outdated() bool { return s.Wanted != "" && s.Wanted != s.Current }

// Rollback reports whether what an upgrade takes is older than what is locked: it was named
// so, or newer versions were taken back or are hidden.
func (s ServerStatus) Rollback() bool {
	return s.Outdated() && artifact.IsOlder(s.kind, s.Wanted, s.Current)
}

func serverStatus(w *workspace.Workspace, s project.Server) ServerStatus {
	out := ServerStatus{Name: s.Name, Declared: strings.Join(append([]string{cmp.Or(s.Command, s.Record, s.Source, s.URL, s.Facet)}, s.Arguments...), " ")}
	entry, ok := w.Lock.Server(s.Name)
	if !ok {
		return out
	}
	out.Locked = &entry
	_, out.Current, out.kind = pin.VersionOf(entry)
	return out
}

// findLatest asks the source of a server what it has now, or takes version where that is not
// empty. An exact version in the declaration is moved: next is how the server is declared
// then. A range or a tag stays, and is resolved anew.
func findLatest(ctx context.Context, w *workspace.Workspace, s project.Server, version string) (status ServerStatus, next project.Server, err error) {
	status, next = serverStatus(w, s), s
	if s.Record != "" {
		name, _, _ := host.CutLast(s.Record, "@")
		if status.Newest, err = latestRecord(ctx, w, name, version); err != nil {
			return status, next, err
		}
		status.Wanted, next.Record = status.Newest, name+"@"+status.Newest
		return status, next, nil
	}
	t := launcher.Parse(s.Command, s.Arguments)
	switch {
	case lockentry.RunsImage(t) && version == "" && !t.Packages[0].Pinned():
		named := t.Packages[0]
		d, err := w.Host.Fetch.FetchTag(ctx, named.Repository(), lockentry.TagOf(named))
		if err != nil {
			return status, next, host.NoAnswer("oci:"+named.Text, err)
		}
		defer d.Close()
		status.Wanted = d.Observed.SHA256().String()
		status.Newest = status.Wanted
		return status, next, nil
	case !lockentry.Downloads(t, s.Arguments):
		if version != "" {
			err = evidence.Errorf(evidence.Validation, s.Name, "write it into "+project.ConfigFile+", then run 'hallmark pin "+s.Name+"'",
				errors.New("is no package whose version could be set"))
		} else if s.Source != "" {
			status.Wanted, status.Newest, err = latestSource(ctx, w, s)
		}
		return status, next, err // nobody has a newer one of the others
	}
	exact := t.Packages[0].Pinned() || version != ""
	if status.Wanted = version; version == "" {
		f := asDeclared
		if exact {
			f = declaredOrNewer
		}
		if status.Wanted, err = resolveVersion(ctx, w, s, t, f); err != nil {
			return status, next, err
		}
	}
	if status.Newest = status.Wanted; !exact {
		status.Newest, err = resolveVersion(ctx, w, s, t, anyVersion)
		return status, next, err
	}
	versions := make([]string, len(t.Packages))
	versions[0] = status.Wanted
	arguments, ok := t.Spell(versions...)
	if !ok {
		return status, next, evidence.Errorf(evidence.Refused, s.Name, "", fmt.Errorf("its command line cannot name the version %+q", status.Wanted))
	}
	next.Arguments = arguments
	return status, next, nil
}

// latestSource is the newest version that the floor of a server packed from source allows,
// and the newest of all.
func latestSource(ctx context.Context, w *workspace.Workspace, s project.Server) (wanted, newest string, err error) {
	name, floor, err := project.ParseSourceName(s.Source)
	if err != nil {
		return "", "", evidence.Errorf(evidence.Validation, s.Name, "", err)
	}
	upstream := w.Registry()
	if upstream == nil {
		return "", "", workspace.NoRegistryError(name)
	}
	all, err := upstream.ArchiveVersions(ctx, string(ledger.Artifact), name)
	if err != nil {
		return "", "", client.ExplainAnswer(name, evidence.Operation, err)
	}
	active := obtain.ActiveVersions(all)
	wanted, _ = floor.Newest(active)
	free, err := facet.ParseRequirement("*")
	newest, _ = free.Newest(active)
	return wanted, newest, err
}

func latestRecord(ctx context.Context, w *workspace.Workspace, name, version string) (string, error) {
	if version != "" {
		return version, nil // which the pin finds, or not
	}
	client := w.Registry()
	if client == nil {
		return "", workspace.NoRegistryError(name)
	}
	envelope, err := client.Get(ctx, name, registry.Latest)
	if err != nil {
		return "", host.NoAnswer(name, err)
	}
	r, err := record.FromEnvelope(w, *envelope)
	if err != nil {
		return "", err
	}
	return r.Document.Version, nil
}

// What is asked of a resolver.
type versionChoice int

const (
	asDeclared      versionChoice = iota // what is declared
	declaredOrNewer                      // what is declared exactly, or a newer version
	anyVersion                           // any version
)

// resolveVersion is the version that the ecosystem's own resolver finds for what t names.
func resolveVersion(ctx context.Context, w *workspace.Workspace, s project.Server, t launcher.Target, f versionChoice) (string, error) {
	of := t.Packages[0]
	defer w.Host.Announce("asking %s for the newest version of %s", pin.Request{From: of.Ecosystem}.RegistryName(), s.Name)()
	if of.Ecosystem == launcher.NPM {
		spec := map[versionChoice]string{asDeclared: of.Spec, declaredOrNewer: ">=" + of.Ref.Version()}[f]
		closure, err := closure.ResolveNPM(ctx, w.Host, of.Name, spec)
		if err != nil {
			return "", err
		}
		return closure.Root.Version(), nil
	}
	if of.Ecosystem == launcher.Go {
		rt, err := tool.FindGo(ctx, w, w.Host.Getenv("PATH"))
		if err != nil {
			return "", err
		}
		spec := "latest"
		if f == asDeclared {
			spec = of.Spec
		}
		closure, err := closure.ResolveGo(ctx, w.Host, of.Name, spec, rt)
		if err != nil {
			return "", err
		}
		found := closure.Root.Version()
		if f == declaredOrNewer && semver.Compare(found, of.Spec) < 0 {
			found = of.Spec // what is declared is newer than what go calls the latest
		}
		return found, nil
	}
	var with []string
	for i, p := range t.Packages {
		requirement := p.Requirement()
		switch {
		case i == 0 && f == declaredOrNewer:
			requirement = strings.Replace(requirement, "==", ">=", 1)
		case i == 0 && f == anyVersion:
			if at := strings.IndexAny(requirement, "<>=!~ "); at >= 0 {
				requirement = requirement[:at]
			}
		}
		with = append(with, requirement)
	}
	prog, err := program.OpenPackageRuntime(ctx, w, s.Name, project.EngineUV, project.Approval{Path: w.Host.Getenv("PATH")})
	if prog != nil {
		defer prog.Close()
	}
	if err != nil {
		return "", err
	}
	closure, err := closure.ResolvePython(ctx, w.Host, of.Name, with, prog.Runtime)
	if err != nil {
		return "", err
	}
	return closure.Root.Version(), nil
}

// UpgradeOptions say how to upgrade.
type UpgradeOptions struct {
	Facets Options     // with Dry nothing is written, of servers neither
	Pin    pin.Options // Confirm is told of each server; with Dry its answer does not count
	// Show is told what would change of facets before anything is written; an error of it
	// calls the upgrade off.
	Show func(*Installation) error
}

// Upgraded is what [Upgrade] took.
type Upgraded struct {
	Facets  *Installation  // nil if no facet was meant
	Status  []ServerStatus // of all servers that were meant
	Servers []*pin.Pinned  // of those that are outdated
	Written bool
}

// Upgrade resolves the named facets and servers anew, or all of the project. A server may
// be named "NAME@VERSION". What a package or a record is pinned to in hallmark.toml is set
// to the version that is taken; each server is pinned as [Pin] does, with its consent. All
// of it is written, or nothing.
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
			return out, project.NoSuch("server or facet", project.ConfigFile, name, slices.Concat(w.ServerNames(), w.FacetNames()))
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
	if err := h.MayAsk(uses...); err != nil {
		return out, err
	}
	if anyFacet {
		out.Facets, err = installFacets(ctx, h, dir, o.Facets, facetRequest{upgrade: true, names: facets, show: o.Show, also: u.pinOutdated})
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
	w.LogOptions = u.o.Pin.Log
	books, err := w.Books()
	if err != nil {
		return false, err
	}
	if err := demandServersRemembered(w, books); err != nil {
		return false, err
	}
	files, text, err := u.pinOutdated(ctx, w)
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

// pinOutdated pins those that are outdated. It returns the files that change, save for the
// lock, whose new entries w has; and hallmark.toml, nil if it stays.
func (u *upgrade) pinOutdated(ctx context.Context, w *workspace.Workspace) (files []durable.File, text []byte, err error) {
	w.LogOptions = u.o.Pin.Log
	for _, name := range slices.Sorted(maps.Keys(w.Config.Servers)) {
		version, named := u.named[name]
		_, locked := w.Lock.Server(name)
		switch {
		case !named && (!u.all || !locked || u.o.Facets.Offline):
			continue
		case !locked:
			return nil, nil, evidence.Errorf(evidence.Refused, name, "run 'hallmark pin' for this server first", errors.New("is not locked"))
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
		p := &pin.Pinning{Workspace: w, Options: u.o.Pin, Declared: next, Path: w.Host.Getenv("PATH"), Upgrade: true}
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
		if text, err = project.SetLaunch(text, next); err != nil {
			return nil, nil, err
		}
	}
	if len(files) == 0 {
		return nil, nil, nil
	}
	approvals, err := w.Approvals.Encode()
	return append(files, durable.File{Path: w.ApprovalsPath(), Data: approvals, Perm: 0o600}), text, err
}
