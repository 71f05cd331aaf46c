package installed

import (
	"os"

	"github.com/hallmark-mcp/hallmark/internal/adapter"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
)

// Targets are the targets of hallmark.toml, or those whose clients are used in the project.
func Targets(w *workspace.Workspace) []string {
	if w.Config.Targets != nil {
		return w.Config.Targets
	}
	var found []string
	for _, t := range adapter.All() {
		for _, mark := range t.Marks {
			if _, err := os.Lstat(w.Path(mark)); err == nil {
				found = append(found, t.Name)
				break
			}
		}
	}
	return found
}

// adapters are the targets of the project with what package adapter knows of them.
func adapters(w *workspace.Workspace) (all []adapter.Target) {
	for _, name := range Targets(w) {
		if t, ok := adapter.Find(name); ok { // hallmark.toml has no others
			all = append(all, t)
		}
	}
	return all
}
