package installed

import (
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// plainNames are what clients call their directories of deliverables: a directory of such a name in any hidden
// directory counts as one, whether its client is known or not.
var plainNames = map[string]facet.Kind{
	"skills": facet.KindSkill, "skill": facet.KindSkill, "agents": facet.KindAgent, "agent": facet.KindAgent,
	"commands": facet.KindCommand, "command": facet.KindCommand,
}

// ofNoTarget are directories of projects in which clients look that are no targets, and that have other names.
var ofNoTarget = map[string]facet.Kind{
	".factory/droids": facet.KindAgent, ".amazonq/cli-agents": facet.KindAgent, ".amazonq/prompts": facet.KindCommand,
	".pi/prompts": facet.KindCommand, ".clinerules/workflows": facet.KindCommand,
	".kilocode/workflows": facet.KindCommand, ".agent/workflows": facet.KindCommand,
}

// looked has each directory of a project in which a client looks, in the spelling that all file systems compare.
var looked = sync.OnceValue(func() map[string]facet.Kind {
	all := map[string]facet.Kind{}
	add := func(dir string, kind facet.Kind) { all[spelling.Fold(dir)] = kind }
	for dir, kind := range ofNoTarget {
		add(dir, kind)
	}
	for _, t := range slices.Backward(table) {
		for _, kind := range []facet.Kind{facet.KindCommand, facet.KindAgent, facet.KindSkill} {
			for _, dir := range t.noun(kind).dirs() {
				add(dir, kind)
			}
		}
	}
	return all
})

// dirs are the directories in which the client looks for deliverables of a kind, older names included.
func (n noun) dirs() []string {
	dir, _, ok := strings.Cut(n.path, "/NAME")
	if !ok {
		return n.also
	}
	return append([]string{dir}, n.also...)
}

// IsHidden reports whether a directory's name is one in which clients keep their files.
func IsHidden(name string) bool {
	name = spelling.Fold(name)
	return strings.HasPrefix(name, ".") && name != ".git" && name != "." && name != ".."
}

// LooksIn reports what clients look for in the directory called name in one called hidden, of any directory of a
// project.
func LooksIn(hidden, name string) (facet.Kind, bool) {
	if !IsHidden(hidden) {
		return "", false
	}
	if kind, ok := looked()[spelling.Fold(path.Join(hidden, name))]; ok {
		return kind, true
	}
	kind, ok := plainNames[spelling.Fold(name)]
	return kind, ok
}

// KindDirs are the directories in which the target looks, each with what it looks for, relative to the project or to
// the home directory, with slashes.
func (t Target) KindDirs() map[string]facet.Kind {
	all := map[string]facet.Kind{}
	maps.Copy(all, t.also)
	for _, kind := range []facet.Kind{facet.KindCommand, facet.KindAgent, facet.KindSkill} {
		switch dirs := t.noun(kind).dirs(); {
		case t.dir != "":
			all[path.Join(t.dir, string(kind)+"s")] = kind
		case t.home:
			for _, dir := range dirs[:min(1, len(dirs))] { // older names belong to projects
				all[dir] = kind
			}
		default:
			for _, dir := range dirs {
				all[dir] = kind
			}
		}
	}
	return all
}
