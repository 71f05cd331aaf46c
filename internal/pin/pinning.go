package pin

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/kind"
	"github.com/hallmark-mcp/hallmark/internal/lockentry"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/record"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Pinning is one server on its way into the lock.
type Pinning struct {
	Workspace *workspace.Workspace
	Logs      *trail.Logs
	Options   Options
	Declared  project.Server
	Path      string
	Result    Pinned
	report    evidence.Report
	found     kind.Resolved // what it was resolved to
	Upgrade   bool          // another version than the locked one, which nobody named
}

// removedItems are the keys of the locked items of kinds that are not excluded that no client is shown
// any more, under no other name either.
func (p *Pinning) removedItems() (gone []string) {
	for _, key := range lockentry.GoneItems(p.Result.Before, p.Result.Surface, p.Declared.Excluded()) {
		if slices.ContainsFunc(p.Result.Changes, func(c surface.Change) bool { return c.Item == key }) {
			gone = append(gone, key)
		}
	}
	return gone
}

// judge admits what was gathered so far, together with more.
func (p *Pinning) judge(more evidence.Report) (policy.Admitted, error) {
	v := policy.Judge(policy.Pin, p.Options.Settings, append(slices.Clone(p.report), more...))
	p.Result.Verdict = v
	return v.Admitted(), v.Err()
}

// Pin resolves, verifies, starts and captures the server, asks for consent, and adds its entry to the
// workspace's lock and approvals. It returns the files beside the lock that change; the caller
// writes these, the lock and the approvals. A dry run returns none.
func (p *Pinning) Pin(ctx context.Context) (files []durable.File, err error) {
	name := p.Declared.Name
	p.Result.Name = name
	if before, ok := p.Workspace.Lock.Server(name); ok {
		p.Result.Before = &before
	}
	if p.Result.Weaker, err = Weakenings(p.Workspace, p.Logs, name, p.Declared.Launch()); err != nil {
		return nil, err
	}
	entry := &p.Result.Entry
	entry.Launch = p.Declared.Launch()
	err = p.resolve(ctx)
	prog := p.found.Program
	if prog != nil {
		defer prog.Close()
	}
	if err != nil {
		return nil, err
	}
	prog.Values = p.Declared.Environment
	p.report = append(p.report, prog.Report...)
	p.Result.Preview = kind.PreviewOf(p.Workspace.Host, p.Declared)
	if len(p.Result.Preview.Hosts) == 0 {
		p.Result.Preview.Hosts = kind.Of(entry.Source).Hosts(p.Workspace.Host, *entry)
	}
	if p.Declared.Record == "" {
		p.addRollback()
	}
	adm, err := p.judge(nil)
	if err != nil {
		return nil, err
	}
	if err := p.requireConsentToStart(prog); err != nil {
		return nil, err
	}
	shown, err := prog.Capture(ctx, p.Workspace, p.Declared, adm, p.Options.Capture)
	if err != nil {
		return nil, err
	}
	p.Result.Surface = shown
	entry.Surface, entry.APISurface, entry.SurfaceItems = shown.Digest(), shown.APISurface(), shown.ItemDigests()
	observed := evidence.Observed{Digests: []digest.Digest{shown.Digest()}, Size: int64(len(shown.Canonical())),
		From: "the server's answers"}
	claim := evidence.Claim{Subject: project.SurfaceSubject(name), Scheme: evidence.Surface, Authority: evidence.Lock,
		Where: project.LockFile}
	if b := p.Result.Before; b != nil {
		claim.Want = []digest.Digest{b.Surface}
		p.Result.Changes = SurfaceChanges(p.Workspace, name, shown)
		p.Result.Same = !entry.Source.Remote() && sameArtifacts(*b, *entry) && !evidence.Same(b.Surface, entry.Surface)
	}
	p.report = append(p.report, evidence.Compare(claim, observed))
	p.Result.Runtime = prog.Runtime
	if _, err := p.judge(nil); err != nil {
		return nil, err
	}
	entry.ApprovedAt = p.Workspace.Host.Now().UTC()
	answer, err := p.Options.Confirm(&p.Result)
	if err != nil || p.Options.Dry {
		return nil, err
	}
	more := evidence.Report{ConsentEvidence(name, answer, p.Result.Consent())}
	if answer == host.Standing {
		gone, err := p.goneEvidence()
		if err != nil {
			return nil, err
		}
		more = append(more, gone...)
		more = append(more, p.weakenedEvidence()...)
	}
	if p.found.Claimed != nil {
		more = append(more, claimedToolsEvidence(name, p.Result.Claimed, entry.APISurface, answer))
	}
	alarming := ""
	if p.Result.Same {
		alarming = "the same bytes show another surface"
	} else if gone := p.removedItems(); p.Upgrade && len(gone) > 0 {
		alarming = "no client is shown any more: " + surface.Escape(strings.Join(gone, ", "))
	}
	if alarming != "" {
		// The bytes are those that were approved, and yet the model would be shown something
		// else, or what was approved is gone: nobody gave consent to that beforehand.
		claim.Authority = evidence.Machine
		alarm := evidence.Compare(claim, observed)
		alarm.Reason = alarming
		if answer == host.Given {
			alarm = evidence.Waive(claim, observed, alarming+", which was accepted")
		}
		more = append(more, alarm)
	}
	if adm, err = p.judge(more); err != nil {
		return nil, err
	}
	if err := p.Workspace.Lock.Add(adm, name, *entry, shown); err != nil {
		return nil, err
	}
	var extra [][]string // approved with this launch line, and no other
	if b := p.Result.Before; b != nil && evidence.Same(b.Launch.Digest(), entry.Launch.Digest()) {
		extra = p.Workspace.Approvals.Servers[name].Extra
	}
	p.Workspace.Approvals.Servers[name] = project.Approval{
		Entry: entry.Approvable(), Path: p.Path, Runtime: prog.Runtime, Trees: p.found.Trees, At: entry.ApprovedAt,
		Facet: entry.Launch.Facet, AcceptedLog: p.Logs.Accepted(entry.Record), Extra: extra,
		Launch: &entry.Launch,
	}
	delete(p.Workspace.Approvals.Unlocked, name)
	return lockentry.FilesBeside(p.Workspace, name, p.Result.Before, shown, p.found.Closure), nil
}

