package kind

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/closure"
	"github.com/hallmark-mcp/hallmark/internal/guard/process"
	"github.com/hallmark-mcp/hallmark/internal/obtain"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/store"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/project"
)

// request returns the package that a declaration asks for, with evidence of whether a command
// line names each package with an exact version.
func (k ecosystem) request(d Declaration) (of request, report evidence.Report) {
	if r := d.Record; r != nil {
		return request{name: r.Ref.Name(), spec: r.Ref.Version(), exact: r.Ref, args: r.Arguments,
			requirements: []string{r.Ref.Name() + "==" + r.Ref.Version()}}, nil
	}
	// The launcher itself never runs, so it is not verified.
	t := launcher.Parse(d.Server.Command, d.Server.Arguments)
	of = request{name: t.Packages[0].Name, spec: t.Packages[0].Spec, bin: t.Bin, args: t.Args,
		python: chosenPython(t)}
	if t.Packages[0].Pinned() {
		of.exact = t.Packages[0].Ref
	}
	for _, named := range t.Packages {
		pinned := evidence.Claim{Subject: d.Server.Name, Scheme: evidence.Pin, Authority: evidence.Caller,
			Text: named.Text, Where: project.ConfigFile}
		found := ""
		if named.Pinned() {
			found = named.Text
		}
		e := evidence.Fact(pinned, found)
		if found == "" {
			e.Reason = "no version was given"
			if named.Spec != "" {
				e.Reason = fmt.Sprintf("%+q is not one version", named.Spec)
			}
			e.Reason += "; the newest that " + k.resolver + " finds now is locked. Write it into " + project.ConfigFile
		}
		report = append(report, e)
		of.requirements = append(of.requirements, named.Requirement())
	}
	return of, append(report, ignoredOptionsEvidence(d.Server.Name, t)...)
}

// ignoredOptionsEvidence says which options of a launcher are not followed, as the launcher is not started.
func ignoredOptionsEvidence(server string, t launcher.Target) (report evidence.Report) {
	for _, option := range t.IgnoredOptions {
		if pythonOption().MatchString(option) { // which is taken over
			continue
		}
		e := evidence.Fact(evidence.Claim{Subject: server + ": " + option, Scheme: evidence.Pin,
			Authority: evidence.Caller, Text: option, Where: project.ConfigFile}, "")
		e.Reason = t.Launcher + " is not started, and its option is not taken over: the interpreter is the first " +
			"that the package fits, and versions are resolved as the user's own files say; " +
			"take the option away once that is what you mean"
		report = append(report, e)
	}
	return report
}

// Resolve resolves, fetches and installs a package. If the declaration names no record, it asks the
// registry for one.
func (k ecosystem) Resolve(ctx context.Context, d Declaration) (r Resolved, err error) {
	if d.Record == nil {
		r.Report = program.VerifyEvidence(d.Workspace, d.Server, d.Path, "", nil)
		if _, err := judgeWith(&r.Report, d.Judge)(nil); err != nil {
			return r, err
		}
	}
	of, named := k.request(d)
	r.Report = append(r.Report, named...)
	entry := &r.Entry
	entry.Source, entry.Arguments, entry.Variables = k.kind, nonNil(of.args), nonNil(d.Server.Variables)
	if d.Record != nil {
		entry.Record = &d.Record.Record.Lock
	}
	dependencies, err := k.resolveVersions(ctx, d, &of, &r)
	if err != nil {
		return r, err
	}
	scripts, err := d.allowedScripts(dependencies)
	if err != nil {
		return r, err
	}
	st, err := d.Workspace.Host.Store()
	if err != nil {
		return r, err
	}
	installed, platform, err := k.installResolved(ctx, d, of, &r, st, dependencies, scripts)
	if err != nil {
		return r, err
	}
	compiled, err := k.compileResolved(ctx, d, &r, st, platform, installed)
	if err != nil {
		return r, err
	}
	if err := k.start(r.Program, d.Workspace, installed, compiled, *entry); err != nil {
		return r, err
	}
	err = k.addNamedCode(ctx, d.Workspace, d.Server, r.Program, *entry, nil)
	maps.Copy(entry.Artifacts, r.Program.Artifacts)
	return r, err
}

// resolveVersions finds the exact version of a package and of what it depends on, and what is known of each. It sets
// the time before which versions count in of, and the program in r.
func (k ecosystem) resolveVersions(ctx context.Context, d Declaration, of *request,
	r *Resolved) (dependencies *project.Closure, err error) {
	if err := k.askReleases(ctx, d, of.exact, r); err != nil {
		return nil, err
	}
	if _, err := judgeWith(&r.Report, d.Judge)(nil); err != nil {
		return nil, err // before anything of a version that is refused is fetched
	}
	of.before = d.Workspace.Cutoff()
	resolved := d.Workspace.Host.Announce("asking %s what %s needs", k.resolver, d.Server.Name)
	r.Program, dependencies, err = k.openAndResolve(ctx, d.Workspace, d.Server.Name, d.Path, *of, process.Open)
	resolved()
	if err != nil {
		return nil, explainCutoff(err, of.before)
	}
	if of.exact.IsZero() {
		if err := k.askReleases(ctx, d, dependencies.Root, r); err != nil {
			return nil, err
		}
	}
	r.notePackages(d, dependencies)
	known, err := advisoryEvidence(ctx, d.Workspace, d.Server.Name, dependencies)
	r.Report = append(r.Report, known...)
	return dependencies, err
}

