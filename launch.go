package hallmark

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/guard"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// RunOptions say how to run a server.
type RunOptions struct {
	Settings  policy.Settings
	TrustLock bool     // accept what the lock holds without this machine's approval
	Arguments []string // more arguments for the server, after those that are locked
	Stdin     io.Reader
	Stdout    io.Writer
	Stderr    io.Writer
	Log       io.Writer // audit lines; may be nil
	// Judged is told the verdict before the server starts; may be nil.
	Judged func(policy.Verdict)
}

// Run verifies everything that the lock claims of a server, starts it from the verified
// bytes and relays between it and the client until one of them ends. The server's exit
// code is returned. If anything is refused nothing has been started.
func Run(ctx context.Context, h *Host, dir, name string, o RunOptions) (exitCode int, err error) {
	w, done, err := openWorkspace(ctx, h, dir, false)
	if err != nil {
		return 0, err
	}
	defer done()
	declared, err := w.server(name)
	if err != nil {
		return 0, err
	}
	entry, locked := w.lock.Server(name)
	l := &launch{w: w, o: o, declared: declared}
	if locked {
		l.entry = &entry
	}
	prog, adm, err := l.prepare(ctx)
	if prog != nil {
		defer prog.close()
	}
	w.release()
	if o.Judged != nil && l.verdict.Flow != "" {
		o.Judged(l.verdict)
	}
	if err != nil {
		return 0, err
	}
	process, err := prog.start(ctx, h, adm, o.Arguments)
	if err != nil {
		return 0, evidence.Errorf(evidence.ClassOf(err), name, "", err)
	}
	options := guard.Options{Server: name, OnDrift: declared.OnDrift, Stderr: o.Stderr, Log: o.Log}
	if locked {
		options.Approved = guard.Approved{Items: entry.SurfaceItems, Exclude: declared.Excluded()}
		options.Observed = func(r guard.Report) { l.observed(r) }
	} else {
		options.Approved.Exclude = everyKind() // nothing was approved, so nothing is compared
	}
	// The guard passes signals on to the server, and ends when the server does.
	return guard.Relay(context.WithoutCancel(ctx), o.Stdin, o.Stdout, process, options)
}

func everyKind() map[surface.Kind]bool {
	return map[surface.Kind]bool{
		surface.KindInstructions: true, surface.KindTool: true, surface.KindPrompt: true,
		surface.KindResource: true, surface.KindTemplate: true,
	}
}

// launch is one server on its way to being started.
type launch struct {
	w        *workspace
	o        RunOptions
	declared project.Server
	entry    *project.ServerLock // nil: not locked
	report   evidence.Report
	verdict  policy.Verdict
}

// judge decides about what was gathered so far, together with more.
func (l *launch) judge(more evidence.Report) (policy.Admitted, error) {
	l.verdict = policy.Judge(policy.Launch, l.o.Settings, append(slices.Clone(l.report), more...))
	return l.verdict.Admitted(), l.verdict.Err()
}

