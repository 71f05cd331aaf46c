package hallmark

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/guard"
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
	Ask func(*Reviewed) (Consent, error)
}

// Run verifies everything that the lock claims of a server, starts it from the verified
// bytes and relays between it and the client until one of them ends. The server's exit
// code is returned. If anything is refused nothing has been started.
func Run(ctx context.Context, h *Host, dir, name string, o RunOptions) (exitCode int, err error) {
	exitCode, verdict, err := run(ctx, h, dir, name, o)
	if o.Ask == nil || !unapproved(verdict) {
		return exitCode, err
	}
	r, err := Review(ctx, h, dir, name, ReviewOptions{Arguments: o.Arguments, Unlocked: o.Unlocked, Confirm: o.Ask})
	if err != nil || r.Clean {
		return 0, err
	}
	exitCode, _, err = run(ctx, h, dir, name, o)
	return exitCode, err
}

// unapproved reports whether nothing but a person's approval is missing of what was judged.
func unapproved(v policy.Verdict) bool {
	refused := v.Refused()
	for _, f := range refused {
		e := f.Evidence
		if e.Authority != evidence.Machine || e.Outcome != evidence.Absent || e.Scheme != evidence.Approval && e.Scheme != evidence.Launch {
			return false
		}
	}
	return len(refused) > 0
}

