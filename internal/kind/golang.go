package kind

import (
	"context"

	"golang.org/x/mod/semver"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/closure"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/store"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/project"
)

// golang is a Go program, which is built from its module on this machine. Records cannot name
// modules.
var golang = ecosystem{
	kind: project.KindGo, resolver: "go", scheme: evidence.Module, Installer: closure.Go{},
	resolve: func(ctx context.Context, h *host.Host, of request, rt *project.Runtime) (*project.Closure, error) {
		return closure.ResolveGo(ctx, h, of.name, of.spec, rt)
	},
	newest: newestOfGo,
	findStart: func(of request, t *closure.Packages) (entry, mcpName string, ok bool, err error) {
		if t.Observed.Size == 0 {
			return "", "", false, nil
		}
		return of.name, "", true, nil
	},
	openRuntime: program.OpenToolchain,
	inspectRuntime: func(ctx context.Context, p *program.Program, approved *project.Runtime) error {
		return p.UseToolchain(ctx, approved)
	},
	start: func(p *program.Program, _ *workspace.Workspace, slot, _ *store.Slot, entry project.ServerLock) error {
		return p.UseBuiltProgram(slot, entry)
	},
}

// newestOfGo asks for the latest version, which may be older than the declared one.
func newestOfGo(ctx context.Context, q Query, t launcher.Target, of choice) (string, error) {
	named, spec := t.Packages[0], "latest"
	rt, err := closure.FindGo(ctx, q.Workspace, q.Workspace.Host.Getenv("PATH"))
	if err != nil {
		return "", err
	}
	if of == asDeclared {
		spec = named.Spec
	}
	resolved, err := closure.ResolveGo(ctx, q.Workspace.Host, named.Name, spec, rt)
	if err != nil {
		return "", err
	}
	found := resolved.Root.Version()
	if of == declaredOrNewer && semver.Compare(found, named.Spec) < 0 {
		found = named.Spec // what is declared is newer than what go calls the latest
	}
	return found, nil
}
