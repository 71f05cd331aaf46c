package program

import (
	"path/filepath"

	"github.com/hallmark-mcp/hallmark/internal/closure"
	"github.com/hallmark-mcp/hallmark/internal/store"
	"github.com/hallmark-mcp/hallmark/project"
)

// UsePythonPackage makes p call the entry point of a Python package from a slot of the store. The
// program gets name as its own name.
func (p *Program) UsePythonPackage(slot *store.Slot, e project.ServerLock, name string) {
	// Isolate python from the environment and the user's packages, and write no bytecode. Python
	// finds its library by the path under which it is called.
	p.Args = append([]string{p.Executable.Path(), "-I", "-S", "-B", "-c", closure.StartPython,
		filepath.Join(slot.Dir(), "site-packages"), e.Entry, name}, e.Arguments...)
	p.useTree(slot, closure.Python{}, e.Variables)
}
