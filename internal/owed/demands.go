package owed

import (
	"maps"
	"slices"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/machine"
	"github.com/hallmark-mcp/hallmark/project"
)

// Demands decide what is owed, from the project's files and what this machine remembers. Each method
// that returns a [List] says what is owed for one server or facet.
type Demands struct {
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

// New returns the demands. memory must not be nil; logs may be.
func New(config *project.Config, lock *project.Lock, memory *project.Approvals, logs *machine.Logs) Demands {
	d := Demands{Config: config, Lock: lock, Memory: memory, Logs: logs, brought: map[string][]string{}}
	d.findBrought()
	if logs != nil {
		d.sizes = map[string]int64{}
		for key := range logs.Checkpoints {
			if s, ok := logs.Newest(key); ok {
				d.sizes[key] = s.Size
			}
		}
	}
	return d
}

// findBrought finds the facets that the declared ones compose, directly or through others. Locked
// facets that only compose each other are not among them.
func (d Demands) findBrought() {
	seen := map[string]bool{}
	round := slices.Sorted(maps.Keys(d.Config.Facets))
	for len(round) > 0 {
		var next []string
		for _, name := range round {
			entry, ok := d.Lock.Facet(name)
			if seen[name] || !ok {
				continue
			}
			seen[name] = true
			for other := range entry.Composes {
				if other != name {
					d.brought[other] = append(d.brought[other], name)
					next = append(next, other)
				}
			}
		}
		round = next
	}
	for _, by := range d.brought {
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
func (d Demands) Servers() []string {
	names := slices.AppendSeq(d.Lock.Servers(), maps.Keys(d.Config.Servers))
	for name, approval := range d.Memory.Servers {
		if d.mayDeclare(approval.Facet, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Facets returns the names of all facets that are declared, locked or composed by a locked one,
// sorted.
func (d Demands) Facets() []string {
	names := slices.AppendSeq(d.Lock.Facets(), maps.Keys(d.Config.Facets))
	names = slices.AppendSeq(names, maps.Keys(d.brought))
	slices.Sort(names)
	return slices.Compact(names)
}

// Bringing returns the locked facets that compose a facet, sorted.
func (d Demands) Bringing(facet string) []string { return d.brought[facet] }

// declares reports whether hallmark.toml declares a facet, or a locked one composes it.
func (d Demands) declares(facet string) bool {
	_, ok := d.Config.Facets[facet]
	return ok || len(d.brought[facet]) > 0
}

// Withdrawn returns the names of servers that this machine approved as those of a facet, and that the facet does not
// declare any more as it is installed here.
func (d Demands) Withdrawn() (names []string) {
	for name, approval := range d.Memory.Servers {
		accepted, ok := d.Memory.Facets[approval.Facet]
		if ok && d.declares(approval.Facet) && accepted.Servers != nil && !slices.Contains(accepted.Servers, name) {
			names = append(names, name)
		}
	}
	return names
}

// mayDeclare reports whether a facet may declare a server that this machine approved as one of it; "" never does.
// What is installed here says which servers it declares. One that is locked with other contents need not declare
// them any more.
func (d Demands) mayDeclare(facet, server string) bool {
	if facet == "" || !d.declares(facet) {
		return false
	}
	entry, locked := d.Lock.Facet(facet)
	accepted, ok := d.Memory.Facets[facet]
	if !ok {
		return true
	}
	return (!locked || evidence.Same(entry.Integrity, accepted.Integrity)) &&
		(accepted.Servers == nil || slices.Contains(accepted.Servers, server))
}
