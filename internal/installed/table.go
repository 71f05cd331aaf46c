package installed

import (
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/project"
)

// table has every target that is a client, in the order of [project.Targets].
var table = []Target{claudeCode, codex, opencode, cursor, copilot, gemini, qwen, amp, windsurf, kiro, zed}

// All returns the targets that are clients.
func All() []Target { return slices.Clone(table) }

// Find returns the target of a name that hallmark.toml may have.
func Find(name string) (t Target, ok bool) {
	if dir, ok := strings.CutPrefix(name, project.TargetDir); ok {
		return Target{Name: name, dir: dir}, true
	}
	i := slices.IndexFunc(table, func(t Target) bool { return t.Name == name })
	if i < 0 {
		return t, false
	}
	return table[i], true
}
