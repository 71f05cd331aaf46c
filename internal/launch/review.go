package launch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/foreign"
	"github.com/hallmark-mcp/hallmark/internal/guard"
	"github.com/hallmark-mcp/hallmark/internal/guard/process"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/kind"
	"github.com/hallmark-mcp/hallmark/internal/machine"
	"github.com/hallmark-mcp/hallmark/internal/owed"
	"github.com/hallmark-mcp/hallmark/internal/pin"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Reviewed is what a person may approve about a server.
type Reviewed struct {
	Name     string
	Entry    project.ServerLock // as it would be approved; zero for a server that is not locked
	Unlocked *project.Server    // a server that is not locked, whose launch line would be approved; else nil
	Extra    []string           // arguments for 'run' after '--' that would be approved too
	Surface  *surface.Surface   // what would be approved
	Changes  []surface.Change   // since the locked surface
	Note     *machine.DriftNote // drift that is reviewed; nil if the entry itself is
	Items    []string           // keys of what drifted, in the order of Changes
	Refused  []string           // those of Items that are not to be approved
	Absent   []string           // keys of approved items that a client was not shown: a notice, nothing to approve
	Runtime  *project.Runtime   // the interpreter that would be approved
	Approved *project.Runtime   // another one that was approved before, or nil
	// EntryApproved says that the entry is approved as it is: only the interpreter or the arguments are new.
	EntryApproved bool
	Weaker        []project.Weakening // what was approved before and would not be demanded any more
	Verdict       policy.Verdict
	Clean         bool // nothing to approve
}

// Varying returns the items that are withheld as they differ from start to start, by key, and since when that is known.
func (r *Reviewed) Varying() map[string]string {
	all := map[string]string{}
	for _, key := range r.Entry.Varying {
		all[key] = "was not the same at each start when it was locked"
		if r.Note != nil && r.Note.Items[key].Reason == guard.Varying {
			all[key] = "is not the same at each start now"
		}
	}
	return all
}

// Consent returns the digest that an approval is bound to: that of everything that was shown.
func (r *Reviewed) Consent() digest.Digest {
	if r.Unlocked != nil {
		return project.ConsentUnlocked(r.Unlocked.Launch(), r.Runtime, r.Extra)
	}
	return project.ConsentWith(project.Consent(r.Entry, r.Runtime), r.Extra)
}

// ReviewOptions say how consent is given: by the digest of what was shown before, or by asking.
// With Dismiss the drift note is removed and nothing is approved.
//
// Items are the keys of the drifted items to approve; the others stay as they are in the lock. If
// it is nil, Choose gets all keys and returns those to approve. If Choose is nil too, or returns
// nil, all are approved.
type ReviewOptions struct {
	Approve   digest.Digest
	Dismiss   bool
	Arguments []string // for 'run' after '--', to be approved with the rest
	Unlocked  bool     // approve the launch line of a server that is not locked, whatever hallmark.toml says of that
	Items     []string
	Choose    func(*Reviewed) ([]string, error)
	Confirm   func(*Reviewed) (host.Consent, error)
}

// Review approves a locked server on a machine that has not approved all of it yet: its entry, and
// the interpreter that would start it. Once these are approved, it shows the drift that a guard
// noted. Approval is bound to exactly what was shown.
func Review(ctx context.Context, h *host.Host, dir, name string, o ReviewOptions) (*Reviewed, error) {
	w, done, err := workspace.Open(ctx, h, dir, true)
	if err != nil {
		return nil, err
	}
	defer done()
	return reviewServer(ctx, w, name, o)
}

