package kind

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/closure"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/wire"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// ResolveFile resolves the package ref, which lies in a file on this machine and which no registry need have: it and
// what it depends on are installed as those of a server that is pinned. The workspace of d fetches with that file in
// its place, see [fetch.Client.WithFiles]; the command of d's server is not looked at. bin is the executable to start,
// "" for the one that is meant.
func ResolveFile(ctx context.Context, d Declaration, ref artifact.Ref, file, bin string) (Resolved, error) {
	var k ecosystem
	var words []string
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
			if entry, err = closure.EntryScript(v, of.bin); err == nil {
				err = checkScript(d.Workspace.Host, t.OwnFile(), strings.TrimPrefix(entry, "node_modules/"+v.Name+"/"))
			}
			return entry, v.MCPName, true, err
		}
		named := ref.Name() + "@" + ref.Version()
		if d.Server.Command, words = "npx", []string{"-y", named}; bin != "" {
			words = []string{"-y", "-p", named, bin}
		}
	case artifact.PyPI:
		k = pypi
		k.resolve = func(ctx context.Context, h *host.Host, _ request, rt *project.Runtime) (*project.Closure, error) {
			return closure.ResolvePythonFile(ctx, h, ref, file, rt)
		}
		named := ref.Name() + "==" + ref.Version()
		if d.Server.Command, words = "uvx", []string{named}; bin != "" {
			words = []string{"--from", named, bin}
		}
	default:
		return Resolved{}, evidence.Errorf(evidence.Validation, file, "'hallmark surface capture -- COMMAND' starts "+
			"what you built yourself",
			errors.New("is neither a tarball of npm nor a wheel"))
	}
	d.Server.Arguments = append(words, d.Server.Arguments...)
	find := k.findStart
	k.findStart = func(of request, t *closure.Packages) (entry, mcpName string, ok bool, err error) {
		entry, mcpName, ok, err = find(of, t)
		if failed := new(evidence.Error); entry == "" && errors.As(err, &failed) {
			failed.Hint = "name the executable to start: --bin NAME" // and not the launcher's option for it
		}
		return entry, mcpName, ok, err
	}
	k.releases, k.recorded = nil, false
	return k.Resolve(ctx, d)
}

// maxFirstLine bounds a script whose first line is looked at, in bytes.
const maxFirstLine = 64 << 20

// checkScript refuses a script that a tarball of npm does not hold, and warns of one that npx would not start with
// node, as we do.
func checkScript(h *host.Host, tarball, script string) error {
	text, err := fetch.ReadNPMFile(tarball, script, maxFirstLine)
	if err != nil {
		return evidence.Errorf(evidence.Validation, script, "see bin and files in package.json",
			fmt.Errorf("is what bin names, and cannot be read: %w", err))
	}
	first, _, _ := strings.Cut(string(text[:min(len(text), 200)]), "\n")
	switch {
	case !strings.HasPrefix(first, "#!"):
		h.Logger.Warn(surface.Escape(script) + " does not begin with #!/usr/bin/env node: npx starts it by a shell " +
			"on some systems")
	case !strings.Contains(first, "node"):
		h.Logger.Warn(surface.Escape(script) + " asks for another program than node, with which it is started here: " +
			wire.Quoted(first))
	}
	return nil
}
