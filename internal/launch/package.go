package launch

import (
	"cmp"
	"context"
	"maps"

	"golang.org/x/sync/errgroup"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/closure"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/pin"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/project"
)

// preparePackage finds or makes the installed tree. The tree of a lock is used from the
// store only if this machine made it from the closure itself, or the lock is trusted:
// that a tree follows from the closure is something that a lock merely says.
func (l *Launch) preparePackage(ctx context.Context, approval project.Approval,
	dependencies *project.Closure) (*program.Program, error) {
	name := l.Declared.Name
	st, err := l.Workspace.Host.Store()
	if err != nil {
		return nil, err
	}
	var (
		key                  string
		locked, made, wanted digest.Digest
		in                   *program.Installed
	)
	audit := func(rt *project.Runtime) (err error) {
		key = closure.PlatformKey(l.Entry.Closure.Engine, rt)
		locked, made = l.Entry.Closure.Trees[key], approval.Trees[key]
		wanted = made
		if l.Options.TrustLock && made.IsZero() {
			wanted = locked
		}
		if !wanted.IsZero() {
			in, err = program.AuditSlot(ctx, st, name, key, wanted)
		}
		return err
	}
	var parallel errgroup.Group
	if approval.Runtime != nil { // an interpreter takes as long to hash as many a tree
		parallel.Go(func() error { return audit(approval.Runtime) })
	}
	prog, err := program.OpenPackageRuntime(ctx, l.Workspace, name, l.Entry.Closure.Engine, approval)
	audited := parallel.Wait()
	if err == nil && approval.Runtime == nil {
		audited = audit(prog.Runtime)
	}
	if err = cmp.Or(err, audited); err != nil {
		return prog, err
	}
	l.report = append(l.report, prog.Report...)
	if in != nil {
		if in.Slot == nil {
			program.Quarantine(ctx, l.Workspace, st, in, wanted)
		} else if !locked.IsZero() { // the audit compared with look only
			in.Report = append(in.Report, evidence.Compare(evidence.Claim{
				Subject: project.TreeSubject(name, key), Scheme: evidence.Tree, Authority: evidence.Lock,
				Want: []digest.Digest{locked}, Where: project.LockFile,
			}, evidence.Observed{Digests: []digest.Digest{in.Slot.Digest}, Size: in.Slot.Size, From: in.Slot.Dir()}))
		}
	} else {
		if l.Entry.Closure.Engine == project.EngineGo && approval.Runtime != nil { // it is about to build
			if err := prog.UseToolchain(ctx, approval.Runtime); err != nil {
				return prog, err
			}
			l.report = append(l.report, prog.Report...)
		}
		in, err = program.Install(ctx, l.Workspace, st, program.InstallRequest{
			Server: name, Platform: key, Closure: dependencies, Runtime: prog.Runtime,
			Where: project.ClosureSubject(name), Want: locked, Made: made, Scripts: l.Entry.Closure.Scripts,
			Fetched: func(t *closure.Packages) (evidence.Report, error) {
				if t.Wheel != nil && t.Ref.String() != l.Entry.Ref {
					return nil, nil // another platform's wheel, which the closure vouches for
				}
				return evidence.Report{evidence.Compare(evidence.Claim{
					Subject: l.Entry.Ref, Scheme: pin.SchemeOf(t.Ref), Authority: evidence.Lock,
					Want: []digest.Digest{l.Entry.Artifacts[l.Entry.Ref]}, Where: project.LockFile,
				}, t.Observed)}, nil
			},
		}, l.judge)
		if err != nil {
			return prog, err
		}
		l.recordTree(ctx, key, in.Slot.Digest)
	}
	l.report = append(l.report, in.Report...)
	if in.Slot == nil {
		_, err := l.judge(nil)
		return prog, err
	}
	before := len(prog.Report)
	err = prog.UsePackage(in.Slot, *l.Entry, l.Workspace.Host.Getenv("HOME"))
	l.report = append(l.report, prog.Report[before:]...)
	return prog, err
}

// recordTree notes which tree this machine made of a closure, beside its approval. Without
// an approval there is nothing to note, and the next run installs again.
func (l *Launch) recordTree(ctx context.Context, platform string, tree digest.Digest) {
	w, name := l.Workspace, l.Declared.Name
	if err := w.HoldFiles(ctx); err != nil {
		w.Host.Logger.Warn("noting what was installed", "error", err)
		return
	}
	defer w.Release()
	data, err := host.ReadFile(w.ApprovalsPath(), project.MaxApprovals)
	if err != nil {
		return
	}
	approvals, err := project.ParseApprovals(data, w.Dir)
	if err != nil {
		return
	}
	a, ok := approvals.Servers[name]
	if !ok || !evidence.Same(a.Entry, l.Entry.Approvable()) {
		return
	}
	a.Trees = maps.Clone(a.Trees)
	if a.Trees == nil {
		a.Trees = map[string]digest.Digest{}
	}
	a.Trees[platform] = tree
	approvals.Servers[name] = a
	if data, err = approvals.Encode(); err == nil {
		err = durable.WriteFile(w.ApprovalsPath(), data, 0o600)
	}
	if err != nil {
		w.Host.Logger.Warn("noting what was installed", "error", err)
	}
}
