// Package launch runs a locked server under guard, and reviews what changed.
package launch

import (
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/closure"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/guard"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/local"
	"github.com/hallmark-mcp/hallmark/internal/lockentry"
	"github.com/hallmark-mcp/hallmark/internal/pin"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/owed"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// RunOptions say how to run a server.
type RunOptions struct {
	Settings  policy.Settings
	TrustLock bool     // accept what the lock holds without this machine's approval
	Unlocked  bool     // start a server that hallmark.lock has no entry of, if this machine approved its launch line
	Arguments []string // more arguments for the server, after those that are locked
	Stdin     io.Reader
	Stdout    io.Writer
	Stderr    io.Writer
	Log       io.Writer // audit lines; may be nil
	LogKey    string    // of the registry's log; "": as this machine knows it
	// Judged is told the verdict before the server starts; may be nil.
	Judged func(policy.Verdict)
	// Ask asks a person at the terminal for what this machine has not approved yet; nil where
	// nobody can be asked, which refuses it.
	Ask func(*Reviewed) (host.Consent, error)
}

// Run verifies everything that the lock claims of a server, starts it from the verified
// bytes and relays between it and the client until one of them ends. The server's exit
// code is returned. If anything is refused nothing has been started.
func Run(ctx context.Context, h *host.Host, dir, name string, o RunOptions) (exitCode int, err error) {
	exitCode, verdict, err := runWithoutAsking(ctx, h, dir, name, o)
	if o.Ask == nil || !lockentry.LacksOnlyApproval(verdict) {
		return exitCode, err
	}
	r, err := Review(ctx, h, dir, name, ReviewOptions{Arguments: o.Arguments, Unlocked: o.Unlocked, Confirm: o.Ask})
	if err != nil || r.Clean {
		return 0, err
	}
	exitCode, _, err = runWithoutAsking(ctx, h, dir, name, o)
	return exitCode, err
}

// runWithoutAsking is Run, without asking anybody.
func runWithoutAsking(ctx context.Context, h *host.Host, dir, name string, o RunOptions) (exitCode int, judged policy.Verdict, err error) {
	w, done, err := workspace.Open(ctx, h, dir, false)
	if err != nil {
		return 0, judged, err
	}
	defer done()
	w.LogOptions.Key = o.LogKey
	declared, err := w.Server(name)
	if err != nil {
		return 0, judged, err
	}
	entry, locked := w.Lock.Server(name)
	l := &Launch{Workspace: w, Options: o, Declared: declared}
	if locked {
		l.Entry = &entry
	}
	attended, unattended := guard.Attended(ctx, o.Stdout)
	defer unattended()
	prog, adm, err := l.Prepare(attended)
	judged = l.verdict
	if prog != nil {
		defer prog.Close()
	}
	w.Release()
	if o.Judged != nil && l.verdict.Flow != "" {
		o.Judged(l.verdict)
	}
	if err != nil {
		return 0, judged, err
	}
	unattended()
	process, err := prog.Start(ctx, h, adm, w.Dir, o.Arguments)
	if err != nil {
		return 0, judged, evidence.Errorf(evidence.ClassOf(err), name, "", err)
	}
	options := guard.Options{Server: name, OnDrift: declared.OnDrift, ServerRequests: declared.Requests, Stderr: o.Stderr, Log: o.Log}
	if locked {
		options.Approved = guard.Approved{Items: entry.SurfaceItems, Exclude: declared.Excluded()}
		options.Observed = func(r guard.Report) { l.noteDrift(r) }
	} else {
		options.Approved.Exclude = map[surface.Kind]bool{} // nothing was approved, so nothing is compared
		for _, kind := range surface.Kinds() {
			options.Approved.Exclude[kind] = true
		}
	}
	// The guard passes signals on to the server, and ends when the server does.
	exitCode, err = guard.Relay(context.WithoutCancel(ctx), o.Stdin, o.Stdout, process, options)
	return exitCode, judged, err
}

// Launch is one server on its way to being started.
type Launch struct {
	Workspace       *workspace.Workspace
	Options         RunOptions
	Declared        project.Server
	Entry           *project.ServerLock // nil: not locked
	fromCommandLine bool                // a person named the command line itself, and no project does
	expectations    owed.List
	report          evidence.Report
	verdict         policy.Verdict
}

// judge decides about what was gathered so far, together with more.
func (l *Launch) judge(more evidence.Report) (policy.Admitted, error) {
	flow := policy.Launch
	if l.Entry == nil {
		flow = policy.Bare
	}
	l.verdict = policy.Judge(flow, l.Options.Settings, append(slices.Clone(l.report), more...))
	return l.verdict.Admitted(), l.verdict.Err()
}

func (l *Launch) Prepare(ctx context.Context) (prog *program.Program, adm policy.Admitted, err error) {
	if l.Declared.Type == "http" && len(l.Options.Arguments) > 0 {
		return nil, adm, evidence.Errorf(evidence.Validation, l.Declared.Name, "", errors.New("a server that is reached by its URL takes no arguments"))
	}
	books, err := l.Workspace.Books()
	if err != nil {
		return nil, adm, err
	}
	books.RequireLock = l.Options.Settings.RequireLock
	name := l.Declared.Name
	l.expectations = books.Server(name)
	if l.Entry == nil {
		return l.prepareUnlocked(ctx)
	}
	l.report = append(l.report, lockentry.LaunchEvidence(l.Workspace, l.Declared, l.Entry))
	approval, approved := l.Workspace.Approvals.Servers[name]
	l.report = append(l.report, l.argumentsEvidence(approval)...)
	l.report = append(l.report, lockentry.ApprovalEvidence(l.Workspace, name, *l.Entry, l.Options.TrustLock))
	files, err := lockentry.ReadStored(l.Workspace, name, *l.Entry)
	if err != nil {
		return nil, adm, err
	}
	l.report = append(l.report, files.Report...)
	proof, err := lockentry.LockedProof(l.Workspace, l.Entry.Record)
	if err != nil {
		return nil, adm, err
	}
	l.report = l.expectations.Settle(append(l.report, proof...))
	l.Workspace.Release() // all files are read, and what follows may take minutes
	// Who may not run this needs no further work, and learns so at once.
	if _, err := l.judge(nil); err != nil {
		return nil, adm, err
	}
	if !approved {
		approval = project.Approval{Path: l.Workspace.Host.Getenv("PATH")}
	}
	if l.Entry.Source == "image" || l.Entry.Closure != nil {
		l.report = append(l.report, program.VerifyEvidence(l.Workspace, l.Declared, approval.Path, "", nil)...)
		if _, err := l.judge(nil); err != nil {
			return nil, adm, err
		}
	}
	switch {
	case l.Entry.Source == "http":
		l.report = append(l.report, pin.RemoteEvidence(*l.Entry))
		prog, err = pin.OpenRemote(l.Workspace, l.Declared)
	case l.Entry.Source == "image":
		l.report = append(l.report, pin.EngineEvidence(*l.Entry))
		if prog, err = pin.OpenImage(l.Workspace, l.Declared, l.Entry.Digest, approval); err == nil {
			l.report = append(l.report, prog.Report...)
		}
	case l.Entry.Source == project.KindArtifact:
		prog, err = l.prepareSource(ctx, approval)
	case l.Entry.Closure != nil:
		prog, err = l.preparePackage(ctx, approval, files.Closure)
	default:
		prog, err = local.OpenLocked(ctx, l.Workspace, l.Declared, l.Entry, approval)
		if err == nil {
			l.report = append(l.report, prog.Report...)
			l.report = append(l.report, local.MissingArtifacts(*l.Entry, prog)...)
		}
	}
	if err != nil {
		return prog, adm, err
	}
	prog.Values = l.Declared.Environment
	if approved && !l.Options.TrustLock {
		l.report = append(l.report, runtimeEvidence(name, approval, prog)...)
	}
	if approval.Runtime != nil && prog.Runtime == nil {
		l.report = append(l.report, evidence.CannotVerify(evidence.Claim{
			Subject: approval.Runtime.Path, Scheme: evidence.File, Authority: evidence.Machine,
			Want: []digest.Digest{approval.Runtime.Digest}, Where: "what was approved on this machine",
		}, evidence.NotFound, "the server would be started without it"))
	}
	adm, err = l.judge(nil)
	return prog, adm, err
}

// preparePackage finds or makes the installed tree. The tree of a lock is used from the
// store only if this machine made it from the closure itself, or the lock is trusted:
// that a tree follows from the closure is something that a lock merely says.
func (l *Launch) preparePackage(ctx context.Context, approval project.Approval, dependencies *project.Closure) (*program.Program, error) {
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
			Server: name, Platform: key, Closure: dependencies, Runtime: prog.Runtime, Where: project.ClosureSubject(name), Want: locked, Made: made, Scripts: l.Entry.Closure.Scripts,
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

// noteDrift notes drift in the state directory, for check and review. A note stays until
// a person reviewed it: a server that behaves the next time has not taken it back. Drift
// is enforced by the guard; a note that cannot be written costs the report only.
func (l *Launch) noteDrift(r guard.Report) {
	items := map[string]project.DriftItem{}
	for _, key := range r.Absent {
		items[key] = project.DriftItem{Reason: guard.NotShown, Want: l.Entry.SurfaceItems[key]}
	}
	if len(r.Drift) == 0 && !l.mayWriteNotice(len(items)) {
		return
	}
	for _, d := range r.Drift {
		items[d.Key] = project.DriftItem{Reason: d.Reason, Want: d.Want, Got: d.Got}
	}
	var canonical []byte
	if s, err := surface.New(r.Listing); err == nil {
		canonical = s.Canonical()
	}
	l.WriteNote(items, canonical)
}

// mayWriteNotice reports whether a notice of n items that are not shown is to be written: it does not
// take the place of drift. A notice that nothing is left of is removed.
func (l *Launch) mayWriteNotice(n int) bool {
	note, err := l.Workspace.DriftNote(l.Declared.Name, *l.Entry)
	switch {
	case err != nil || note != nil && !note.OnlyNotice(guard.NotShown):
		return false
	case n == 0 && note != nil:
		os.Remove(l.Workspace.DriftPath(l.Declared.Name))
	}
	return n > 0
}

// WriteNote writes down which items drifted, and the surface that was seen, nil if it has no
// canonical form.
func (l *Launch) WriteNote(items map[string]project.DriftItem, canonical []byte) {
	note := project.DriftNote{Server: l.Declared.Name, At: l.Workspace.Host.Now().UTC(), Locked: l.Entry.Surface, Items: items, Surface: canonical}
	data, err := note.Encode()
	if err == nil {
		err = os.MkdirAll(l.Workspace.State, 0o700)
	}
	if err == nil {
		err = durable.WriteFile(l.Workspace.DriftPath(l.Declared.Name), data, 0o600)
	}
	if err != nil {
		l.Workspace.Host.Logger.Warn("noting drift", "server", l.Declared.Name, "error", err)
	}
}
