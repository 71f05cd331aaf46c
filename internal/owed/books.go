package owed

import (
	"maps"
	"slices"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/machine"
	"github.com/hallmark-mcp/hallmark/project"
)

// Books are the records that decide what is owed: the project's files, and what this machine
// remembers.
type Books struct {
	Config *project.Config
	Lock   *project.Lock
	Memory *project.Approvals
	Logs   *machine.Logs // of which this machine accepted the keys; nil: none
	// LogKey is the key of the registry's log that the caller named, RequireLock what it
	// demands of a server, even one that hallmark.toml leaves unlocked.
	LogKey      string
	RequireLock bool

	brought map[string][]string // by facet, the locked facets that bring it along
	sizes   map[string]int64    // by key, of the newest checkpoints that this machine keeps
}

// Open returns the books. memory must not be nil; logs may be.
func Open(config *project.Config, lock *project.Lock, memory *project.Approvals, logs *machine.Logs) Books {
	b := Books{Config: config, Lock: lock, Memory: memory, Logs: logs, brought: map[string][]string{}}
	b.findBrought()
	if logs != nil {
		b.sizes = map[string]int64{}
		for key := range logs.Checkpoints {
			if s, ok := logs.Newest(key); ok {
				b.sizes[key] = s.Size
			}
		}
	}
	return b
}

// findBrought finds the facets that the declared ones compose, directly or through others. Locked
// facets that only compose each other are not among them.
func (b Books) findBrought() {
	seen := map[string]bool{}
	round := slices.Sorted(maps.Keys(b.Config.Facets))
	for len(round) > 0 {
		var next []string
		for _, name := range round {
			entry, ok := b.Lock.Facet(name)
			if seen[name] || !ok {
				continue
			}
			seen[name] = true
			for other := range entry.Composes {
				if other != name {
					b.brought[other] = append(b.brought[other], name)
					next = append(next, other)
				}
			}
		}
		round = next
	}
	for _, by := range b.brought {
		slices.Sort(by)
	}
}

// Names of the files that a person restores.
const (
	lockFile   = project.LockFile
	configFile = project.ConfigFile
)

// Servers returns the names of all servers that are declared or locked, and of those that this
// machine approved and a facet may declare, sorted.
func (b Books) Servers() []string {
	names := slices.AppendSeq(b.Lock.Servers(), maps.Keys(b.Config.Servers))
	for name, approval := range b.Memory.Servers {
		if b.mayDeclare(approval.Facet, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Facets returns the names of all facets that are declared, locked or composed by a locked one,
// sorted.
func (b Books) Facets() []string {
	names := slices.AppendSeq(b.Lock.Facets(), maps.Keys(b.Config.Facets))
	names = slices.AppendSeq(names, maps.Keys(b.brought))
	slices.Sort(names)
	return slices.Compact(names)
}

// Bringing returns the locked facets that compose a facet, sorted.
func (b Books) Bringing(facet string) []string { return b.brought[facet] }

// declares reports whether hallmark.toml declares a facet, or a locked one composes it.
func (b Books) declares(facet string) bool {
	_, ok := b.Config.Facets[facet]
	return ok || len(b.brought[facet]) > 0
}

// Withdrawn returns the names of servers that this machine approved as those of a facet, and that the facet does not
// declare any more as it is installed here.
func (b Books) Withdrawn() (names []string) {
	for name, approval := range b.Memory.Servers {
		accepted, ok := b.Memory.Facets[approval.Facet]
		if ok && b.declares(approval.Facet) && accepted.Servers != nil && !slices.Contains(accepted.Servers, name) {
			names = append(names, name)
		}
	}
	return names
}

// mayDeclare reports whether a facet may declare a server that this machine approved as one of it; "" never does.
// What is installed here says which servers it declares. One that is locked with other contents need not declare
// them any more.
func (b Books) mayDeclare(facet, server string) bool {
	if facet == "" || !b.declares(facet) {
		return false
	}
	entry, locked := b.Lock.Facet(facet)
	accepted, ok := b.Memory.Facets[facet]
	if !ok {
		return true
	}
	return (!locked || evidence.Same(entry.Integrity, accepted.Integrity)) &&
		(accepted.Servers == nil || slices.Contains(accepted.Servers, server))
}
