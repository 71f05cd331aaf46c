package kind

import (
	"context"

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

// npm is a package of npm, which node runs.
var npm = ecosystem{
	kind: project.KindNPM, resolver: "npm", language: "node", scheme: evidence.File,
	recorded: true, Installer: closure.NPM{},
	resolve: func(ctx context.Context, h *host.Host, of request, _ *project.Runtime) (*project.Closure, error) {
		return closure.ResolveNPM(ctx, h, of.name, of.spec, of.before)
	},
	releases:  releasesOf,
	listFiles: fetch.ListTarball,
	newest: func(ctx context.Context, q Query, t launcher.Target, of choice) (string, error) {
		named := t.Packages[0]
		spec := map[choice]string{asDeclared: named.Spec, declaredOrNewer: ">=" + named.Ref.Version()}[of]
		resolved, err := closure.ResolveNPM(ctx, q.Workspace.Host, named.Name, spec, q.Workspace.Cutoff())
		if err != nil {
			return "", err
		}
		return resolved.Root.Version(), nil
	},
	findStart: func(of request, t *closure.Packages) (entry, mcpName string, ok bool, err error) {
		if t.NPM == nil {
			return "", "", false, nil
		}
		entry, err = closure.EntryScript(t.NPM, of.bin)
		return entry, t.NPM.MCPName, true, err
	},
	openRuntime: func(ctx context.Context, w *workspace.Workspace, server string, approval project.Approval,
		open process.Opener) (*program.Program, error) {
		return program.OpenInterpreter(ctx, w, server, approval, closure.FindNode, open)
	},
	start: func(p *program.Program, w *workspace.Workspace, slot, _ *store.Slot, entry project.ServerLock) error {
		return p.UseNodePackage(slot, entry, w.Host.Getenv("HOME"))
	},
}
