package owed

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// FromMemory returns what is owed where hallmark.toml itself is gone from a project in which this machine
// accepted something: all of that, sorted by name. One declaration less is a reviewed change of a
// file that goes on saying what the project locks; without the file nobody says anything, and
// whoever took it away would have turned the rest off. Forget is the command that gives one up,
// before its name: "hallmark forget ".
func FromMemory(memory *project.Approvals, forget string) List {
	var l List
	add := func(name string, scheme evidence.Scheme, why string) {
		l = append(l, Expectation{
			Claim: evidence.Claim{Subject: name, Scheme: scheme, Authority: evidence.Lock, Where: lockFile},
			By:    evidence.Machine,
			Why:   why + ", and " + configFile + " is gone",
			Fix: fmt.Sprintf("restore %s and %s from version control; or give it up with '%s%s'",
				configFile, lockFile, forget, surface.Escape(name)),
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
