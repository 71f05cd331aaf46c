package facets

import (
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/pin"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Outcomes of a [ServerChange].
const (
	ServerPinned    = "pinned"    // it had no entry, and gets one
	ServerUpdated   = "updated"   // its entry is replaced
	ServerOutdated  = "outdated"  // its entry would be replaced, and is not: nobody consented, or something is refused
	ServerUnchanged = "unchanged" // its entry stays
	ServerRemoved   = "removed"   // nothing declares it any more
	ServerSkipped   = "skipped"   // it is not locked, see Why
)

// OfAnother is why a server was skipped whose facet is none of those that are added: nobody consented to start it.
const OfAnother = "it is of another facet than is added"

// LeftOut is why a server was skipped whose facet was to be installed without its servers. All others
// are reached by their URLs.
const LeftOut = "--no-servers leaves it out"

// ServerChange is a server before and after an installation or an upgrade. In a dry run its outcome
// is what would become of it.
type ServerChange struct {
	Name    string
	Facet   string // that declares it, "" for one of hallmark.toml
	Outcome string
	Why     string              // it was skipped
	Before  *project.ServerLock // nil: it was not locked
	After   *project.ServerLock // nil: it is not locked; beside ServerOutdated what was found so far
	Changes []surface.Change    // of what it shows, since Before
	Unseen  bool                // a dry run did not start it, so that nobody knows what it shows
	Status  *ServerStatus       // what its source has; nil: it was not asked
}

// pinnedChange is the change of a server that was looked at. Failed means that it was refused.
func pinnedChange(s project.Server, p *pin.Pinned, status *ServerStatus, failed bool) ServerChange {
	c := ServerChange{Name: s.Name, Facet: s.Facet, Outcome: ServerPinned, Before: p.Before, Changes: p.Changes,
		Unseen: p.Unseen, Status: status}
	if p.Before != nil {
		c.Outcome = ServerUpdated
	}
	if failed {
		c.Outcome = ServerOutdated
	}
	if p.Entry.Ref != "" {
		entry := p.Entry
		c.After = &entry
	}
	return c
}

// unchangedServer is the change of a locked server whose entry stays.
func unchangedServer(s project.Server, entry project.ServerLock, status *ServerStatus) ServerChange {
	return ServerChange{Name: s.Name, Facet: s.Facet, Outcome: ServerUnchanged, Before: &entry, After: &entry,
		Status: status}
}

// sortServerChanges orders changes by the names of the servers.
func sortServerChanges(all []ServerChange) {
	slices.SortStableFunc(all, func(a, b ServerChange) int { return strings.Compare(a.Name, b.Name) })
}

// sameLaunch reports whether a server is declared as it was locked.
func sameLaunch(entry project.ServerLock, s project.Server) bool {
	return evidence.Same(entry.Launch.Digest(), s.Launch().Digest())
}