// installResolved fetches, compares and installs what was resolved, and completes the entry by it. It returns the tree
// and the platform that it is for.
func (k ecosystem) installResolved(ctx context.Context, d Declaration, of request, r *Resolved, st *store.Store,
	dependencies *project.Closure, scripts []string) (tree *store.Slot, platform string, err error) {
	entry, name := &r.Entry, d.Server.Name
	var own *closure.Packages
	in := program.InstallRequest{
		Server: name, Platform: k.PlatformKey(r.Program.Runtime), Installer: k.Installer,
		Closure: dependencies, Runtime: r.Program.Runtime, Where: k.resolver + "'s resolution", Scripts: scripts,
		Fetched: func(t *closure.Packages) (evidence.Report, error) {
			own, r.Verified, r.Later = t, len(t.Files), closure.FindLaterMajors(t, dependencies)
			more, err := k.checkFetched(ctx, d, of, t, entry)
			if err != nil || entry.Entry == "" {
				return nil, err
			}
			if r.Files, err = k.compareFiles(ctx, d, t); err != nil {
				return nil, err
			}
			stored, err := r.encodeClosure(name, dependencies)
			return append(more, stored), err
		},
	}
	trees := map[string]digest.Digest{}
	if old := d.Before; old != nil && old.Closure != nil && sameClosure(dependencies, scripts, old.Closure) {
		in.Want = old.Closure.Trees[in.Platform]
		maps.Copy(trees, old.Closure.Trees)
	}
	done, err := program.Install(ctx, d.Workspace, st, in, judgeWith(&r.Report, d.Judge))
	if done != nil {
		r.Report = append(r.Report, done.Report...)
	}
	if err != nil {
		return nil, "", err
	}
	trees[in.Platform] = done.Slot.Digest
	r.Trees = map[string]digest.Digest{in.Platform: done.Slot.Digest}
	entry.Closure = &project.ClosureLock{Engine: dependencies.Engine, Lock: digest.FromBytes(r.Closure),
		Scripts: scripts, Trees: trees}
	entry.Ref = own.Ref.String()
	entry.Artifacts = map[string]digest.Digest{entry.Ref: own.Observed.SHA256()}
	return done.Slot, in.Platform, nil
}

// compileResolved returns the compiled form of the tree for a platform; nil if there is none.
func (k ecosystem) compileResolved(ctx context.Context, d Declaration, r *Resolved, st *store.Store, platform string,
	tree *store.Slot) (*store.Slot, error) {
	if k.compile == nil {
		return nil, nil
	}
	platform = program.BytecodePlatform(platform)
	made, err := k.findCompiled(ctx, d.Workspace, st, d.Server.Name, platform,
		d.Workspace.MadeTree(*r.Entry.Closure, platform))
	if made != nil { // as of the tree itself: the store's own note is judged when it is started
		made.Report = slices.DeleteFunc(made.Report, func(e evidence.Evidence) bool {
			return e.Authority == evidence.Sidecar
		})
	}
	if err == nil && (made == nil || made.Slot == nil) {
		made, err = k.compile(ctx, d.Workspace, st, d.Server.Name, r.Program.Runtime, tree,
			judgeWith(&r.Report, d.Judge))
	}
	if err != nil || made == nil {
		return nil, err
	}
	r.Report = append(r.Report, made.Report...)
	r.Trees[platform] = made.Slot.Digest
	return made.Slot, nil
}

// checkFetched finds what starts a fetched package, and its record if none was named, and compares
// the package with the record and with the entry that it replaces. If the package could not be
// fetched, which its own evidence says, the entry gets no start.
func (k ecosystem) checkFetched(ctx context.Context, d Declaration, of request, t *closure.Packages,
	entry *project.ServerLock) (report evidence.Report, err error) {
	found, mcpName, ok, err := k.findStart(of, t)
	if entry.Entry = found; err != nil || !ok {
		return nil, err
	}
	var vouched *obtain.Record
	if d.Record != nil {
		vouched = d.Record.Record
	} else if k.recorded {
		if vouched, err = obtain.FetchRecordFor(ctx, d.Workspace, d.Logs, t.Ref, mcpName); err != nil {
			return nil, err
		}
		if vouched != nil {
			entry.Record = &vouched.Lock
			report = append(report, vouched.Report...)
		}
	}
	report = append(report, vouched.ClaimsOf(t.Ref, t.Observed)...)
	return append(report, sameVersionEvidence(d.Before, t.Ref.String(), k.scheme, t.Observed)...), nil
}

// MovedPackage is a package that the replaced entry had not, or had with other bytes.
type MovedPackage struct {
	Ref string
	Was string // the version that it had, if one version of it went; ""
}

