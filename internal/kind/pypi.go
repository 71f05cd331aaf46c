package kind

import (
	"context"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/closure"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/guard/process"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/store"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/project"
)

// pypi is a package of PyPI, which python runs.
var pypi = ecosystem{
	kind: project.KindPyPI, resolver: "the package index", language: "python", scheme: evidence.File, recorded: true,
	Installer: closure.Python{},
	resolve:   resolvePython,
	releases:  releasesOf,
	listFiles: fetch.ListWheel,
	newest:    newestOfPyPI,
	findStart: func(of request, t *closure.Packages) (entry, mcpName string, ok bool, err error) {
		if t.Wheel == nil {
			return "", "", false, nil
		}
		entry, err = t.EntryPoint(of.bin)
		return entry, t.Wheel.MCPName, true, err
	},
	openRuntime: openPython, others: closure.OtherPythons, compile: program.CompilePython,
	ignoreBytecode: (*program.Program).IgnoreBytecode,
	start: func(p *program.Program, _ *workspace.Workspace, slot, bytecode *store.Slot,
		entry project.ServerLock) error {
		name := entry.Ref
		if ref, err := artifact.Parse(entry.Ref); err == nil {
			name = ref.Name()
		}
		p.UsePythonPackage(slot, bytecode, entry, name)
		return nil
	},
}

func resolvePython(ctx context.Context, h *host.Host, of request, rt *project.Runtime) (*project.Closure, error) {
	return closure.ResolvePython(ctx, h, of.name, of.requirements, of.before, rt)
}

// openPython opens the approved python, or the one in the path.
func openPython(ctx context.Context, w *workspace.Workspace, server string, approval project.Approval,
	open process.Opener) (*program.Program, error) {
	return program.OpenInterpreter(ctx, w, server, approval, closure.FindPython, open)
}

// newestOfPyPI resolves the package together with the further requirements of its declaration.
func newestOfPyPI(ctx context.Context, q Query, t launcher.Target, of choice) (string, error) {
	var with []string
	for i, p := range t.Packages {
		requirement := p.Requirement()
		switch {
		case i == 0 && of == declaredOrNewer:
			requirement = strings.Replace(requirement, "==", ">=", 1)
		case i == 0 && of == anyVersion:
			if at := strings.IndexAny(requirement, "<>=!~ "); at >= 0 {
				requirement = requirement[:at]
			}
		}
		with = append(with, requirement)
	}
	python := ecosystem{openRuntime: openPython, others: closure.OtherPythons, resolve: resolvePython}
	prog, resolved, err := python.openAndResolve(ctx, q.Workspace, q.Server.Name, q.Workspace.Host.Getenv("PATH"),
		request{name: t.Packages[0].Name, requirements: with, before: q.Workspace.Cutoff(), python: chosenPython(t)},
		host.KeptOf[process.Seen](q.Workspace.Host.Kept).Look)
	if prog != nil {
		defer prog.Close()
	}
	if err != nil {
		return "", err
	}
	return resolved.Root.Version(), nil
}
