package hallmark

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/project"
)

// downloads reports whether t is a launcher that downloads packages which can be pinned:
// npx one of npm, uvx and pipx one of PyPI with what comes along, go run one of a module.
func downloads(t launcher.Target, arguments []string) bool {
	if runsModule(t, arguments) {
		return true
	}
	if t.Opaque != "" || t.Wrapper != "" || t.File != "" || len(t.Packages) == 0 {
		return false
	}
	switch t.Launcher {
	case "npx":
		return len(t.Packages) == 1 && t.Packages[0].Ecosystem == launcher.NPM
	case "uvx", "uv tool run", "pipx run":
		return !slices.ContainsFunc(t.Packages, func(p launcher.Package) bool { return p.Ecosystem != launcher.PyPI })
	}
	return false
}

// asked is the package that a server is said to be.
type asked struct {
	from       launcher.Ecosystem // npm, PyPI or Go
	name, spec string             // spec is npm's or Go's: a version, a range or a tag
	with       []string           // PyPI: requirements of the package and of what comes along
	bin        string             // the executable to start, "" for the one that is meant
	args       []string
}

func (a asked) registry() string {
	switch a.from {
	case launcher.PyPI:
		return "the package index"
	case launcher.Go:
		return "go"
	}
	return "npm"
}

// resolve asks the ecosystem's own resolver for the package and all that it depends on.
func (p *pinning) resolve(ctx context.Context, of asked, rt *project.Runtime) (*project.Closure, error) {
	defer p.w.host.doing("asking %s what %s needs", of.registry(), p.declared.Name)()
	switch of.from {
	case launcher.PyPI:
		return resolvePython(ctx, p.w.host, of.name, of.with, rt)
	case launcher.Go:
		return resolveGo(ctx, p.w.host, of.name, of.spec, rt)
	}
	return resolveNPM(ctx, p.w.host, of.name, of.spec)
}

// started is what starts the package that was fetched, and the server that it says it is
// for. It is false if the package could not be fetched, which its evidence says.
func (of asked) started(t *packages) (entry, mcpName string, ok bool, err error) {
	switch {
	case t.npm != nil:
		entry, err = entryScript(t.npm, of.bin)
		return entry, t.npm.MCPName, true, err
	case t.wheel != nil:
		entry, err = entryPoint(t.ref, t.wheel, of.bin)
		return entry, t.wheel.MCPName, true, err
	case of.from == launcher.Go && t.observed.Size > 0:
		return of.name, "", true, nil
	}
	return "", "", false, nil
}

// preparePackage resolves, fetches and installs a package. r is the record that names it,
// or nil: then the registry is asked for one.
func (p *pinning) preparePackage(ctx context.Context, r *record, of asked) (*program, error) {
	entry := &p.out.Entry
	entry.Source = "npm"
	engine := project.EngineNPM
	switch of.from {
	case launcher.PyPI:
		entry.Source, engine = "pypi", project.EngineUV
	case launcher.Go:
		entry.Source, engine = "go", project.EngineGo
	}
	entry.Arguments, entry.Variables = nonNil(of.args), nonNil(p.declared.Variables)
	prog, err := p.w.packageProgram(ctx, p.declared.Name, engine, p.path, nil)
	if err != nil {
		return prog, err
	}
	closure, err := p.resolve(ctx, of, prog.runtime)
	if err != nil {
		return prog, err
	}
	p.packages(closure)
	scripts, err := p.scripts(closure)
	if err != nil {
		return prog, err
	}
	st, err := p.w.host.store()
	if err != nil {
		return prog, err
	}
	var own *packages
	in := installation{
		server: p.declared.Name, platform: platform(closure.Engine, prog.runtime), closure: closure, runtime: prog.runtime, where: of.registry() + "'s resolution", scripts: scripts,
		fetched: func(t *packages) (more evidence.Report, err error) {
			own, p.out.Verified = t, len(t.files)
			found, mcpName, ok, err := of.started(t)
			if entry.Entry = found; err != nil || !ok {
				return nil, err
			}
			if r == nil && of.from != launcher.Go { // no record names modules
				if r, err = p.w.recordOf(ctx, t.ref, mcpName); err != nil {
					return nil, err
				}
				if r != nil {
					entry.Record = &r.lock
					more = append(more, r.report...)
				}
			}
			more = append(more, r.about(t.ref, t.observed)...)
			more = append(more, p.sameVersion(t.ref, t.observed)...)
			stored, err := p.encode(closure)
			return append(more, stored), err
		},
	}
	if old := p.out.Before; old != nil && old.Closure != nil && p.sameClosure(closure, scripts, old.Closure) {
		in.want = old.Closure.Trees[in.platform]
	}
	done, err := p.w.install(ctx, st, in, p.judge)
	if done != nil {
		p.report = append(p.report, done.report...)
	}
	if err != nil {
		return prog, err
	}
	trees := map[string]digest.Digest{}
	if old := p.out.Before; old != nil && old.Closure != nil && p.sameClosure(closure, scripts, old.Closure) {
		maps.Copy(trees, old.Closure.Trees)
	}
	trees[in.platform] = done.slot.Digest
	entry.Closure = &project.ClosureLock{Engine: closure.Engine, Lock: digest.FromBytes(p.closure), Scripts: scripts, Trees: trees}
	prog.own = own.ref.String()
	prog.artifacts = map[string]digest.Digest{prog.own: own.observed.SHA256()}
	entry.Ref = prog.own
	return prog, prog.onPackage(done.slot, *entry, p.w.host.Getenv("HOME"))
}

