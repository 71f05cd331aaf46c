package pin

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/closure"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/record"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/project"
)

// Request is the package that a server is said to be.
type Request struct {
	From         launcher.Ecosystem // npm, PyPI or Go
	name, spec   string             // spec is npm's or Go's: a version, a range or a tag
	requirements []string           // PyPI: requirements of the package and of what comes along
	bin          string             // the executable to start, "" for the one that is meant
	args         []string
}

// RegistryName is how messages call the resolver of the package.
func (a Request) RegistryName() string {
	switch a.From {
	case launcher.PyPI:
		return "the package index"
	case launcher.Go:
		return "go"
	}
	return "npm"
}

// resolve asks the ecosystem's own resolver for the package and all that it depends on.
func (p *Pinning) resolve(ctx context.Context, of Request, rt *project.Runtime) (*project.Closure, error) {
	defer p.Workspace.Host.Announce("asking %s what %s needs", of.RegistryName(), p.Declared.Name)()
	switch of.From {
	case launcher.PyPI:
		return closure.ResolvePython(ctx, p.Workspace.Host, of.name, of.requirements, rt)
	case launcher.Go:
		return closure.ResolveGo(ctx, p.Workspace.Host, of.name, of.spec, rt)
	}
	return closure.ResolveNPM(ctx, p.Workspace.Host, of.name, of.spec)
}

// findStart is what starts the package that was fetched, and the server that it says it is
// for. It is false if the package could not be fetched, which its evidence says.
func (of Request) findStart(t *closure.Packages) (entry, mcpName string, ok bool, err error) {
	switch {
	case t.NPM != nil:
		entry, err = closure.EntryScript(t.NPM, of.bin)
		return entry, t.NPM.MCPName, true, err
	case t.Wheel != nil:
		entry, err = closure.EntryPoint(t.Ref, t.Wheel, of.bin)
		return entry, t.Wheel.MCPName, true, err
	case of.From == launcher.Go && t.Observed.Size > 0:
		return of.name, "", true, nil
	}
	return "", "", false, nil
}

// preparePackage resolves, fetches and installs a package. r is the record that names it,
// or nil: then the registry is asked for one.
func (p *Pinning) preparePackage(ctx context.Context, r *record.Record, of Request) (*program.Program, error) {
	entry := &p.Result.Entry
	entry.Source = "npm"
	engine := project.EngineNPM
	switch of.From {
	case launcher.PyPI:
		entry.Source, engine = "pypi", project.EngineUV
	case launcher.Go:
		entry.Source, engine = "go", project.EngineGo
	}
	entry.Arguments, entry.Variables = nonNil(of.args), nonNil(p.Declared.Variables)
	prog, err := program.OpenPackageRuntime(ctx, p.Workspace, p.Declared.Name, engine, project.Approval{Path: p.Path})
	if err != nil {
		return prog, err
	}
	dependencies, err := p.resolve(ctx, of, prog.Runtime)
	if err != nil {
		return prog, err
	}
	p.notePackages(dependencies)
	scripts, err := p.allowedScripts(dependencies)
	if err != nil {
		return prog, err
	}
	st, err := p.Workspace.Host.Store()
	if err != nil {
		return prog, err
	}
	var own *closure.Packages
	in := program.InstallRequest{
		Server: p.Declared.Name, Platform: closure.PlatformKey(dependencies.Engine, prog.Runtime),
		Closure: dependencies, Runtime: prog.Runtime, Where: of.RegistryName() + "'s resolution", Scripts: scripts,
		Fetched: func(t *closure.Packages) (more evidence.Report, err error) {
			own, p.Result.Verified = t, len(t.Files)
			found, mcpName, ok, err := of.findStart(t)
			if entry.Entry = found; err != nil || !ok {
				return nil, err
			}
			if r == nil && of.From != launcher.Go { // no record names modules
				if r, err = record.FetchFor(ctx, p.Workspace, p.Logs, t.Ref, mcpName); err != nil {
					return nil, err
				}
				if r != nil {
					entry.Record = &r.Lock
					more = append(more, r.Report...)
				}
			}
			more = append(more, r.ClaimsOf(t.Ref, t.Observed)...)
			more = append(more, p.sameVersionEvidence(t.Ref, t.Observed)...)
			stored, err := p.encodeClosure(dependencies)
			return append(more, stored), err
		},
	}
	if old := p.Result.Before; old != nil && old.Closure != nil && p.sameClosure(dependencies, scripts, old.Closure) {
		in.Want = old.Closure.Trees[in.Platform]
	}
	done, err := program.Install(ctx, p.Workspace, st, in, p.judge)
	if done != nil {
		p.report = append(p.report, done.Report...)
	}
	if err != nil {
		return prog, err
	}
	trees := map[string]digest.Digest{}
	if old := p.Result.Before; old != nil && old.Closure != nil && p.sameClosure(dependencies, scripts, old.Closure) {
		maps.Copy(trees, old.Closure.Trees)
	}
	trees[in.Platform] = done.Slot.Digest
	entry.Closure = &project.ClosureLock{Engine: dependencies.Engine, Lock: digest.FromBytes(p.closure),
		Scripts: scripts, Trees: trees}
	prog.OwnKey = own.Ref.String()
	prog.Artifacts = map[string]digest.Digest{prog.OwnKey: own.Observed.SHA256()}
	entry.Ref = prog.OwnKey
	return prog, prog.UsePackage(done.Slot, *entry, p.Workspace.Host.Getenv("HOME"))
}

