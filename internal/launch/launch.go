// Package launch runs a locked server under guard, and reviews what changed. Before a server starts,
// all that its lock entry claims is recomputed and judged. This machine must have approved the
// entry, unless the lock is trusted. The guard relays messages and withholds items
// that are not locked. It writes these into a drift note, which [Review] shows and approves.
package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/guard"
	"github.com/hallmark-mcp/hallmark/internal/guard/process"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/kind"
	"github.com/hallmark-mcp/hallmark/internal/owed"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
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
	// Judged receives the verdict before the server starts; may be nil.
	Judged func(policy.Verdict)
	// Ask asks a person at the terminal to approve what this machine has not approved yet; nil if
	// no person can be asked, so that it is refused.
	Ask func(*Reviewed) (host.Consent, error)
}

// Run verifies everything that the lock claims about a server, starts the server from the verified
// bytes, and relays between it and the client until one of them ends. It returns the server's exit
// code. After a refusal nothing was started, and the client's first request is answered with the reason.
func Run(ctx context.Context, h *host.Host, dir, name string, o RunOptions) (exitCode int, err error) {
	exitCode, verdict, started, err := runWithoutAsking(ctx, h, dir, name, o)
	if o.Ask == nil || !workspace.LacksOnlyApproval(verdict) {
		if err != nil && !started && o.Ask == nil {
			guard.AnswerRefusal(ctx, o.Stdin, o.Stdout, name, err)
		}
		return exitCode, err
	}
	r, err := Review(ctx, h, dir, name, ReviewOptions{Arguments: o.Arguments, Unlocked: o.Unlocked, Confirm: o.Ask})
	if err != nil || r.Clean {
		return 0, err
	}
	exitCode, _, _, err = runWithoutAsking(ctx, h, dir, name, o)
	return exitCode, err
}

// runWithoutAsking is Run without a question to a person. started says that the server was, so that it has the client's
// input.
func runWithoutAsking(ctx context.Context, h *host.Host, dir, name string, o RunOptions) (exitCode int,
	judged policy.Verdict, started bool, err error) {
	w, done, err := workspace.Open(ctx, h, dir, false)
	if err != nil {
		return 0, judged, false, err
	}
	defer done()
	declared, err := w.Server(name)
	if err != nil {
		return 0, judged, false, err
	}
	entry, locked := w.Lock.Server(name)
	l := &Launch{Workspace: w, Logs: w.Logs(trail.Options{Key: o.LogKey}), Options: o, Declared: declared}
	if locked {
		l.Entry = &entry
	}
	withClient, stopWatching := process.UntilBroken(ctx, o.Stdout)
	defer stopWatching()
	prog, adm, err := l.Prepare(withClient)
	judged = l.verdict
	if prog != nil {
		defer prog.Close()
	}
	w.Release()
	if o.Judged != nil && l.verdict.Flow != "" {
		o.Judged(l.verdict)
	}
	if err != nil {
		return 0, judged, false, err
	}
	stopWatching()
	startDir := l.startDir()
	if err := l.checkNamedCode(prog, cmp.Or(prog.Dir, startDir)); err != nil {
		return 0, judged, false, err
	}
	process, err := prog.Start(ctx, h, adm, startDir, o.Arguments)
	if err != nil {
		return 0, judged, false, evidence.Errorf(evidence.ClassOf(err), name, "", err)
	}
	// The guard passes signals on to the server, and ends when the server does, with its code. A signal that came
	// before the guard listened has ended ctx alone.
	exitCode, _ = guard.Relay(ctx, o.Stdin, o.Stdout, process, l.guardOptions())
	return exitCode, judged, true, nil
}

// guardOptions are those for the server, whose entry, if it has one, says what was approved.
func (l *Launch) guardOptions() guard.Options {
	options := guard.Options{
		Server: l.Declared.Name, Review: "hallmark review " + l.Declared.Name + l.Workspace.ProjectFlag(),
		OnDrift: l.Declared.OnDrift, ServerRequests: l.Declared.Requests, Stderr: l.Options.Stderr, Log: l.Options.Log,
	}
	if l.Entry != nil {
		options.Approved = guard.Approved{
			Items: l.Entry.SurfaceItems, Varying: l.Entry.Varying, Exclude: l.Declared.Excluded(),
		}
		options.Observed = func(r guard.Report) { l.noteDrift(r) }
		return options
	}
	options.Approved.Exclude = map[surface.Kind]bool{} // nothing was approved, so nothing is compared
	for _, kind := range surface.Kinds() {
		options.Approved.Exclude[kind] = true
	}
	return options
}

// startDir returns the directory in which the server is started: the project's, so that it finds the same files
// wherever its client was started. What is fetched for the user's own clients belongs to no project, and is started
// where its client is, as without Hallmark, unless it runs code of this disk.
func (l *Launch) startDir() string {
	w := l.Workspace
	if w.Home == "" || l.Entry == nil || l.Entry.Source.Local() || len(l.Entry.Artifacts) > 1 ||
		l.Entry.Launch.Facet != "" {
		return w.Dir
	}
	if dir, err := os.Getwd(); err == nil {
		return dir
	}
	return w.Dir
}

// checkNamedCode refuses code that the server is told to run and that was not hashed: what the arguments of a package
// name in dir, in which it is started, and what further arguments name, which a person approved by their text.
func (l *Launch) checkNamedCode(p *program.Program, dir string) error {
	if l.Entry == nil || !l.Entry.Source.HasClosure() && !l.Entry.Source.Local() {
		return nil
	}
	hint := "write its whole path in the arguments, and run 'hallmark pin "
	arguments := l.Options.Arguments
	if dir != l.Workspace.Dir && l.Entry.Source.HasClosure() {
		arguments = slices.Concat(l.Entry.Arguments, arguments)
	} else if len(arguments) > 0 {
		hint = "name it in 'arguments' in hallmark.toml, and run 'hallmark pin "
	}
	file, err := kind.FindNamedCode(l.Workspace, l.Declared, *l.Entry, p, dir, arguments)
	if err != nil || file == "" {
		return err
	}
	return evidence.Errorf(evidence.Refused, l.Declared.Name, hint+l.Declared.Name+l.Workspace.ProjectFlag()+"'",
		fmt.Errorf("its arguments name code that is not locked: %s", surface.Escape(file)))
}