// packages notes what the closure consists of, and what moved since the last pin.
func (p *pinning) packages(c *project.Closure) {
	before := map[string]digest.Digest{}
	if data, err := p.w.stored(p.w.closurePath(p.declared.Name), project.MaxClosure); err == nil && data != nil {
		if old, err := project.ParseClosure(data); err == nil {
			for _, x := range old.Packages {
				if !x.Ref.IsZero() && len(x.Integrity) > 0 {
					before[x.Ref.String()] = x.Integrity[0]
				}
			}
		}
	}
	for _, x := range c.Packages {
		if x.Ref.IsZero() || slices.Contains(p.out.Packages, x.Ref.String()) {
			continue
		}
		ref := x.Ref.String()
		p.out.Packages = append(p.out.Packages, ref)
		if x.Scripts && !p.allowed(x.Ref) {
			p.out.Scripts = append(p.out.Scripts, ref)
		}
		if len(before) > 0 && (len(x.Integrity) == 0 || !evidence.Same(before[ref], x.Integrity[0])) {
			p.out.Moved = append(p.out.Moved, ref)
		}
	}
}

// allowed reports whether the install scripts of a package are run.
func (p *pinning) allowed(ref artifact.Ref) bool {
	if slices.Contains(p.o.AllowScripts, ref.Name()) {
		return true
	}
	old := p.out.Before
	return old != nil && old.Closure != nil && slices.Contains(old.Closure.Scripts, ref.String())
}

// scripts are the packages of a closure whose install scripts are run.
func (p *pinning) scripts(c *project.Closure) ([]string, error) {
	var all, names []string
	for _, x := range c.Packages {
		if x.Scripts && p.allowed(x.Ref) {
			all, names = append(all, x.Ref.String()), append(names, x.Ref.Name())
		}
	}
	for _, name := range p.o.AllowScripts {
		if !slices.Contains(names, name) {
			return nil, evidence.Errorf(evidence.Validation, p.declared.Name, "name packages that 'hallmark pin' lists as not run",
				fmt.Errorf("no package of it that is called %+q has install scripts", name))
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

func nonNil(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

// sameVersion compares a tarball with the one that the lock has for the same version:
// a version's bytes never change.
func (p *pinning) sameVersion(ref artifact.Ref, o evidence.Observed) evidence.Report {
	if p.out.Before == nil {
		return nil
	}
	want, ok := p.out.Before.Artifacts[ref.String()]
	if !ok {
		return nil
	}
	return evidence.Report{evidence.Compare(evidence.Claim{
		Subject: ref.String(), Scheme: schemeOf(ref), Authority: evidence.Lock, Want: []digest.Digest{want}, Where: project.LockFile,
	}, o)}
}

// schemeOf is what the digest of a package is of.
func schemeOf(ref artifact.Ref) evidence.Scheme {
	if ref.Kind() == artifact.Go {
		return evidence.Module
	}
	return evidence.File
}

// encode fixes the closure's stored form and adds it to what is judged. Nobody claims
// anything of it: dependencies may move between two pins, and are shown for consent.
func (p *pinning) encode(c *project.Closure) (e evidence.Evidence, err error) {
	p.closure, err = c.Encode()
	return evidence.Compare(
		evidence.Claim{Subject: project.ClosureSubject(p.declared.Name), Scheme: evidence.File, Authority: evidence.Lock},
		evidence.Observed{Digests: []digest.Digest{digest.FromBytes(p.closure)}, Size: int64(len(p.closure)), From: "the resolution"},
	), err
}

// sameClosure reports whether the trees of a locked closure are those that would be made of
// c: of the same packages, with the same install scripts.
func (p *pinning) sameClosure(c *project.Closure, scripts []string, locked *project.ClosureLock) bool {
	data, err := c.Encode()
	return err == nil && evidence.Same(locked.Lock, digest.FromBytes(data)) && slices.Equal(locked.Scripts, scripts)
}
