package owed

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// FromMemory returns what is owed if hallmark.toml itself is gone from a project in which this
// machine accepted something: everything that it accepted, sorted by name. Removing one declaration
// is a change that a review shows. Removing the file would turn off all its rules at once, so it is
// refused. forget is the command that gives something up, up to what: "hallmark forget ".
func FromMemory(memory *project.Approvals, forget string) List {
	var l List
	add := func(name string, scheme evidence.Scheme, why string) {
		l = append(l, Expectation{
			Claim: evidence.Claim{Subject: name, Scheme: scheme, Authority: evidence.Lock, Where: lockFile},
			By:    evidence.Machine,
			Why:   why + ", and " + configFile + " is gone",
			Fix: fmt.Sprintf("restore %s and %s from version control; or give it up with '%s%s', or all with '%s--all'",
				configFile, lockFile, forget, surface.Escape(name), forget),
		})
	}
	for _, name := range slices.Sorted(maps.Keys(memory.Servers)) {
		add(name, evidence.Launch, "an entry was approved on this machine at "+formatTime(memory.Servers[name].At))
	}
	for _, name := range slices.Sorted(maps.Keys(memory.Unlocked)) {
		if _, ok := memory.Servers[name]; !ok {
			add(name, evidence.Launch,
				"its launch without a lock entry was approved on this machine at "+formatTime(memory.Unlocked[name].At))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(memory.Facets)) {
		add(name, evidence.Source, whenInstalled(memory.Facets[name]))
	}
	return l
}