// Launch is one server that is being prepared for its start.
type Launch struct {
	Workspace       *workspace.Workspace
	Logs            *trail.Logs
	Options         RunOptions
	Declared        project.Server
	Entry           *project.ServerLock // nil: not locked
	fromCommandLine bool                // a person named the command line itself, and no project does
	expectations    owed.List
	report          evidence.Report
	verdict         policy.Verdict
}

// judge judges the evidence so far together with more.
func (l *Launch) judge(more evidence.Report) (policy.Admitted, error) {
	flow := policy.Launch
	if l.Entry == nil {
		flow = policy.Bare
	}
	report := append(slices.Clone(l.report), more...)
	l.verdict = policy.Judge(flow, l.Options.Settings, report.About(l.Workspace.ServerEntry(l.Declared.Name)))
	return l.verdict.Admitted(), l.verdict.Err()
}

// addConsent adds evidence of what is declared and given as arguments, and of who agreed to it.
func (l *Launch) addConsent(ctx context.Context, approval project.Approval) error {
	l.report = append(l.report, workspace.LaunchEvidence(l.Workspace, l.Declared, l.Entry))
	l.report = append(l.report, l.argumentsEvidence(approval)...)
	l.report = append(l.report, workspace.InnerEvidence(l.Declared, l.Entry.Arguments, l.Options.Arguments)...)
	consent := workspace.ApprovalEvidence(l.Workspace, l.Declared.Name, *l.Entry, l.Options.TrustLock)
	l.report = append(l.report, consent)
	if consent.Outcome != evidence.Waived { // who approved the entry was shown what declares the server
		return nil
	}
	origin, err := workspace.OriginEvidence(ctx, l.Workspace, l.Declared.Name, *l.Entry)
	l.report = append(l.report, origin...)
	return err
}

// Prepare verifies all claims about the server, and returns the program and the admission to start
// it. The caller closes the program, which may be non-nil beside an error.
func (l *Launch) Prepare(ctx context.Context) (prog *program.Program, adm policy.Admitted, err error) {
	if l.Declared.Remote() && len(l.Options.Arguments) > 0 {
		return nil, adm, evidence.Errorf(evidence.Validation, l.Declared.Name, "",
			errors.New("a server that is reached by its URL takes no arguments"))
	}
	demands, err := l.Workspace.Demands(l.Logs)
	if err != nil {
		return nil, adm, err
	}
	demands.RequireLock = l.Options.Settings.RequireLock
	name := l.Declared.Name
	l.expectations = demands.Server(name)
	if l.Entry == nil {
		return l.prepareUnlocked(ctx)
	}
	approval, approved := l.Workspace.Approvals.Servers[name]
	if err := l.addConsent(ctx, approval); err != nil {
		return nil, adm, err
	}
	files, err := workspace.ReadStored(l.Workspace, name, *l.Entry)
	if err != nil {
		return nil, adm, err
	}
	l.report = append(l.report, files.Report...)
	proof, err := l.Logs.LockedProof(l.Entry.Record)
	if err != nil {
		return nil, adm, err
	}
	l.report = l.expectations.Settle(append(l.report, proof...))
	l.Workspace.Release() // all files are read, and what follows may take minutes
	// Judge before opening or installing anything: a refusal must not wait for that work.
	if _, err := l.judge(nil); err != nil {
		return nil, adm, err
	}
	if !approved {
		approval = project.Approval{Path: l.Workspace.Host.Getenv("PATH")}
	}
	if prog, err = l.open(ctx, approval, files.Closure); err != nil {
		return prog, adm, err
	}
	if approved && !l.Options.TrustLock {
		l.report = append(l.report, runtimeEvidence(name, approval, prog)...)
	}
	l.report = append(l.report, missingRuntime(approval, prog)...)
	adm, err = l.judge(nil)
	return prog, adm, err
}

// missingRuntime is evidence against a program that is started without the interpreter that was approved.
func missingRuntime(approval project.Approval, prog *program.Program) evidence.Report {
	if approval.Runtime == nil || prog.Runtime != nil {
		return nil
	}
	return evidence.Report{evidence.CannotVerify(evidence.Claim{
		Subject: approval.Runtime.Path, Scheme: evidence.File, Authority: evidence.Machine,
		Want: []digest.Digest{approval.Runtime.Digest}, Where: "what was approved on this machine",
	}, evidence.NotFound, "the server would be started without it")}
}

// open makes what is locked startable, and remembers the trees that this machine made for it.
func (l *Launch) open(ctx context.Context, approval project.Approval,
	closure *project.Closure) (*program.Program, error) {
	opened, err := kind.Of(l.Entry.Source).Open(ctx, kind.Locked{
		Workspace: l.Workspace, Logs: l.Logs, Server: l.Declared, Entry: *l.Entry, Approval: approval,
		Closure: closure, TrustLock: l.Options.TrustLock, Judge: l.judge,
	})
	prog := opened.Program
	l.report = append(l.report, opened.Report...)
	for platform, tree := range opened.Made {
		l.recordTree(ctx, platform, tree)
	}
	if err != nil {
		return prog, err
	}
	prog.Values = l.Declared.Environment
	return prog, nil
}