// reviewServer is [Review] in a project that is open for writing.
func reviewServer(ctx context.Context, w *workspace.Workspace, name string, o ReviewOptions) (*Reviewed, error) {
	declared, err := w.Server(name)
	if err != nil {
		return nil, err
	}
	logs := w.Logs(trail.Options{})
	demands, err := w.Demands(logs)
	if err != nil {
		return nil, err
	}
	expected := demands.Server(name)
	entry, ok := w.Lock.Server(name)
	if !ok {
		return reviewUnlocked(ctx, w, declared, expected, o)
	}
	r := &entryReview{Workspace: w, options: o, logs: logs, declared: declared, entry: entry,
		out: &Reviewed{Name: name, Entry: entry, Extra: o.Arguments}}
	if r.out.Weaker, err = pin.Weakenings(w, logs, name, entry.Launch); err != nil {
		return nil, err
	}
	stored, err := workspace.ReadStored(w, name, entry)
	if err != nil {
		return nil, err
	}
	r.locked = stored.Surface
	r.entryApproved = workspace.ApprovalEvidence(w, name, entry, false).Outcome == evidence.Match
	before, err := r.collectEvidence(ctx, expected, stored.Report)
	if err != nil {
		return nil, err
	}
	if v := policy.Judge(policy.Check, policy.Settings{}, before.About(w.ServerEntry(name))); !v.Allowed() {
		r.out.Verdict = v
		return r.out, v.Err()
	}
	r.out.Surface = r.locked
	done, err := r.choose(ctx)
	if err != nil || done {
		return r.out, err
	}
	return r.out, r.consentAndApprove(ctx)
}

// entryReview is the review of a server that is locked.
type entryReview struct {
	*workspace.Workspace
	options       ReviewOptions
	logs          *trail.Logs
	declared      project.Server
	entry         project.ServerLock
	entryApproved bool // this machine approved the entry
	locked        *surface.Surface
	approval      project.Approval
	out           *Reviewed
}

// collectEvidence compares the entry with what declares the server, with what is beside the lock and with its record.
func (r *entryReview) collectEvidence(ctx context.Context, expected owed.List,
	stored evidence.Report) (evidence.Report, error) {
	var origin evidence.Report
	var err error
	if !r.entryApproved { // who approved the entry was shown what declares the server
		if origin, err = workspace.OriginEvidence(ctx, r.Workspace, r.out.Name, r.entry); err != nil {
			return nil, err
		}
	}
	before := expected.Of(evidence.Launch, evidence.Document, evidence.Proof).Settle(slices.Concat(
		evidence.Report{workspace.LaunchEvidence(r.Workspace, r.declared, &r.entry)}, origin, stored))
	if r.entry.Record == nil || r.entry.Record.Proof == "" {
		return before, nil
	}
	// If no log key is known, 'run' reports that. A proof that does not verify is not approved.
	known, err := r.logs.KnowsKey(r.entry.Record.Registry)
	if err != nil || !known {
		return before, err
	}
	proof, err := r.logs.LockedProof(r.entry.Record)
	return append(before, proof...), err
}

// choose finds what is to be approved: the whole entry, or what drifted of it. It is done if that is nothing.
func (r *entryReview) choose(ctx context.Context) (done bool, err error) {
	w, o := r.Workspace, r.options
	var approved bool
	if r.approval, approved = w.Approvals.Servers[r.out.Name]; !approved {
		r.approval.Path = w.Host.Getenv("PATH")
	}
	var same bool
	r.out.Runtime, same, err = findRuntime(ctx, w, r.declared, &r.entry, r.approval)
	if errors.Is(err, foreign.ErrNotFound) { // it was moved, as by a version manager that has another version now
		r.approval.Path = w.Host.Getenv("PATH")
		r.out.Runtime, same, err = findRuntime(ctx, w, r.declared, &r.entry, r.approval)
	}
	if err != nil {
		return false, err
	}
	if !same {
		r.out.Approved = r.approval.Runtime
	}
	r.out.EntryApproved = evidence.Same(r.approval.Entry, r.entry.Approvable())
	if same && r.entryApproved && len(o.Arguments) > 0 && !o.Dismiss && o.Items == nil {
		r.out.Clean = r.declared.Extra != "" || r.approval.Approved(o.Arguments)
		return r.out.Clean, nil
	}
	if same && r.entryApproved {
		return r.chooseDrifted(ctx)
	}
	if o.Items != nil {
		return false, evidence.Errorf(evidence.Validation, r.out.Name, "approve it without choosing items",
			errors.New("there is no drift to choose from: the entry is to be approved as a whole"))
	}
	return false, nil
}

