package kind

import (
	"fmt"
	"os"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/surface"
)

// refuseWrapper refuses a program that package launcher does not know and whose arguments name another
// program, which it may start. own says that it is a file of the project, whose code was approved: its
// arguments may name programs of the machine, but none that runs other code.
func refuseWrapper(p *program.Program, w *workspace.Workspace, command string, words []string, own bool) error {
	for i, word := range words {
		name, line := word, false
		if fields := strings.Fields(word); len(fields) > 1 {
			name, line = fields[0][strings.LastIndexAny(fields[0], "=:!'\"")+1:], true
		}
		if name == "" || name[0] == '-' {
			continue
		}
		found, ok := findProgram(p, w, name)
		value := i > 0 && strings.HasPrefix(words[i-1], "-") && !strings.Contains(words[i-1], "=")
		switch {
		case !ok:
		case launcher.RunsOtherCode(name) || launcher.RunsOtherCode(found):
			return wrapperError(p, command, name)
		case own || line || w.Contains(found): // it is hashed, or a word of a text
		case value && !strings.ContainsAny(name, `/\`): // as in "--log-level info"
		default:
			return wrapperError(p, command, name)
		}
	}
	return nil
}

// wrapperError says that command may start the program called name.
func wrapperError(p *program.Program, command, name string) error {
	return evidence.Errorf(evidence.Refused, p.Server,
		"name what it starts in 'command' itself; "+
			"a value of its own that is called as a program is written --option=value",
		fmt.Errorf("%s may start %s, which its arguments name and no hash covers", surface.Escape(command),
			surface.Escape(name)))
}

// findProgram returns the path of the executable that a word names, by its path or through PATH.
func findProgram(p *program.Program, w *workspace.Workspace, name string) (string, bool) {
	if !strings.ContainsAny(name, `/\`) {
		found, err := workspace.FindIn(p.Path, name)
		if err != nil {
			return "", false
		}
		return host.RealPath(found), true
	}
	file := w.Absolute(w.Dir, name)
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() || !isMachineProgram(file, info) {
		return "", false
	}
	return host.RealPath(file), true
}