// notePackages notes what the closure consists of, and what moved since the last pin.
func (p *Pinning) notePackages(c *project.Closure) {
	before := map[string]digest.Digest{}
	if data, err := p.Workspace.ReadFile(p.Workspace.ClosurePath(p.Declared.Name), project.MaxClosure); err == nil &&
		data != nil {
		if old, err := project.ParseClosure(data); err == nil {
			for _, x := range old.Packages {
				if !x.Ref.IsZero() && len(x.Integrity) > 0 {
					before[x.Ref.String()] = x.Integrity[0]
				}
			}
		}
	}
	for _, x := range c.Packages {
		if x.Ref.IsZero() || slices.Contains(p.Result.Packages, x.Ref.String()) {
			continue
		}
		ref := x.Ref.String()
		p.Result.Packages = append(p.Result.Packages, ref)
		if x.Scripts && !p.isScriptAllowed(x.Ref) {
			p.Result.Scripts = append(p.Result.Scripts, ref)
		}
		if len(before) > 0 && (len(x.Integrity) == 0 || !evidence.Same(before[ref], x.Integrity[0])) {
			p.Result.Moved = append(p.Result.Moved, ref)
		}
	}
}

// isScriptAllowed reports whether the install scripts of a package are run.
func (p *Pinning) isScriptAllowed(ref artifact.Ref) bool {
	if slices.Contains(p.Options.AllowScripts, ref.Name()) {
		return true
	}
	old := p.Result.Before
	return old != nil && old.Closure != nil && slices.Contains(old.Closure.Scripts, ref.String())
}

// allowedScripts are the packages of a closure whose install scripts are run.
func (p *Pinning) allowedScripts(c *project.Closure) ([]string, error) {
	var all, names []string
	for _, x := range c.Packages {
		if x.Scripts && p.isScriptAllowed(x.Ref) {
			all, names = append(all, x.Ref.String()), append(names, x.Ref.Name())
		}
	}
	for _, name := range p.Options.AllowScripts {
		if !slices.Contains(names, name) {
			return nil, evidence.Errorf(evidence.Validation, p.Declared.Name,
				"name packages that 'hallmark pin' lists as not run",
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

// sameVersionEvidence compares a tarball with the one that the lock has for the same version:
// a version's bytes never change.
func (p *Pinning) sameVersionEvidence(ref artifact.Ref, o evidence.Observed) evidence.Report {
	if p.Result.Before == nil {
		return nil
	}
	want, ok := p.Result.Before.Artifacts[ref.String()]
	if !ok {
		return nil
	}
	return evidence.Report{evidence.Compare(evidence.Claim{
		Subject: ref.String(), Scheme: SchemeOf(ref), Authority: evidence.Lock, Want: []digest.Digest{want},
		Where: project.LockFile,
	}, o)}
}

// SchemeOf is what the digest of a package is of.
func SchemeOf(ref artifact.Ref) evidence.Scheme {
	if ref.Kind() == artifact.Go {
		return evidence.Module
	}
	return evidence.File
}

// encodeClosure fixes the closure's stored form and adds it to what is judged. Nobody claims
// anything of it: dependencies may move between two pins, and are shown for consent.
func (p *Pinning) encodeClosure(c *project.Closure) (e evidence.Evidence, err error) {
	p.closure, err = c.Encode()
	return evidence.Compare(
		evidence.Claim{Subject: project.ClosureSubject(p.Declared.Name), Scheme: evidence.File,
			Authority: evidence.Lock},
		evidence.Observed{Digests: []digest.Digest{digest.FromBytes(p.closure)}, Size: int64(len(p.closure)),
			From: "the resolution"},
	), err
}

// sameClosure reports whether the trees of a locked closure are those that would be made of
// c: of the same packages, with the same install scripts.
func (p *Pinning) sameClosure(c *project.Closure, scripts []string, locked *project.ClosureLock) bool {
	data, err := c.Encode()
	return err == nil && evidence.Same(locked.Lock, digest.FromBytes(data)) && slices.Equal(locked.Scripts, scripts)
}
