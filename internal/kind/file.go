package kind

import (
	"context"
	"errors"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/closure"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/project"
)

// ResolveFile resolves the package ref, which lies in a file on this machine and which no registry need have: it and what it
// depends on are installed as those of a server that is pinned. The workspace of d fetches with that file in its place, see
// [fetch.Client.WithFiles]; the command of d's server is not looked at.
func ResolveFile(ctx context.Context, d Declaration, ref artifact.Ref, file string) (Resolved, error) {
	var k ecosystem
	switch ref.Kind() {
	case artifact.NPM:
		k = npm
		k.resolve = func(ctx context.Context, h *host.Host, _ request, _ *project.Runtime) (*project.Closure, error) {
			return closure.ResolveNPMFile(ctx, h, ref, file)
		}
		k.findStart = func(of request, t *closure.Packages) (entry, mcpName string, ok bool, err error) {
			v, err := fetch.ReadNPMTarball(t.OwnFile())
			if err != nil {
				return "", "", false, evidence.Errorf(evidence.Validation, file, "", err)
			}
			entry, err = closure.EntryScript(v, of.bin)
			return entry, v.MCPName, true, err
		}
		d.Server.Command, d.Server.Arguments = "npx", append([]string{"-y", ref.Name() + "@" + ref.Version()}, d.Server.Arguments...)
	case artifact.PyPI:
		k = pypi
		k.resolve = func(ctx context.Context, h *host.Host, _ request, rt *project.Runtime) (*project.Closure, error) {
			return closure.ResolvePythonFile(ctx, h, ref, file, rt)
		}
		d.Server.Command, d.Server.Arguments = "uvx", append([]string{ref.Name() + "@" + ref.Version()}, d.Server.Arguments...)
	default:
		return Resolved{}, evidence.Errorf(evidence.Validation, file, "'hallmark surface capture -- COMMAND' starts what you built yourself",
			errors.New("is neither a tarball of npm nor a wheel"))
	}
	k.releases, k.recorded = nil, false
	return k.Resolve(ctx, d)
}