// chooseDrifted finds which of the items that a guard saw drift are to be approved. It is done if none is.
func (r *entryReview) chooseDrifted(ctx context.Context) (done bool, err error) {
	w, o, out := r.Workspace, r.options, r.out
	if out.Note, err = w.DriftNote(out.Name, r.entry); err != nil {
		r.out = nil // there is nothing that could be shown
		return false, err
	}
	if out.Note != nil {
		out.Absent = out.Note.Keys(guard.NotShown)
	}
	if out.Note == nil || out.Note.OnlyNotice(guard.NotShown) && !o.Dismiss {
		out.Clean = true
		return true, nil
	}
	if o.Dismiss {
		return true, w.Replace(ctx, []durable.File{{Path: w.DriftPath(out.Name), Remove: true}})
	}
	if err := readDrift(w, out, r.entry, r.locked, nil); err != nil {
		return false, err
	}
	items := o.Items
	if items == nil && o.Choose != nil && o.Approve.IsZero() {
		if items, err = o.Choose(out); err != nil {
			return false, err
		}
	}
	if items == nil {
		return false, nil
	}
	return false, readDrift(w, out, r.entry, r.locked, items)
}

// consentAndApprove asks for consent, and writes the approval.
func (r *entryReview) consentAndApprove(ctx context.Context) error {
	out := r.out
	claim, err := r.options.consent(out)
	if err != nil {
		return err
	}
	out.Verdict = policy.Judge(policy.Pin, policy.Settings{}, evidence.Report{claim, evidence.Compare(
		evidence.Claim{Subject: project.SurfaceSubject(out.Name), Scheme: evidence.Surface, Authority: evidence.Lock,
			Where: project.LockFile, Want: []digest.Digest{r.entry.Surface}},
		evidence.Observed{Digests: []digest.Digest{out.Surface.Digest()}, From: "the surface to approve"})})
	if err := out.Verdict.Err(); err != nil {
		return err
	}
	r.approval.Runtime, r.approval.Facet = out.Runtime, r.entry.Launch.Facet
	r.approval.AcceptedLog = r.logs.FindAccepted(r.entry.Record)
	if out.Note == nil && !evidence.Same(r.approval.Entry, r.entry.Approvable()) {
		r.approval.Extra = nil // which were approved with another entry
	}
	r.approval.Approve(r.options.Arguments)
	return approve(ctx, r.Workspace, out, r.approval)
}

// consent returns evidence of consent to what is shown, given by its digest or by a person.
func (o ReviewOptions) consent(out *Reviewed) (evidence.Evidence, error) {
	return consentTo(out.Name, out.Consent(), o.Approve, func() (host.Consent, error) { return o.Confirm(out) })
}

// consentTo returns evidence of consent to what has the digest shown, given as approve or by the person who is asked.
func consentTo(name string, shown, approve digest.Digest, ask func() (host.Consent, error)) (e evidence.Evidence,
	err error) {
	answer := host.NoConsent
	if approve.IsZero() {
		answer, err = ask()
	}
	e = pin.ConsentEvidence(name, answer, shown)
	if !approve.IsZero() {
		e.Want, e.Where = []digest.Digest{approve}, "--approve"
		e = evidence.Compare(e.Claim, e.Observed)
	}
	e.Fix = "answer 'yes' at the prompt, or give --approve with the digest that is shown as consent"
	return e, err
}