// notePackages adds the packages of the closure to the result, and what changed since the last pin.
func (r *Resolved) notePackages(d Declaration, c *project.Closure) {
	old := &project.Closure{}
	if data, err := d.Workspace.ReadFile(d.Workspace.ClosurePath(d.Server.Name), project.MaxClosure); err == nil &&
		data != nil {
		if read, err := project.ParseClosure(data); err == nil {
			old = read
		}
	}
	before := map[artifact.Ref]project.ClosurePackage{}
	for _, x := range old.Packages {
		before[x.Ref] = x
	}
	gone := goneVersions(old, c)
	for _, x := range c.Packages {
		if x.Ref.IsZero() || slices.Contains(r.Packages, x.Ref.String()) {
			continue
		}
		ref := x.Ref.String()
		r.Packages = append(r.Packages, ref)
		if x.Scripts && !d.allowsScript(x) {
			r.Scripts = append(r.Scripts, ref)
		}
		if was, ok := before[x.Ref]; len(before) > 0 && (!ok || !sameBytes(was, x)) {
			moved := MovedPackage{Ref: ref}
			if versions := gone[packageName(x.Ref)]; len(versions) == 1 {
				moved.Was = versions[0]
			}
			r.Moved = append(r.Moved, moved)
		}
	}
}

// sameBytes reports whether two packages of one version have the same bytes, as far as their closures say: of wheels,
// those that both have, as more may be published later.
func sameBytes(a, b project.ClosurePackage) bool {
	for ref, sum := range a.Wheels {
		if other, ok := b.Wheels[ref]; ok && !evidence.Same(other, sum) {
			return false
		}
	}
	return len(a.Integrity) == 0 && len(b.Integrity) == 0 ||
		len(a.Integrity) > 0 && len(b.Integrity) > 0 && evidence.Same(a.Integrity[0], b.Integrity[0])
}

// packageName is the name of a package among all kinds of packages.
func packageName(ref artifact.Ref) string { return string(ref.Kind()) + ":" + ref.Name() }

// goneVersions lists the versions of packages that the closure old has and new has not, by the packages' names.
func goneVersions(old, new *project.Closure) map[string][]string {
	kept := map[artifact.Ref]bool{}
	for _, x := range new.Packages {
		kept[x.Ref] = true
	}
	gone := map[string][]string{}
	for _, x := range old.Packages {
		if name := packageName(x.Ref); !kept[x.Ref] && !slices.Contains(gone[name], x.Ref.Version()) {
			gone[name] = append(gone[name], x.Ref.Version())
		}
	}
	return gone
}

// allowsScript reports whether the install scripts of a package run.
func (d Declaration) allowsScript(x project.ClosurePackage) bool {
	if slices.Contains(d.AllowScripts, x.Ref.Name()) {
		return true
	}
	return d.Before != nil && d.Before.Closure != nil && slices.Contains(d.Before.Closure.Scripts, x.Ref.String())
}

// allowedScripts returns the packages of a closure whose install scripts run.
func (d Declaration) allowedScripts(c *project.Closure) ([]string, error) {
	var all, names []string
	for _, x := range c.Packages {
		if x.Scripts && d.allowsScript(x) {
			all, names = append(all, x.Ref.String()), append(names, x.Ref.Name())
		}
	}
	for _, name := range d.AllowScripts {
		if !slices.Contains(names, name) {
			return nil, evidence.Errorf(evidence.Validation, d.Server.Name,
				"name packages that 'hallmark pin' lists as not run",
				fmt.Errorf("no package of it that is called %+q has install scripts", name))
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// sameVersionEvidence compares what is called ref with what was locked as that, because the bytes of a version never
// change.
func sameVersionEvidence(before *project.ServerLock, ref string, scheme evidence.Scheme,
	o evidence.Observed) evidence.Report {
	if before == nil {
		return nil
	}
	want, ok := before.Artifacts[ref]
	if !ok {
		return nil
	}
	return evidence.Report{evidence.Compare(evidence.Claim{
		Subject: ref, Scheme: scheme, Authority: evidence.Lock, Want: []digest.Digest{want}, Where: project.LockFile,
	}, o)}
}

// encodeClosure encodes the closure in its stored form, and returns evidence of it to be judged.
// There are no claims about it: dependencies may change between two pins, and are shown for
// consent.
func (r *Resolved) encodeClosure(server string, c *project.Closure) (e evidence.Evidence, err error) {
	r.Closure, err = c.Encode()
	return evidence.Compare(
		evidence.Claim{Subject: project.ClosureSubject(server), Scheme: evidence.File, Authority: evidence.Lock},
		evidence.Observed{Digests: []digest.Digest{digest.FromBytes(r.Closure)}, Size: int64(len(r.Closure)),
			From: "the resolution"},
	), err
}

// sameClosure reports whether a locked closure gives the same trees as c: the same packages, with
// the same install scripts.
func sameClosure(c *project.Closure, scripts []string, locked *project.ClosureLock) bool {
	data, err := c.Encode()
	return err == nil && evidence.Same(locked.Lock, digest.FromBytes(data)) && slices.Equal(locked.Scripts, scripts)
}
