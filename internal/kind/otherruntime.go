package kind

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/closure"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/tool"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// openAndResolve opens the runtime in path and resolves a package with it. If the package needs
// another version of Python, the first of the others is taken that the resolver succeeds with; if
// none does, the error is about the first. What fails for another reason ends the search.
func (k ecosystem) openAndResolve(ctx context.Context, w *workspace.Workspace, server, path string, of request) (
	*program.Program, *project.Closure, error) {
	p, err := k.openRuntime(ctx, w, server, project.Approval{Path: path})
	if err != nil {
		return p, nil, err
	}
	c, first := k.resolve(ctx, w.Host, of, p.Runtime)
	var need *closure.NeedsPythonError
	if k.others == nil || !errors.As(first, &need) {
		return p, c, first
	}
	for rt := range k.others(ctx, w, path, need.Requires) {
		if rt.Version == p.Runtime.Version {
			continue
		}
		c, err := k.resolve(ctx, w.Host, of, rt)
		if errors.As(err, new(*closure.NeedsPythonError)) {
			continue
		}
		if err != nil {
			return p, nil, err
		}
		p.Close()
		p, err = openFound(ctx, w, server, path, rt)
		return p, c, err
	}
	return p, nil, first
}

// openFound opens an interpreter that was found already.
func openFound(ctx context.Context, w *workspace.Workspace, server, path string, rt *project.Runtime) (
	*program.Program, error) {
	return program.OpenInterpreter(ctx, w, server, project.Approval{Path: path},
		func(context.Context, *workspace.Workspace, string) (*project.Runtime, error) { return rt, nil })
}

// openLocked opens the approved runtime of a locked server. If none was approved it prefers a python
// of a version that the locked package was installed with before, here or where it was pinned: the
// first in the path, else one of the others. If there is none it is the first in the path.
func (k ecosystem) openLocked(ctx context.Context, l Locked) (*program.Program, error) {
	p, err := k.openRuntime(ctx, l.Workspace, l.Server.Name, l.Approval)
	if err != nil || k.others == nil || l.Approval.Runtime != nil || l.Entry.Closure == nil {
		return p, err
	}
	var known []string
	made := l.Approval.MadeTrees(*l.Entry.Closure)
	for _, key := range slices.AppendSeq(slices.Collect(maps.Keys(l.Entry.Closure.Trees)), maps.Keys(made)) {
		_, tag, _ := strings.Cut(key, "+")
		known = append(known, tool.PythonVersion(tag))
	}
	slices.Sort(known)
	known = slices.Compact(known)
	if slices.Contains(known, tool.PythonVersion(p.Runtime.Version)) {
		return p, nil
	}
	for _, version := range slices.Backward(known) {
		if version == "" {
			continue
		}
		for rt := range k.others(ctx, l.Workspace, l.Approval.Path, "=="+version+".*") {
			if tool.PythonVersion(rt.Version) != version {
				continue
			}
			p.Close()
			return openFound(ctx, l.Workspace, l.Server.Name, l.Approval.Path, rt)
		}
	}
	return p, nil
}