// run is Run, without asking anybody.
func run(ctx context.Context, h *Host, dir, name string, o RunOptions) (exitCode int, judged policy.Verdict, err error) {
	w, done, err := openWorkspace(ctx, h, dir, false)
	if err != nil {
		return 0, judged, err
	}
	defer done()
	w.logOptions.Key = o.LogKey
	declared, err := w.server(name)
	if err != nil {
		return 0, judged, err
	}
	entry, locked := w.lock.Server(name)
	l := &launch{w: w, o: o, declared: declared}
	if locked {
		l.entry = &entry
	}
	attended, unattended := guard.Attended(ctx, o.Stdout)
	defer unattended()
	prog, adm, err := l.prepare(attended)
	judged = l.verdict
	if prog != nil {
		defer prog.close()
	}
	w.release()
	if o.Judged != nil && l.verdict.Flow != "" {
		o.Judged(l.verdict)
	}
	if err != nil {
		return 0, judged, err
	}
	unattended()
	process, err := prog.start(ctx, h, adm, w.dir, o.Arguments)
	if err != nil {
		return 0, judged, evidence.Errorf(evidence.ClassOf(err), name, "", err)
	}
	options := guard.Options{Server: name, OnDrift: declared.OnDrift, ServerRequests: declared.Requests, Stderr: o.Stderr, Log: o.Log}
	if locked {
		options.Approved = guard.Approved{Items: entry.SurfaceItems, Exclude: declared.Excluded()}
		options.Observed = func(r guard.Report) { l.observed(r) }
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

// launch is one server on its way to being started.
type launch struct {
	w        *workspace
	o        RunOptions
	declared project.Server
	entry    *project.ServerLock // nil: not locked
	named    bool                // a person named the command line itself, and no project does
	owed     owed.List
	report   evidence.Report
	verdict  policy.Verdict
}

// judge decides about what was gathered so far, together with more.
func (l *launch) judge(more evidence.Report) (policy.Admitted, error) {
	flow := policy.Launch
	if l.entry == nil {
		flow = policy.Bare
	}
	l.verdict = policy.Judge(flow, l.o.Settings, append(slices.Clone(l.report), more...))
	return l.verdict.Admitted(), l.verdict.Err()
}

func (l *launch) prepare(ctx context.Context) (prog *program, adm policy.Admitted, err error) {
	if l.declared.Type == "http" && len(l.o.Arguments) > 0 {
		return nil, adm, evidence.Errorf(evidence.Validation, l.declared.Name, "", errors.New("a server that is reached by its URL takes no arguments"))
	}
	books, err := l.w.books()
	if err != nil {
		return nil, adm, err
	}
	books.RequireLock = l.o.Settings.RequireLock
	name := l.declared.Name
	l.owed = books.Server(name)
	if l.entry == nil {
		return l.prepareBare(ctx)
	}
	l.report = append(l.report, l.w.launchEvidence(l.declared, l.entry))
	approval, approved := l.w.approvals.Servers[name]
	l.report = append(l.report, l.argumentsEvidence(approval)...)
	l.report = append(l.report, l.w.approvalEvidence(name, *l.entry, l.o.TrustLock))
	files, err := l.w.readStored(name, *l.entry)
	if err != nil {
		return nil, adm, err
	}
	l.report = append(l.report, files.report...)
	proof, err := l.w.lockedProof(l.entry.Record)
	if err != nil {
		return nil, adm, err
	}
	l.report = l.owed.Settle(append(l.report, proof...))
	l.w.release() // all files are read, and what follows may take minutes
	// Who may not run this needs no further work, and learns so at once.
	if _, err := l.judge(nil); err != nil {
		return nil, adm, err
	}
	if !approved {
		approval = project.Approval{Path: l.w.host.Getenv("PATH")}
	}
	if l.entry.Source == "image" || l.entry.Closure != nil {
		l.report = append(l.report, l.w.verifyBlock(l.declared, approval.Path, "", nil)...)
		if _, err := l.judge(nil); err != nil {
			return nil, adm, err
		}
	}
	switch {
	case l.entry.Source == "http":
		l.report = append(l.report, remoteEvidence(*l.entry))
		prog, err = l.w.remoteProgram(l.declared)
	case l.entry.Source == "image":
		l.report = append(l.report, engineEvidence(*l.entry))
		if prog, err = l.w.imageProgram(l.declared, l.entry.Digest, approval.Path, approval.Runtime); err == nil {
			l.report = append(l.report, prog.report...)
		}
	case l.entry.Source == project.KindArtifact:
		prog, err = l.prepareSource(ctx, approval)
	case l.entry.Closure != nil:
		prog, err = l.preparePackage(ctx, approval, files.closure)
	default:
		prog, err = l.w.lockedProgram(ctx, l.declared, l.entry, approval.Path, approval.Runtime)
		if err == nil {
			l.report = append(l.report, prog.report...)
			l.report = append(l.report, missingArtifacts(*l.entry, prog)...)
		}
	}
	if err != nil {
		return prog, adm, err
	}
	prog.values = l.declared.Environment
	if approved && !l.o.TrustLock {
		l.report = append(l.report, forgottenRuntime(name, approval, prog)...)
	}
	if approval.Runtime != nil && prog.runtime == nil {
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
func (l *launch) preparePackage(ctx context.Context, approval project.Approval, closure *project.Closure) (*program, error) {
	name := l.declared.Name
	st, err := l.w.host.store()
	if err != nil {
		return nil, err
	}
	var (
		key                string
		locked, made, look digest.Digest
		in                 *installed
	)
	audit := func(rt *project.Runtime) (err error) {
		key = platform(l.entry.Closure.Engine, rt)
		locked, made = l.entry.Closure.Trees[key], approval.Trees[key]
		look = made
		if l.o.TrustLock && made.IsZero() {
			look = locked
		}
		if !look.IsZero() {
			in, err = auditSlot(ctx, st, name, key, look)
		}
		return err
	}
	var abreast errgroup.Group
	if approval.Runtime != nil { // an interpreter takes as long to hash as many a tree
		abreast.Go(func() error { return audit(approval.Runtime) })
	}
	prog, err := l.w.packageProgram(ctx, name, l.entry.Closure.Engine, approval.Path, approval.Runtime)
	audited := abreast.Wait()
	if err == nil && approval.Runtime == nil {
		audited = audit(prog.runtime)
	}
	if err = cmp.Or(err, audited); err != nil {
		return prog, err
	}
	l.report = append(l.report, prog.report...)
	if in != nil {
		if in.slot == nil {
			l.w.quarantine(ctx, st, in, look)
		} else if !locked.IsZero() { // the audit compared with look only
			in.report = append(in.report, evidence.Compare(evidence.Claim{
				Subject: project.TreeSubject(name, key), Scheme: evidence.Tree, Authority: evidence.Lock,
				Want: []digest.Digest{locked}, Where: project.LockFile,
			}, evidence.Observed{Digests: []digest.Digest{in.slot.Digest}, Size: in.slot.Size, From: in.slot.Dir()}))
		}
	} else {
		if l.entry.Closure.Engine == project.EngineGo && approval.Runtime != nil { // it is about to build
			if err := prog.useToolchain(ctx, approval.Runtime); err != nil {
				return prog, err
			}
			l.report = append(l.report, prog.report...)
		}
		in, err = l.w.install(ctx, st, installation{
			server: name, platform: key, closure: closure, runtime: prog.runtime, where: project.ClosureSubject(name), want: locked, made: made, scripts: l.entry.Closure.Scripts,
			fetched: func(t *packages) (evidence.Report, error) {
				if t.wheel != nil && t.ref.String() != l.entry.Ref {
					return nil, nil // another platform's wheel, which the closure vouches for
				}
				return evidence.Report{evidence.Compare(evidence.Claim{
					Subject: l.entry.Ref, Scheme: schemeOf(t.ref), Authority: evidence.Lock,
					Want: []digest.Digest{l.entry.Artifacts[l.entry.Ref]}, Where: project.LockFile,
				}, t.observed)}, nil
			},
		}, l.judge)
		if err != nil {
			return prog, err
		}
		l.w.recordTree(ctx, name, *l.entry, key, in.slot.Digest)
	}
	l.report = append(l.report, in.report...)
	if in.slot == nil {
		_, err := l.judge(nil)
		return prog, err
	}
	before := len(prog.report)
	err = prog.onPackage(in.slot, *l.entry, l.w.host.Getenv("HOME"))
	l.report = append(l.report, prog.report[before:]...)
	return prog, err
}

// recordTree notes which tree this machine made of a closure, beside its approval. Without
// an approval there is nothing to note, and the next run installs again.
func (w *workspace) recordTree(ctx context.Context, name string, entry project.ServerLock, platform string, tree digest.Digest) {
	if err := w.hold(ctx); err != nil {
		w.host.Logger.Warn("noting what was installed", "error", err)
		return
	}
	defer w.release()
	data, err := readFile(w.approvalsPath(), project.MaxApprovals)
	if err != nil {
		return
	}
	approvals, err := project.ParseApprovals(data, w.dir)
	if err != nil {
		return
	}
	a, ok := approvals.Servers[name]
	if !ok || !evidence.Same(a.Entry, entry.Approvable()) {
		return
	}
	a.Trees = maps.Clone(a.Trees)
	if a.Trees == nil {
		a.Trees = map[string]digest.Digest{}
	}
	a.Trees[platform] = tree
	approvals.Servers[name] = a
	if data, err = approvals.Encode(); err == nil {
		err = durable.WriteFile(w.approvalsPath(), data, 0o600)
	}
	if err != nil {
		w.host.Logger.Warn("noting what was installed", "error", err)
	}
}

// launchEvidence compares how a server is declared with how it was when it was locked.
func (w *workspace) launchEvidence(s project.Server, locked *project.ServerLock) evidence.Evidence {
	c := evidence.Claim{Subject: s.Name, Scheme: evidence.Launch, Authority: evidence.Lock, Where: project.LockFile}
	if locked != nil {
		c.Want = []digest.Digest{locked.Launch.Digest()}
	}
	if s.Line == 0 && s.Facet == "" {
		return evidence.Compare(c, evidence.Observed{Digests: []digest.Digest{s.Launch().Digest()}, From: "the command line"})
	}
	from := fmt.Sprintf("%s line %d", project.ConfigFile, s.Line)
	if s.Line == 0 {
		from = "the facet " + s.Facet
	}
	e := evidence.Compare(c, evidence.Observed{Digests: []digest.Digest{s.Launch().Digest()}, From: from})
	if why := unbound(s, locked); why != "" && e.Outcome == evidence.Match {
		e.Outcome, e.Reason = evidence.Mismatch, why
	}
	return e
}

// approvalEvidence says whether this machine approved the entry.
func (w *workspace) approvalEvidence(name string, entry project.ServerLock, trustLock bool) evidence.Evidence {
	c := evidence.Claim{Subject: name, Scheme: evidence.Approval, Authority: evidence.Machine, Where: "what was approved on this machine"}
	o := evidence.Observed{Digests: []digest.Digest{entry.Approvable()}, From: "the entry of " + project.LockFile}
	if a, ok := w.approvals.Servers[name]; ok {
		c.Want = []digest.Digest{a.Entry}
	}
	e := evidence.Compare(c, o)
	if e.Outcome != evidence.Match && trustLock {
		return evidence.Waive(c, o, "--trust-lock")
	}
	return e
}

// missingArtifacts is evidence of files that the lock names and the declaration no
// longer uses.
func missingArtifacts(entry project.ServerLock, p *program) evidence.Report {
	var report evidence.Report
	for _, key := range slices.Sorted(maps.Keys(entry.Artifacts)) {
		if _, ok := p.artifacts[key]; !ok {
			report = append(report, evidence.CannotVerify(evidence.Claim{
				Subject: key, Scheme: evidence.File, Authority: evidence.Lock,
				Want: []digest.Digest{entry.Artifacts[key]}, Where: project.LockFile,
			}, evidence.NotFound, "the command line does not use it, or it is gone"))
		}
	}
	return report
}

// observed notes drift in the state directory, for check and review. A note stays until
// a person reviewed it: a server that behaves the next time has not taken it back. Drift
// is enforced by the guard; a note that cannot be written costs the report only.
func (l *launch) observed(r guard.Report) {
	items := map[string]project.DriftItem{}
	for _, key := range r.Absent {
		items[key] = project.DriftItem{Reason: guard.NotShown, Want: l.entry.SurfaceItems[key]}
	}
	if len(r.Drift) == 0 && !l.mayNotice(len(items)) {
		return
	}
	for _, d := range r.Drift {
		items[d.Key] = project.DriftItem{Reason: d.Reason, Want: d.Want, Got: d.Got}
	}
	var canonical []byte
	if s, err := surface.New(r.Listing); err == nil {
		canonical = s.Canonical()
	}
	l.note(items, canonical)
}

// mayNotice reports whether a notice of n items that are not shown is to be written: it does not
// take the place of drift. A notice that nothing is left of is removed.
func (l *launch) mayNotice(n int) bool {
	note, err := l.w.drift(l.declared.Name, *l.entry)
	switch {
	case err != nil || note != nil && !note.OnlyNotice(guard.NotShown):
		return false
	case n == 0 && note != nil:
		os.Remove(l.w.driftPath(l.declared.Name))
	}
	return n > 0
}

// note writes down which items drifted, and the surface that was seen, nil if it has no
// canonical form.
func (l *launch) note(items map[string]project.DriftItem, canonical []byte) {
	note := project.DriftNote{Server: l.declared.Name, At: l.w.host.Now().UTC(), Locked: l.entry.Surface, Items: items, Surface: canonical}
	data, err := note.Encode()
	if err == nil {
		err = os.MkdirAll(l.w.state, 0o700)
	}
	if err == nil {
		err = durable.WriteFile(l.w.driftPath(l.declared.Name), data, 0o600)
	}
	if err != nil {
		l.w.host.Logger.Warn("noting drift", "server", l.declared.Name, "error", err)
	}
}
