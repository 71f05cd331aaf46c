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
	out := &Reviewed{Name: name, Entry: entry, Extra: o.Arguments}
	if out.Weaker, err = pin.Weakenings(w, logs, name, entry.Launch); err != nil {
		return nil, err
	}
	stored, err := workspace.ReadStored(w, name, entry)
	if err != nil {
		return nil, err
	}
	approvedEntry := workspace.ApprovalEvidence(w, name, entry, false).Outcome == evidence.Match
	var origin evidence.Report
	if !approvedEntry { // who approved the entry was shown what declares the server
		if origin, err = workspace.OriginEvidence(ctx, w, name, entry); err != nil {
			return nil, err
		}
	}
	before := expected.Of(evidence.Launch, evidence.Document, evidence.Proof).Settle(slices.Concat(
		evidence.Report{workspace.LaunchEvidence(w, declared, &entry)}, origin, stored.Report))
	if entry.Record != nil && entry.Record.Proof != "" {
		// If no log key is known, 'run' reports that. A proof that does not verify is not approved.
		if known, err := logs.KnowsKey(entry.Record.Registry); err != nil {
			return nil, err
		} else if known {
			proof, err := logs.LockedProof(entry.Record)
			if err != nil {
				return nil, err
			}
			before = append(before, proof...)
		}
	}
	if v := policy.Judge(policy.Check, policy.Settings{}, before); !v.Allowed() {
		out.Verdict = v
		return out, v.Err()
	}
	out.Surface = stored.Surface
	approval, approved := w.Approvals.Servers[name]
	if !approved {
		approval.Path = w.Host.Getenv("PATH")
	}
	var same bool
	if out.Runtime, same, err = findRuntime(ctx, w, declared, &entry, approval); err != nil {
		return out, err
	}
	if !same {
		out.Approved = approval.Runtime
	}
	out.EntryApproved = evidence.Same(approval.Entry, entry.Approvable())
	if same && approvedEntry && len(o.Arguments) > 0 && !o.Dismiss && o.Items == nil {
		if declared.Extra != "" || approval.Approved(o.Arguments) {
			out.Clean = true
			return out, nil
		}
	} else if same && approvedEntry {
		if out.Note, err = w.DriftNote(name, entry); err != nil {
			return nil, err
		}
		if out.Note != nil {
			out.Absent = out.Note.Keys(guard.NotShown)
		}
		if out.Note == nil || out.Note.OnlyNotice(guard.NotShown) && !o.Dismiss {
			out.Clean = true
			return out, nil
		}
		if o.Dismiss {
			return out, w.Replace(ctx, []durable.File{{Path: w.DriftPath(name), Remove: true}})
		}
		if err := readDrift(w, out, entry, stored.Surface, nil); err != nil {
			return out, err
		}
		items := o.Items
		if items == nil && o.Choose != nil && o.Approve.IsZero() {
			if items, err = o.Choose(out); err != nil {
				return out, err
			}
		}
		if items != nil {
			if err := readDrift(w, out, entry, stored.Surface, items); err != nil {
				return out, err
			}
		}
	} else if o.Items != nil {
		return out, evidence.Errorf(evidence.Validation, name, "approve it without choosing items",
			errors.New("there is no drift to choose from: the entry is to be approved as a whole"))
	}
	claim, err := o.consent(out)
	if err != nil {
		return out, err
	}
	out.Verdict = policy.Judge(policy.Pin, policy.Settings{}, evidence.Report{claim, evidence.Compare(
		evidence.Claim{Subject: project.SurfaceSubject(name), Scheme: evidence.Surface, Authority: evidence.Lock,
			Where: project.LockFile, Want: []digest.Digest{entry.Surface}},
		evidence.Observed{Digests: []digest.Digest{out.Surface.Digest()}, From: "the surface to approve"})})
	if err := out.Verdict.Err(); err != nil {
		return out, err
	}
	approval.Runtime, approval.Facet = out.Runtime, entry.Launch.Facet
	approval.AcceptedLog = logs.FindAccepted(entry.Record)
	if out.Note == nil && !evidence.Same(approval.Entry, entry.Approvable()) {
		approval.Extra = nil // which were approved with another entry
	}
	approval.Approve(o.Arguments)
	return out, approve(ctx, w, out, approval)
}

// consent returns evidence of consent to what is shown, given by its digest or by a person.
func (o ReviewOptions) consent(out *Reviewed) (evidence.Evidence, error) {
	if !o.Approve.IsZero() {
		claim := pin.ConsentEvidence(out.Name, host.NoConsent, out.Consent())
		claim.Want, claim.Where = []digest.Digest{o.Approve}, "--approve"
		return evidence.Compare(claim.Claim, claim.Observed), nil
	}
	answer, err := o.Confirm(out)
	e := pin.ConsentEvidence(out.Name, answer, out.Consent())
	e.Fix = "answer 'yes' at the prompt, or give --approve with the digest that is shown as consent"
	return e, err
}

// reviewUnlocked approves the launch line of a server that is not locked, if hallmark.toml or the
// caller opts out of a lock entry and this machine remembers none.
func reviewUnlocked(ctx context.Context, w *workspace.Workspace, s project.Server, expected owed.List,
	o ReviewOptions) (*Reviewed, error) {
	l := &Launch{Workspace: w, Logs: w.Logs(trail.Options{}), Options: RunOptions{Unlocked: o.Unlocked}, Declared: s}
	out := &Reviewed{Name: s.Name, Unlocked: &s, Extra: o.Arguments}
	out.Verdict = policy.Judge(policy.Bare, policy.Settings{}, expected.Settle(evidence.Report{l.unlockedEvidence()}))
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
	if v := policy.Judge(policy.Bare, policy.Settings{}, prog.Report); !v.Allowed() {
		out.Verdict = v
		return out, v.Err()
	}
	out.Runtime = prog.Runtime
	if approval.Launch != nil {
		out.Weaker = approval.Launch.Weaker(s.Launch())
	}
	same := out.Runtime == nil && approval.Runtime == nil ||
		out.Runtime != nil && approval.Runtime != nil && evidence.Same(out.Runtime.Digest, approval.Runtime.Digest) &&
			out.Runtime.Path == approval.Runtime.Path
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
	if !evidence.Same(approval.Entry, s.Launch().Digest()) {
		approval.Extra = nil // which were approved with another launch line
	}
	launch := s.Launch()
	approval.Entry, approval.Runtime, approval.At, approval.Launch = launch.Digest(), out.Runtime, w.Host.Now().UTC(),
		&launch
	approval.Approve(o.Arguments)
	w.Approvals.Unlocked[s.Name] = approval
	_, err = w.Commit(ctx, nil)
	return out, err
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
		for _, key := range keys {
			if !slices.Contains(out.Items, key) {
				return evidence.Errorf(evidence.Validation, out.Name, "these did: "+
					surface.Escape(strings.Join(out.Items, ", ")), fmt.Errorf("%+q did not change", key))
			}
		}
		out.Refused = slices.DeleteFunc(slices.Clone(out.Items),
			func(key string) bool { return slices.Contains(keys, key) })
		if s, err = s.Select(keys...); err != nil {
			return evidence.Errorf(evidence.Validation, out.Name, "", err)
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
	if err != nil || p == nil || p.Runtime == nil {
		return nil, a.Runtime == nil, err
	}
	if a.Runtime == nil {
		return p.Runtime, false, nil
	}
	return p.Runtime, evidence.Same(a.Runtime.Digest, p.Runtime.Digest) && a.Runtime.Path == p.Runtime.Path, nil
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