// requireConsentToStart is an error if nobody consented that the server is started, to see what it shows.
// That a person ran a command in a checkout is no consent to what the checkout names.
func (p *Pinning) requireConsentToStart(prog *program.Program) error {
	if p.Options.Start == nil || p.Declared.Remote() {
		return nil // it was asked before anything was sent
	}
	if b := p.Result.Before; b != nil && lockentry.IsApprovedAs(p.Workspace, p.Declared) && sameArtifacts(*b, p.Result.Entry) {
		return nil
	}
	p.Result.Runtime = prog.Runtime
	yes, err := p.Options.Start(&p.Result)
	if err == nil && !yes {
		err = evidence.Errorf(evidence.Refused, p.Declared.Name,
			"--start consents to that, and --yes to what is found as well",
			errors.New("would be started to see what it shows, and nobody consented; nothing was started"))
	}
	return err
}

// sameArtifacts reports whether two entries run the same bytes.
func sameArtifacts(a, b project.ServerLock) bool {
	if !maps.EqualFunc(a.Artifacts, b.Artifacts, evidence.Same) || (a.Closure == nil) != (b.Closure == nil) {
		return false
	}
	return a.Closure == nil || evidence.Same(a.Closure.Lock, b.Closure.Lock)
}

// resolve resolves what is declared, and makes it startable from verified bytes.
func (p *Pinning) resolve(ctx context.Context) error {
	d := kind.Declaration{
		Workspace: p.Workspace, Logs: p.Logs, Server: p.Declared, Path: p.Path, Before: p.Result.Before,
		AllowScripts: p.Options.AllowScripts, Begin: p.Options.Begin, Judge: p.judge,
	}
	source := p.Declared.Kind()
	if source == "" {
		var err error
		if d.Record, err = p.readRecord(ctx); err != nil {
			return err
		}
		source = project.ServerKind(d.Record.Ref.Kind())
	}
	found, err := kind.Of(source).Resolve(ctx, d)
	p.found, p.report = found, append(p.report, found.Report...)
	out, launch := &p.Result, p.Result.Entry.Launch
	out.Entry, out.Entry.Launch = found.Entry, launch
	out.Packages, out.Verified, out.Moved, out.Scripts = found.Packages, found.Verified, found.Moved, found.Scripts
	if found.Claimed != nil {
		out.Claimed = *found.Claimed
	}
	return err
}

// readRecord reads the record that the declaration names, and which package of it is to be started.
func (p *Pinning) readRecord(ctx context.Context) (*kind.RecordPackage, error) {
	r, err := record.FetchNamed(ctx, p.Workspace, p.Logs, p.Declared.Record)
	if err != nil {
		return nil, err
	}
	ref, args, variables, err := r.StartablePackage()
	if err != nil {
		return nil, err
	}
	p.Result.Entry.Record = &r.Lock
	p.report = append(p.report, r.Report...)
	p.addRollback()
	if _, err := p.judge(nil); err != nil {
		return nil, err // judge before fetching: a refused record must not cause a request
	}
	for _, v := range variables {
		if !slices.Contains(p.Declared.Variables, v) {
			p.Result.Wanted = append(p.Result.Wanted, v) // which of the user's secrets it gets is the user's choice
		}
	}
	return &kind.RecordPackage{Record: r, Ref: ref, Arguments: append(args, p.Declared.Arguments...)}, nil
}
