package kind

import (
	"cmp"
	"context"
	"maps"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/closure"
	"github.com/hallmark-mcp/hallmark/internal/guard/process"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/store"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// packageTree is the installed tree of a locked package on this machine.
type packageTree struct {
	platform     string
	locked, made digest.Digest      // that the lock names, and that this machine made before; zero for none
	wanted       digest.Digest      // that is used from the store; zero for none
	installed    *program.Installed // nil: it is not in the store
}

// Open finds or makes the installed tree. It takes the locked tree from the store only if this
// machine made that tree from the closure itself, or if the lock is trusted: the lock alone does
// not prove that the tree follows from the closure.
func (k ecosystem) Open(ctx context.Context, l Locked) (o Opened, err error) {
	o.Report = program.VerifyEvidence(l.Workspace, l.Server, l.Approval.Path, "", nil)
	if _, err := judgeWith(&o.Report, l.Judge)(nil); err != nil {
		return o, err
	}
	st, err := l.Workspace.Host.Store()
	if err != nil {
		return o, err
	}
	found, err := k.openBoth(ctx, l, st, &o)
	if err != nil {
		return o, err
	}
	o.Report = append(o.Report, o.Program.Report...)
	if found.installed == nil {
		if err := k.installTree(ctx, l, st, &o, &found); err != nil {
			return o, err
		}
	} else if found.installed.Slot == nil {
		program.Quarantine(ctx, l.Workspace, st, found.installed, found.wanted)
	}
	o.Report = append(o.Report, found.installed.Report...)
	slot := found.installed.Slot
	if slot == nil {
		_, err = judgeWith(&o.Report, l.Judge)(nil)
		return o, err
	}
	compiled, ok, err := k.openCompiled(ctx, l, st, &o, found.platform, slot)
	if err != nil || !ok {
		return o, err
	}
	before := len(o.Program.Report)
	if err = k.start(o.Program, l.Workspace, slot, compiled, l.Entry); err == nil {
		err = k.addNamedCode(ctx, l.Workspace, l.Server, o.Program, l.Entry, &l.Entry)
		o.Report = append(o.Report, missingArtifacts(l.Entry, o.Program)...)
	}
	o.Report = append(o.Report, o.Program.Report[before:]...)
	return o, err
}

// openBoth opens the interpreter and finds the tree, at the same time if it is known which interpreter that is.
func (k ecosystem) openBoth(ctx context.Context, l Locked, st *store.Store, o *Opened) (found packageTree, err error) {
	var parallel errgroup.Group
	if l.Approval.Runtime != nil { // an interpreter takes as long to hash as many a tree
		parallel.Go(func() (err error) {
			found, err = k.findTree(ctx, l, st, l.Approval.Runtime)
			return err
		})
	}
	o.Program, err = k.openLocked(ctx, l, process.Open)
	audited := parallel.Wait()
	if err == nil && l.Approval.Runtime == nil {
		found, audited = k.findTree(ctx, l, st, o.Program.Runtime)
	}
	return found, cmp.Or(err, audited)
}

// openCompiled finds or makes the compiled form of a tree; nil if there is none. What it finds is judged, and
// added to what is known of the program. It is not ok if what was found is not what is locked.
func (k ecosystem) openCompiled(ctx context.Context, l Locked, st *store.Store, o *Opened, platform string,
	tree *store.Slot) (compiled *store.Slot, ok bool, err error) {
	// Without an approved interpreter this machine would not remember what it compiled.
	if k.compile == nil || l.Approval.Runtime == nil {
		return nil, true, nil
	}
	judge := judgeWith(&o.Report, l.Judge)
	platform = program.BytecodePlatform(platform)
	in, err := k.findCompiled(ctx, l.Workspace, st, l.Server.Name, platform,
		l.Approval.MadeTrees(*l.Entry.Closure)[platform])
	if err == nil && in == nil {
		if in, err = k.compile(ctx, l.Workspace, st, l.Server.Name, o.Program.Runtime, tree, judge); in != nil &&
			in.Slot != nil {
			o.noteMade(platform, in.Slot.Digest)
		}
	}
	if in == nil {
		return nil, true, err
	}
	o.Report = append(o.Report, in.Report...)
	if err == nil && in.Slot == nil {
		_, err = judge(nil)
	}
	return in.Slot, in.Slot != nil, err
}

// findTree looks up the tree of a locked package in the store.
func (k ecosystem) findTree(ctx context.Context, l Locked, st *store.Store,
	rt *project.Runtime) (t packageTree, err error) {
	t.platform = k.PlatformKey(rt)
	t.locked, t.made = l.Entry.Closure.Trees[t.platform], l.Approval.MadeTrees(*l.Entry.Closure)[t.platform]
	t.wanted = t.made
	if l.TrustLock && t.made.IsZero() {
		t.wanted = t.locked
	}
	if t.wanted.IsZero() {
		return t, nil
	}
	t.installed, err = program.AuditSlot(ctx, st, l.Server.Name, t.platform, t.wanted, digest.Digest{})
	if in := t.installed; in != nil && in.Slot != nil && !t.locked.IsZero() { // the audit compared with wanted only
		in.Report = append(in.Report, evidence.Compare(evidence.Claim{
			Subject: project.TreeSubject(l.Server.Name, t.platform), Scheme: evidence.Tree, Authority: evidence.Lock,
			Want: []digest.Digest{t.locked}, Where: project.LockFile,
		}, evidence.Observed{Digests: []digest.Digest{in.Slot.Digest}, Size: in.Slot.Size, From: in.Slot.Dir()}))
	}
	return t, err
}

// installTree installs a locked closure.
func (k ecosystem) installTree(ctx context.Context, l Locked, st *store.Store, o *Opened, t *packageTree) (err error) {
	if k.inspectRuntime != nil && l.Approval.Runtime != nil {
		if err := k.inspectRuntime(ctx, o.Program, l.Approval.Runtime); err != nil {
			return err
		}
		o.Report = append(o.Report, o.Program.Report...)
	}
	entry := l.Entry
	t.installed, err = program.Install(ctx, l.Workspace, st, program.InstallRequest{
		Server: l.Server.Name, Platform: t.platform, Installer: k.Installer,
		Closure: l.Closure, Runtime: o.Program.Runtime, Where: project.ClosureSubject(l.Server.Name),
		Want: t.locked, Made: t.made, Scripts: entry.Closure.Scripts,
		Fetched: func(p *closure.Packages) (evidence.Report, error) {
			if p.Wheel != nil && p.Ref.String() != entry.Ref {
				return nil, nil // another platform's wheel, which the closure vouches for
			}
			return evidence.Report{evidence.Compare(evidence.Claim{
				Subject: entry.Ref, Scheme: k.scheme, Authority: evidence.Lock,
				Want: []digest.Digest{entry.Artifacts[entry.Ref]}, Where: project.LockFile,
			}, p.Observed)}, nil
		},
	}, judgeWith(&o.Report, l.Judge))
	if err == nil {
		o.noteMade(t.platform, t.installed.Slot.Digest)
	}
	return err
}

// findCompiled finds in the store what this machine compiled of a tree before, made, or nil. If that differs, it is
// moved away, and there is no slot in the result.
func (k ecosystem) findCompiled(ctx context.Context, w *workspace.Workspace, st *store.Store, server, platform string,
	made digest.Digest) (*program.Installed, error) {
	if made.IsZero() {
		return nil, nil
	}
	found, err := program.AuditSlot(ctx, st, server, platform, digest.Digest{}, made)
	if found != nil && found.Slot == nil {
		program.Quarantine(ctx, w, st, found, made)
	}
	return found, err
}

// checkTree audits the tree of a platform in the store: the locked one, or if the lock has none, the one that this
// machine made, which the next run makes again if it is gone.
func checkTree(ctx context.Context, st *store.Store, server, platform string, locked, made digest.Digest) (
	evidence.Report, error) {
	claim := evidence.Claim{Subject: project.TreeSubject(server, platform), Scheme: evidence.Tree}
	in, err := program.AuditSlot(ctx, st, server, platform, locked, made)
	switch {
	case err != nil:
		return nil, err
	case in == nil && locked.IsZero():
		return nil, nil
	case in == nil:
		claim.Authority, claim.Want, claim.Where = evidence.Lock, []digest.Digest{locked}, project.LockFile
		return evidence.Report{evidence.CannotVerify(claim, evidence.NotFound,
			"not in this machine's store; the next run fetches and verifies it")}, nil
	case in.Slot == nil || made.IsZero():
		return in.Report, nil
	}
	return append(in.Report, program.OwnTreeEvidence(claim, made,
		evidence.Observed{Digests: []digest.Digest{in.Slot.Digest}, From: in.Slot.Dir()})), nil
}

// OpenRuntime looks at the interpreter, or finds the compiler.
func (k ecosystem) OpenRuntime(ctx context.Context, l Locked) (*program.Program, error) {
	return k.openLocked(ctx, l, host.KeptOf[process.Seen](l.Workspace.Host.Kept).Look)
}

// Check audits every tree of this kind of machine in the store, and the approved runtime.
func (k ecosystem) Check(ctx context.Context, l Locked) (evidence.Report, error) {
	name, entry := l.Server.Name, l.Entry
	path := cmp.Or(l.Approval.Path, l.Workspace.Host.Getenv("PATH"))
	report := program.VerifyEvidence(l.Workspace, l.Server, path, "", nil)
	if l.Closure != nil && !(l.Offline && l.Workspace.Config.Policy.AdvisoriesURL() != "") {
		known, err := advisoryEvidence(ctx, l.Workspace, name, l.Closure)
		if err != nil {
			return nil, err
		}
		report = append(report, known...)
	}
	st, err := l.Workspace.Host.Store()
	if err != nil {
		return nil, err
	}
	made := l.Approval.MadeTrees(*entry.Closure)
	platforms := slices.AppendSeq(slices.Collect(maps.Keys(entry.Closure.Trees)), maps.Keys(made))
	slices.Sort(platforms)
	for _, key := range slices.Compact(platforms) {
		if !strings.HasPrefix(key, runtime.GOOS+"/"+runtime.GOARCH+"+") {
			continue
		}
		more, err := checkTree(ctx, st, name, key, entry.Closure.Trees[key], made[key])
		if err != nil {
			return nil, err
		}
		report = append(report, more...)
	}
	named, err := k.checkNamedCode(ctx, l, path)
	if err != nil {
		return nil, err
	}
	report = append(report, named...)
	return append(report, StarterEvidence(l.Workspace, name, entry)...), nil
}

// StarterEvidence compares what starts a locked server on this machine with what was approved. A compiler starts none:
// it is compared when it is about to build.
func StarterEvidence(w *workspace.Workspace, name string, entry project.ServerLock) evidence.Report {
	if k, ok := Of(entry.Source).(ecosystem); ok && k.inspectRuntime != nil {
		return nil
	}
	return program.RuntimeEvidence(w, name, w.Approvals.Servers[name])
}

// Slots returns the trees of all platforms.
func (ecosystem) Slots(entry project.ServerLock) []digest.Digest {
	return slices.Collect(maps.Values(entry.Closure.Trees))
}