func (l *launch) prepare(ctx context.Context) (prog *program, adm policy.Admitted, err error) {
	l.report = append(l.report, l.w.launchEvidence(l.declared, l.entry))
	if l.entry == nil {
		if l.declared.Record != "" {
			// Without a lock nothing says which bytes the record names.
			l.o.Settings.RequireLock = true
			_, err := l.judge(nil)
			return nil, adm, err
		}
		prog, err = l.w.commandProgram(l.declared, nil, l.w.host.Getenv("PATH"), nil)
		if err != nil {
			return prog, adm, err
		}
		l.report = append(l.report, prog.report...)
		adm, err = l.judge(nil)
		return prog, adm, err
	}
	approval, approved := l.w.approvals.Servers[l.declared.Name]
	l.report = append(l.report, l.w.approvalEvidence(l.declared.Name, *l.entry, l.o.TrustLock))
	files, err := l.w.storedEvidence(l.declared.Name, *l.entry)
	if err != nil {
		return nil, adm, err
	}
	l.report = append(l.report, files...)
	var closure []byte
	if l.entry.Closure != nil {
		if closure, err = readFile(l.w.closurePath(l.declared.Name), project.MaxClosure); err != nil {
			return nil, adm, err
		}
	}
	l.w.release() // all files are read, and what follows may take minutes
	// Who may not run this needs no further work, and learns so at once.
	if _, err := l.judge(nil); err != nil {
		return nil, adm, err
	}
	if !approved {
		approval = project.Approval{Path: l.w.host.Getenv("PATH")}
	}
	if l.entry.Source == "npm" {
		prog, err = l.preparePackage(ctx, approval, closure)
	} else {
		prog, err = l.w.commandProgram(l.declared, l.entry, approval.Path, approval.Runtime)
		if err == nil {
			l.report = append(l.report, prog.report...)
			l.report = append(l.report, missingArtifacts(*l.entry, prog)...)
		}
	}
	if err != nil {
		return prog, adm, err
	}
	adm, err = l.judge(nil)
	return prog, adm, err
}

func (l *launch) preparePackage(ctx context.Context, approval project.Approval, data []byte) (*program, error) {
	name := l.declared.Name
	prog, err := l.w.nodeProgram(ctx, name, approval.Path, approval.Runtime)
	if err != nil {
		return prog, err
	}
	l.report = append(l.report, prog.report...)
	st, err := l.w.host.store()
	if err != nil {
		return prog, err
	}
	key := platform(prog.runtime)
	want := l.entry.Closure.Trees[key]
	var in *installed
	if !want.IsZero() {
		if in, err = auditSlot(ctx, st, name, key, want); err != nil {
			return prog, err
		}
	}
	if in == nil {
		closure, err := project.ParseClosure(data) // its digest was compared with the lock above
		if err != nil {
			return prog, evidence.Errorf(evidence.Validation, project.ClosureSubject(name), "", err)
		}
		in, err = l.w.install(ctx, st, installation{
			server: name, platform: key, closure: closure, where: project.ClosureSubject(name), want: want,
			fetched: func(t *tarballs) (evidence.Report, error) {
				return evidence.Report{evidence.Compare(evidence.Claim{
					Subject: l.entry.Ref, Scheme: evidence.File, Authority: evidence.Lock,
					Want: []digest.Digest{l.entry.Artifacts[l.entry.Ref]}, Where: project.LockFile,
				}, t.rootOb)}, nil
			},
		}, l.judge)
		if err != nil {
			return prog, err
		}
	}
	l.report = append(l.report, in.report...)
	if in.slot == nil {
		_, err := l.judge(nil)
		return prog, err
	}
	prog.onSlot(in.slot, l.entry.Entry, l.entry.Arguments, l.entry.Variables)
	return prog, nil
}

