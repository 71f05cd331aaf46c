package kind

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/closure"
	"github.com/hallmark-mcp/hallmark/internal/guard/process"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/project"
)

// openAndResolve opens the runtime in path and resolves a package with it. If the package needs
// another version of Python, the first of the others is taken that the resolver succeeds with; if
// none does, the error is about the first. What fails for another reason ends the search.
func (k ecosystem) openAndResolve(ctx context.Context, w *workspace.Workspace, server, path string, of request,
	open process.Opener) (*program.Program, *project.Closure, error) {
	p, err := k.openRuntime(ctx, w, server, project.Approval{Path: path}, open)
	if err != nil {
		return p, nil, err
	}
	if of.python != "" && k.others != nil {
		if p, err = k.openVersion(ctx, w, server, path, of.python, p, open); err != nil {
			return p, nil, err
		}
		c, err := k.resolve(ctx, w.Host, of, p.Runtime)
		return p, c, err
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
		p, err = openFound(ctx, w, server, path, rt, open)
		return p, c, err
	}
	return p, nil, first
}

// pythonOption matches the option of a launcher that chooses a version of Python, which is followed.
var pythonOption = spelling.Form(`^(?:-p|--python) (?:python)?(3\.[0-9]+)$`)

// chosenPython returns the version of Python that a command line chooses, such as "3.12"; "" if it
// chooses none.
func chosenPython(t launcher.Target) (version string) {
	for _, option := range t.IgnoredOptions {
		if m := pythonOption().FindStringSubmatch(option); m != nil {
			version = m[1] // the last one counts
		}
	}
	return version
}

// openVersion returns first, the python that was opened already, if it has a version, or else opens
// the first of the others that has it.
func (k ecosystem) openVersion(ctx context.Context, w *workspace.Workspace, server, path, version string,
	first *program.Program, open process.Opener) (*program.Program, error) {
	have := closure.PythonVersion(first.Runtime.Version)
	if have == version {
		return first, nil
	}
	if rt := k.findVersion(ctx, w, path, version); rt != nil {
		first.Close()
		return openFound(ctx, w, server, path, rt, open)
	}
	return first, evidence.Errorf(evidence.Refused, server, "run 'uv python install "+version+
		"', or put python"+version+" into PATH, then run the same command again",
		fmt.Errorf("its command line chooses Python %s, which is not on this machine; python3 is %s", version, have))
}

// findVersion returns the first of the others that has a version; nil if none has.
func (k ecosystem) findVersion(ctx context.Context, w *workspace.Workspace, path, version string) *project.Runtime {
	for rt := range k.others(ctx, w, path, "=="+version+".*") {
		if closure.PythonVersion(rt.Version) == version {
			return rt
		}
	}
	return nil
}

// openFound opens an interpreter that was found already.
func openFound(ctx context.Context, w *workspace.Workspace, server, path string, rt *project.Runtime,
	open process.Opener) (*program.Program, error) {
	return program.OpenInterpreter(ctx, w, server, project.Approval{Path: path},
		func(context.Context, *workspace.Workspace, string) (*project.Runtime, error) { return rt, nil }, open)
}

// openLocked opens the approved runtime of a locked server. If none was approved it prefers a python
// of a version that the locked package was installed with before, here or where it was pinned: the
// first in the path, else one of the others. If there is none it is the first in the path.
func (k ecosystem) openLocked(ctx context.Context, l Locked, open process.Opener) (*program.Program, error) {
	p, err := k.openRuntime(ctx, l.Workspace, l.Server.Name, l.Approval, open)
	if err != nil || k.others == nil || l.Approval.Runtime != nil || l.Entry.Closure == nil {
		return p, err
	}
	var known []string
	made := l.Approval.MadeTrees(*l.Entry.Closure)
	for _, key := range slices.AppendSeq(slices.Collect(maps.Keys(l.Entry.Closure.Trees)), maps.Keys(made)) {
		_, tag, _ := strings.Cut(key, "+")
		known = append(known, closure.PythonVersion(tag))
	}
	slices.Sort(known)
	known = slices.Compact(known)
	if slices.Contains(known, closure.PythonVersion(p.Runtime.Version)) {
		return p, nil
	}
	for _, version := range slices.Backward(known) {
		if version == "" {
			continue
		}
		if rt := k.findVersion(ctx, l.Workspace, l.Approval.Path, version); rt != nil {
			p.Close()
			return openFound(ctx, l.Workspace, l.Server.Name, l.Approval.Path, rt, open)
		}
	}
	return p, nil
}
