package project

import (
	"maps"
	"slices"

	"github.com/hallmark-mcp/hallmark/internal/machine"
)

// LockVersion is the lockfile_version that this build writes. It also reads version 2, which is sealed as a whole,
// so that two branches that change it cannot be merged, and version 1, which says less: it names no logs, so that a
// proof which was taken out of it is owed only if hallmark.toml or this machine knows of the log.
const LockVersion = 3

// MaxLock bounds hallmark.lock, in bytes.
const MaxLock = machine.MaxSealed

// Lock is hallmark.lock: what this project has accepted. Its entries are made with
// [Lock.Add] and [Lock.AddFacet] only.
type Lock struct {
	version int // as it was read; 0 of one that is new
	servers map[string]ServerLock
	facets  map[string]FacetLock
}

// Server returns the entry of the server called name.
func (l *Lock) Server(name string) (ServerLock, bool) {
	s, ok := l.servers[name]
	return s, ok
}

// Servers are the names of all entries, sorted.
func (l *Lock) Servers() []string { return slices.Sorted(maps.Keys(l.servers)) }

// IsEmpty reports whether the lock accepts nothing.
func (l *Lock) IsEmpty() bool { return len(l.servers)+len(l.facets) == 0 }

// Remove takes the entry of a server out of the lock.
func (l *Lock) Remove(name string) { delete(l.servers, name) }

// Facet returns the entry of the facet called name.
func (l *Lock) Facet(name string) (FacetLock, bool) {
	f, ok := l.facets[name]
	return f, ok
}

// Facets are the names of all facets' entries, sorted.
func (l *Lock) Facets() []string { return slices.Sorted(maps.Keys(l.facets)) }

// RemoveFacet drops the entry of a facet, if there is one.
func (l *Lock) RemoveFacet(name string) { delete(l.facets, name) }