// reviewUnlocked approves the launch line of a server that is not locked, if hallmark.toml or the
// caller opts out of a lock entry and this machine remembers none.
func reviewUnlocked(ctx context.Context, w *workspace.Workspace, s project.Server, expected owed.List,
	o ReviewOptions) (*Reviewed, error) {
	l := &Launch{Workspace: w, Logs: w.Logs(trail.Options{}), Options: RunOptions{Unlocked: o.Unlocked}, Declared: s}
	out := &Reviewed{Name: s.Name, Unlocked: &s, Extra: o.Arguments}
	out.Verdict = policy.Judge(policy.Bare, policy.Settings{},
		expected.Settle(evidence.Report{l.unlockedEvidence()}).About(w.ServerEntry(s.Name)))
	if err := out.Verdict.Err(); err != nil {
		return out, err
	}
	approval, approved := w.Approvals.Unlocked[s.Name]
	if !approved {
		approval.Path = w.Host.Getenv("PATH")
	}
	prog, err := openNamed(ctx, w, s, project.Approval{Path: approval.Path},
		host.KeptOf[process.Seen](w.Host.Kept).Look)
	if prog != nil {
		defer prog.Close()
	}
	if err != nil {
		return out, err
	}
	if v := policy.Judge(policy.Bare, policy.Settings{}, prog.Report.About(w.ServerEntry(s.Name))); !v.Allowed() {
		out.Verdict = v
		return out, v.Err()
	}
	out.Runtime = prog.Runtime
	if approval.Launch != nil {
		out.Weaker = approval.Launch.Weaker(s.Launch())
	}
	same := sameRuntime(out.Runtime, approval.Runtime)
	if !same {
		out.Approved = approval.Runtime
	}
	if same && l.launchLineEvidence(approval).Outcome == evidence.Match &&
		(len(o.Arguments) == 0 || s.Extra != "" || approval.Approved(o.Arguments)) {
		out.Clean = true
		return out, nil
	}
	claim, err := o.consent(out)
	if err != nil {
		return out, err
	}
	if out.Verdict = policy.Judge(policy.Pin, policy.Settings{}, evidence.Report{claim}); !out.Verdict.Allowed() {
		return out, out.Verdict.Err()
	}
	return out, approveUnlocked(ctx, w, out, approval)
}

// approveUnlocked writes the approval of a launch line.
func approveUnlocked(ctx context.Context, w *workspace.Workspace, out *Reviewed, approval project.Approval) error {
	launch := out.Unlocked.Launch()
	if !evidence.Same(approval.Entry, launch.Digest()) {
		approval.Extra = nil // which were approved with another launch line
	}
	approval.Entry, approval.Runtime, approval.At, approval.Launch = launch.Digest(), out.Runtime, w.Host.Now().UTC(),
		&launch
	approval.Approve(out.Extra)
	w.Approvals.Unlocked[out.Name] = approval
	_, err := w.Commit(ctx, nil)
	return err
}

// readDrift reads the surface of a drift note into out as it would be approved: the locked surface
// with the drifted items of the given keys, nil for all.
func readDrift(w *workspace.Workspace, out *Reviewed, entry project.ServerLock, locked *surface.Surface,
	keys []string) error {
	if out.Note.Surface == nil {
		return evidence.Errorf(evidence.Drift, out.Name,
			"it cannot be approved; the items are withheld as long as the server shows them",
			fmt.Errorf("%s drifted, and what the server showed has no canonical form",
				evidence.Count(len(out.Note.Items), "item")))
	}
	s, err := surface.Read(out.Note.Surface)
	if err != nil {
		return evidence.Errorf(evidence.Validation, w.DriftPath(out.Name),
			"run 'hallmark review "+out.Name+" --dismiss'; the next run notes drift again", err)
	}
	if keys != nil {
		if s, err = out.selectItems(s, keys); err != nil {
			return err
		}
	}
	chosen := func(reason string) []string {
		return slices.DeleteFunc(out.Note.Keys(reason),
			func(key string) bool { return keys != nil && !slices.Contains(keys, key) })
	}
	varying := chosen(guard.Varying)
	out.Entry.Varying = slices.Compact(slices.Sorted(slices.Values(slices.Concat(entry.Varying, varying))))
	// An item that one client did not see stays approved. An item that no client saw is removed, and so is one that
	// varies.
	if out.Surface, err = surface.Overlay(locked, s); err == nil {
		out.Surface, err = out.Surface.Without(slices.Concat(chosen(guard.Gone), out.Entry.Varying)...)
	}
	if err != nil {
		return evidence.Errorf(evidence.Validation, out.Name, "", err)
	}
	out.Changes = pin.SurfaceChanges(w, out.Name, out.Surface)
	if keys == nil {
		for _, c := range out.Changes {
			out.Items = append(out.Items, c.Item)
		}
		out.Items = slices.Compact(out.Items) // changes of an item stand together
		for _, key := range varying {
			if !slices.Contains(out.Items, key) { // it was not locked
				out.Items = append(out.Items, key)
			}
		}
	}
	out.Entry.Surface, out.Entry.APISurface, out.Entry.SurfaceItems = out.Surface.Digest(), out.Surface.APISurface(),
		out.Surface.ItemDigests()
	return nil
}

