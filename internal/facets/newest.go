package facets

import (
	"cmp"
	"context"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/kind"
	"github.com/hallmark-mcp/hallmark/internal/obtain"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// ServerStatus is a server of a project beside what its source has now. Versions are those
// of a package or a record, or the digest of an image.
type ServerStatus struct {
	Name     string
	Facet    string              // that declares it, "" for hallmark.toml
	Declared string              // command and arguments, or what is there in place of a command
	Locked   *project.ServerLock // nil: not locked
	Current  string              // that is locked; empty if it is not, or has no version
	Wanted   string              // that an upgrade takes; empty if the source has no versions
	Newest   string              // of all

	// What the package registry says of the versions that are locked and wanted; nil where it does not say.
	CurrentRelease, WantedRelease *fetch.Release

	order artifact.Kind // whose order its versions have
}

// Outdated reports whether there is something that an upgrade would take.
func (s ServerStatus) Outdated() bool { return s.Wanted != "" && s.Wanted != s.Current }

// Rollback reports whether what an upgrade takes is older than what is locked: it was named
// so, or newer versions were taken back or are hidden.
func (s ServerStatus) Rollback() bool {
	return s.Outdated() && artifact.IsOlder(s.order, s.Wanted, s.Current)
}

// serverStatus is the status of a server as far as the project tells it.
func serverStatus(w *workspace.Workspace, s project.Server) ServerStatus {
	out := ServerStatus{Name: s.Name, Facet: s.Facet,
		Declared: strings.Join(append([]string{cmp.Or(s.Command, s.Record, s.Source, s.URL, s.Facet)}, s.Arguments...),
			" ")}
	entry, ok := w.Lock.Server(s.Name)
	if !ok {
		return out
	}
	out.Locked = &entry
	is := kind.VersionOf(entry)
	out.Current, out.order = is.Version, is.Order
	return out
}

// findLatest asks the source of a server what it has now, or takes version if that is not empty.
// An exact version in the declaration is replaced: next is the server with its new declaration. A
// range or a tag stays, and is resolved anew. The declaration of a facet is its author's: an exact
// version in it stays.
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
	found, err := kind.Of(s.Kind()).Latest(ctx, kind.Query{Workspace: w, Server: s, Version: version})
	status.Wanted, status.Newest = found.Wanted, found.Newest
	if status.Locked != nil && err == nil {
		status.CurrentRelease, status.WantedRelease, err = kind.AskReleases(ctx, w.Host, *status.Locked, found.Wanted)
	}
	if s.Facet != "" && err == nil && !evidence.Same(found.Next.Launch().Digest(), s.Launch().Digest()) {
		status.Wanted = status.Current
		return status, s, nil
	}
	return status, found.Next, err
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
	r, err := obtain.RecordFromEnvelope(w, *envelope)
	if err != nil {
		return "", err
	}
	return r.Document.Version, nil
}