// launchEvidence compares how a server is declared with how it was when it was locked.
func (w *workspace) launchEvidence(s project.Server, locked *project.ServerLock) evidence.Evidence {
	c := evidence.Claim{Subject: s.Name, Scheme: evidence.Launch, Authority: evidence.Lock, Where: project.LockFile}
	if locked != nil {
		c.Want = []digest.Digest{locked.Launch.Digest()}
	}
	return evidence.Compare(c, evidence.Observed{
		Digests: []digest.Digest{s.Launch().Digest()}, From: fmt.Sprintf("%s line %d", project.ConfigFile, s.Line),
	})
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

// storedEvidence compares the files beside the lock with the digests in it.
func (w *workspace) storedEvidence(name string, entry project.ServerLock) (evidence.Report, error) {
	var report evidence.Report
	data, err := readFile(w.surfacePath(name), maxSurface)
	if err != nil {
		return nil, err
	}
	claim := evidence.Claim{
		Subject: project.SurfacesDir + "/" + name + ".json", Scheme: evidence.Document, Authority: evidence.Lock,
		Want: []digest.Digest{entry.Surface}, Where: project.LockFile + ", surface",
	}
	if data == nil {
		report = append(report, evidence.CannotVerify(claim, evidence.NotFound, "there is no such file"))
	} else if s, err := surface.Read(data); err != nil {
		report = append(report, evidence.Compare(claim, evidence.Observed{
			Digests: []digest.Digest{digest.FromBytes(data)}, Size: int64(len(data)), From: "the file, which is no canonical surface: " + err.Error(),
		}))
	} else {
		report = append(report, evidence.Compare(claim, evidence.Observed{
			Digests: []digest.Digest{s.Digest()}, Size: int64(len(data)), From: "the file",
		}), w.itemsEvidence(claim, entry, s))
	}
	if entry.Closure == nil {
		return report, nil
	}
	if data, err = readFile(w.closurePath(name), project.MaxClosure); err != nil {
		return nil, err
	}
	claim = evidence.Claim{
		Subject: project.ClosureSubject(name), Scheme: evidence.Document, Authority: evidence.Lock,
		Want: []digest.Digest{entry.Closure.Lock}, Where: project.LockFile + ", closure",
	}
	if data == nil {
		return append(report, evidence.CannotVerify(claim, evidence.NotFound, "there is no such file")), nil
	}
	return append(report, evidence.Compare(claim, evidence.Observed{
		Digests: []digest.Digest{digest.FromBytes(data)}, Size: int64(len(data)), From: "the file",
	})), nil
}

// itemsEvidence compares surface_items, by which the guard judges, with the surface
// that a person can read: an entry whose two halves differ was not written by us.
func (w *workspace) itemsEvidence(c evidence.Claim, entry project.ServerLock, s *surface.Surface) evidence.Evidence {
	c.Subject, c.Where = c.Subject+" (items)", project.LockFile+", surface_items"
	c.Want = []digest.Digest{itemsDigest(entry.SurfaceItems)}
	items := map[string]digest.Digest{}
	for _, item := range s.Items() {
		items[item.Key()] = item.Digest
	}
	return evidence.Compare(c, evidence.Observed{Digests: []digest.Digest{itemsDigest(items)}, From: "the file"})
}

func itemsDigest(items map[string]digest.Digest) digest.Digest {
	h := digest.NewHasher()
	for _, key := range slices.Sorted(maps.Keys(items)) {
		fmt.Fprintf(h, "%q %s\n", key, items[key])
	}
	return h.Digest(digest.SHA256)
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
			}, evidence.NotFound, "the command line does not use it"))
		}
	}
	return report
}

// observed notes drift in the state directory, for check and review, and removes the
// note once the server shows the locked surface again. Drift is enforced by the guard;
// a note that cannot be written costs the report, not the protection.
func (l *launch) observed(r guard.Report) {
	path := l.w.driftPath(l.declared.Name)
	if len(r.Drift) == 0 {
		if len(r.Failed) == 0 {
			if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
				l.w.host.Logger.Warn("removing a drift note", "error", err)
			}
		}
		return
	}
	note := project.DriftNote{Server: l.declared.Name, At: l.w.host.Now().UTC(), Locked: l.entry.Surface, Items: map[string]project.DriftItem{}}
	for _, d := range r.Drift {
		note.Items[d.Key] = project.DriftItem{Reason: d.Reason, Want: d.Want, Got: d.Got}
	}
	if s, err := surface.New(r.Listing); err == nil {
		note.Surface = s.Canonical()
	}
	data, err := note.Encode()
	if err == nil {
		err = os.MkdirAll(l.w.state, 0o700)
	}
	if err == nil {
		err = durable.WriteFile(path, data, 0o600)
	}
	if err != nil {
		l.w.host.Logger.Warn("noting drift", "server", l.declared.Name, "error", err)
	}
}
