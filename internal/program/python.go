package program

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/closure"
	"github.com/hallmark-mcp/hallmark/internal/guard/executable"
	"github.com/hallmark-mcp/hallmark/internal/store"
	"github.com/hallmark-mcp/hallmark/internal/tool"
	"github.com/hallmark-mcp/hallmark/project"
)

// hashSeed is the variable that decides the order of python's sets. Without it the order differs
// between two starts, and so does a text that a server makes of a set.
const hashSeed = "PYTHONHASHSEED"

// fixHashSeed returns env with one hash seed if p starts python, so that a server shows the same
// wherever it is started. A declaration that names the variable keeps what it says.
func (p *Program) fixHashSeed(env []string) []string {
	python := false
	for _, image := range []*executable.Image{p.Executable, p.Interpreter} {
		python = python || image != nil && tool.IsPython(image.Path())
	}
	if _, valued := p.Values[hashSeed]; !python || valued || slices.Contains(p.Variables, hashSeed) {
		return env
	}
	return append(env, hashSeed+"=0")
}

// isolatePython returns the options that keep python from the user's packages and from modules in
// the working directory. Python before 3.11 has one option for both, which also keeps it from its
// hash seed. version is the tag of the wheels that fit it best.
func isolatePython(version string) []string {
	_, number, _ := strings.Cut(tool.PythonVersion(version), ".")
	if minor, err := strconv.Atoi(number); err != nil || minor < 11 {
		return []string{"-I"}
	}
	return []string{"-P", "-s"}
}

// UsePythonPackage makes p call the entry point of a Python package from a slot of the store. The
// program gets name as its own name.
func (p *Program) UsePythonPackage(slot *store.Slot, e project.ServerLock, name string) {
	// Isolate python from the user's packages, and write no bytecode; no variable that changes what
	// is loaded reaches it. Python finds its library by the path under which it is called.
	p.Args = slices.Concat([]string{p.Executable.Path()}, isolatePython(p.Runtime.Version),
		[]string{"-S", "-B", "-c", closure.StartPython, filepath.Join(slot.Dir(), "site-packages"), e.Entry, name},
		e.Arguments)
	p.useTree(slot, closure.Python{}, e.Variables)
}