// selectItems is the items of a surface that drifted and have one of the keys. The others are refused.
func (r *Reviewed) selectItems(s *surface.Surface, keys []string) (*surface.Surface, error) {
	for _, key := range keys {
		if !slices.Contains(r.Items, key) {
			return nil, evidence.Errorf(evidence.Validation, r.Name, "these did: "+
				surface.Escape(strings.Join(r.Items, ", ")), fmt.Errorf("%+q did not change", key))
		}
	}
	r.Refused = slices.DeleteFunc(slices.Clone(r.Items),
		func(key string) bool { return slices.Contains(keys, key) })
	s, err := s.Select(keys...)
	if err != nil {
		return nil, evidence.Errorf(evidence.Validation, r.Name, "", err)
	}
	return s, nil
}

// findRuntime returns the interpreter of this machine that would start the server now, and whether
// it is the approved one.
func findRuntime(ctx context.Context, w *workspace.Workspace, s project.Server, entry *project.ServerLock,
	a project.Approval) (*project.Runtime, bool, error) {
	p, err := kind.Of(entry.Source).OpenRuntime(ctx, kind.Locked{
		Workspace: w, Server: s, Entry: *entry,
		Approval: project.Approval{Path: a.Path, Made: a.Made}, // whichever runtime was approved before
	})
	if p != nil {
		defer p.Close()
	}
	if err != nil || p == nil {
		return nil, a.Runtime == nil, err
	}
	return p.Runtime, sameRuntime(a.Runtime, p.Runtime), nil
}

// sameRuntime reports whether two interpreters are the same file, or both are none.
func sameRuntime(a, b *project.Runtime) bool {
	return a == b || a != nil && b != nil && evidence.Same(a.Digest, b.Digest) && a.Path == b.Path
}

// approve writes this machine's approval, and the lock and the drift note if drift was reviewed.
func approve(ctx context.Context, w *workspace.Workspace, r *Reviewed, approval project.Approval) error {
	entry := r.Entry
	var files []durable.File
	if r.Note != nil {
		if err := w.Lock.Add(r.Verdict.Admitted(), r.Name, entry, r.Surface); err != nil {
			return err
		}
		files = append(files,
			durable.File{Path: w.SurfacePath(r.Name), Data: r.Surface.FormatIndented(), Perm: 0o644})
	}
	approval.Entry, approval.At, approval.Launch = entry.Approvable(), w.Host.Now().UTC(), &entry.Launch
	w.Approvals.Servers[r.Name] = approval
	if r.Note != nil {
		left, err := refusedNote(w, r, entry)
		if err != nil {
			return err
		}
		files = append(files, left)
	}
	_, err := w.Commit(ctx, files)
	return err
}

// refusedNote returns the drift note that remains after an approval: the refused items, compared
// with what is locked now.
func refusedNote(w *workspace.Workspace, r *Reviewed, entry project.ServerLock) (durable.File, error) {
	left := durable.File{Path: w.DriftPath(r.Name), Remove: true}
	if len(r.Refused) == 0 {
		return left, nil
	}
	note := *r.Note
	note.Locked = entry.Surface
	note.Items = maps.Clone(note.Items)
	maps.DeleteFunc(note.Items, func(key string, _ machine.DriftItem) bool { return !slices.Contains(r.Refused, key) })
	data, err := note.Encode()
	return durable.File{Path: left.Path, Data: data, Perm: 0o600}, err
}
