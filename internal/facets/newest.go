package facets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/facet"
	"github.com/hallmark-mcp/hallmark/internal/closure"
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

// serverStatus is the status of a server as far as the project tells it.
func serverStatus(w *workspace.Workspace, s project.Server) ServerStatus {
	out := ServerStatus{Name: s.Name,
		Declared: strings.Join(append([]string{cmp.Or(s.Command, s.Record, s.Source, s.URL, s.Facet)}, s.Arguments...),
			" ")}
	entry, ok := w.Lock.Server(s.Name)
	if !ok {
		return out
	}
	out.Locked = &entry
	_, out.Current, out.kind = pin.VersionOf(entry)
	return out
}

// findLatest asks the source of a server what it has now, or takes version if that is not empty.
// An exact version in the declaration is replaced: next is the server with its new declaration. A
// range or a tag stays, and is resolved anew.
func findLatest(ctx context.Context, w *workspace.Workspace,
	s project.Server, version string) (status ServerStatus, next project.Server, err error) {
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
			err = evidence.Errorf(evidence.Validation, s.Name, "write it into "+project.ConfigFile+
				", then run 'hallmark pin "+s.Name+"'",
				errors.New("is no package whose version could be set"))
		} else if s.Source != "" {
			status.Wanted, status.Newest, err = latestSource(ctx, w, s)
		}
		return status, next, err // the others have no source of newer versions
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
		return status, next, evidence.Errorf(evidence.Refused, s.Name, "",
			fmt.Errorf("its command line cannot name the version %+q", status.Wanted))
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

// latestRecord is the newest version of a record, or version if that is not empty.
func latestRecord(ctx context.Context, w *workspace.Workspace, name, version string) (string, error) {
	if version != "" {
		return version, nil // pinning finds out whether there is such a version
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

// versionChoice says which version a resolver is to find.
type versionChoice int

const (
	asDeclared      versionChoice = iota // what is declared
	declaredOrNewer                      // what is declared exactly, or a newer version
	anyVersion                           // any version
)

// resolveVersion is the version that the ecosystem's own resolver finds for what t names.
func resolveVersion(ctx context.Context, w *workspace.Workspace, s project.Server, t launcher.Target,
	f versionChoice) (string, error) {
	of := t.Packages[0]
	defer w.Host.Announce("asking %s for the newest version of %s", pin.Request{From: of.Ecosystem}.RegistryName(),
		s.Name)()
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
			found = of.Spec // the declared version is newer than the one that go calls the latest
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
	prog, err := program.OpenPackageRuntime(ctx, w, s.Name, project.EngineUV,
		project.Approval{Path: w.Host.Getenv("PATH")})
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
