package hallmark

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Reviewed is what there is to approve about a server.
type Reviewed struct {
	Name    string
	Entry   project.ServerLock
	Surface *surface.Surface // what would be approved
	Changes []surface.Change // since the locked surface; empty if only this machine's approval is missing
	Note    *project.DriftNote
	Verdict policy.Verdict
	Clean   bool // nothing to approve
}

// ReviewOptions say how consent is given: by the digest of the surface that was shown
// before, or by asking.
type ReviewOptions struct {
	Approve digest.Digest
	Confirm func(*Reviewed) (bool, error)
}

// Review shows what a guard saw that was not approved, or, on a machine that has not
// approved a locked server, all that its entry holds. Approval is bound to the digest of
// the surface that was shown.
func Review(ctx context.Context, h *Host, dir, name string, o ReviewOptions) (*Reviewed, error) {
	w, done, err := openWorkspace(ctx, h, dir, true)
	if err != nil {
		return nil, err
	}
	defer done()
	declared, err := w.server(name)
	if err != nil {
		return nil, err
	}
	entry, ok := w.lock.Server(name)
	if !ok {
		return nil, evidence.Errorf(evidence.Refused, name, "run 'hallmark pin' for this server first", errors.New("is not locked"))
	}
	out := &Reviewed{Name: name, Entry: entry, Surface: w.lockedSurface(name)}
	stored, err := w.storedEvidence(name, entry)
	if err != nil {
		return nil, err
	}
	before := append(evidence.Report{w.launchEvidence(declared, &entry)}, stored...)
	if v := policy.Judge(policy.Check, policy.Settings{}, before); !v.Allowed() {
		out.Verdict = v
		return out, v.Err()
	}
	if out.Note, err = w.drift(name); err != nil {
		return nil, err
	}
	if err := w.drifted(out); err != nil {
		return out, err
	}
	approval, approved := w.approvals.Servers[name]
	if !approved {
		approval.Path = h.Getenv("PATH")
	}
	runtime, same, err := w.runtime(ctx, declared, &entry, approval)
	if err != nil {
		return out, err
	}
	if out.Note == nil && same && w.approvalEvidence(name, entry, false).Outcome == evidence.Match {
		out.Clean = true
		return out, nil
	}
	approval.Runtime = runtime
	claim := evidence.Claim{Subject: project.SurfaceSubject(name), Scheme: evidence.Approval, Authority: evidence.Machine, Where: "--approve"}
	if !o.Approve.IsZero() {
		claim.Want = []digest.Digest{o.Approve}
	} else if yes, err := o.Confirm(out); err != nil {
		return out, err
	} else if yes {
		claim.Where = "the person at this machine"
		claim.Want = []digest.Digest{out.Surface.Digest()}
	}
	out.Verdict = policy.Judge(policy.Pin, policy.Settings{}, evidence.Report{evidence.Compare(claim, evidence.Observed{
		Digests: []digest.Digest{out.Surface.Digest()}, From: "the surface to approve",
	})})
	if err := out.Verdict.Err(); err != nil {
		return out, err
	}
	return out, w.approve(ctx, out, approval)
}

// drifted reads the surface of a drift note. A note about another locked surface is
// out of date and forgotten.
func (w *workspace) drifted(out *Reviewed) error {
	if out.Note == nil {
		return nil
	}
	e := evidence.Compare(evidence.Claim{Want: []digest.Digest{out.Entry.Surface}}, evidence.Observed{Digests: []digest.Digest{out.Note.Locked}})
	if e.Outcome != evidence.Match {
		out.Note = nil
		return os.Remove(w.driftPath(out.Name))
	}
	if out.Note.Surface == nil {
		return evidence.Errorf(evidence.Drift, out.Name, "it cannot be approved; the items are withheld as long as the server shows them",
			fmt.Errorf("%d items drifted, and what the server showed has no canonical form", len(out.Note.Items)))
	}
	s, err := surface.Read(out.Note.Surface)
	if err != nil {
		return evidence.Errorf(evidence.Validation, w.driftPath(out.Name), "remove the file; the next run notes drift again", err)
	}
	// What was absent from one process stays approved: absence is no drift.
	if out.Surface, err = surface.Overlay(out.Surface, s); err != nil {
		return evidence.Errorf(evidence.Validation, out.Name, "", err)
	}
	out.Changes = w.changes(out.Name, out.Surface)
	return nil
}

// runtime is the interpreter of this machine that the server would be started with
// now, and whether it is the one that was approved.
func (w *workspace) runtime(ctx context.Context, s project.Server, entry *project.ServerLock, a project.Approval) (*project.Runtime, bool, error) {
	var (
		p   *program
		err error
	)
	if entry.Source == "npm" {
		p, err = w.nodeProgram(ctx, s.Name, a.Path, nil)
	} else {
		p, err = w.commandProgram(s, entry, a.Path, nil)
	}
	if p != nil {
		defer p.close()
	}
	if err != nil || p.runtime == nil {
		return nil, a.Runtime == nil, err
	}
	if a.Runtime == nil {
		return p.runtime, false, nil
	}
	e := evidence.Compare(evidence.Claim{Want: []digest.Digest{a.Runtime.Digest}}, evidence.Observed{Digests: []digest.Digest{p.runtime.Digest}})
	return p.runtime, e.Outcome == evidence.Match && a.Runtime.Path == p.runtime.Path, nil
}

func (w *workspace) approve(ctx context.Context, r *Reviewed, approval project.Approval) error {
	entry := r.Entry
	var files []durable.File
	if r.Note != nil {
		entry.Surface, entry.APISurface = r.Surface.Digest(), r.Surface.APISurface()
		entry.SurfaceItems = map[string]digest.Digest{}
		for _, item := range r.Surface.Items() {
			entry.SurfaceItems[item.Key()] = item.Digest
		}
		entry.ApprovedAt = w.host.Now().UTC()
		if err := w.lock.Add(r.Verdict.Admitted(), r.Name, entry); err != nil {
			return err
		}
		lock, err := w.lock.Encode()
		if err != nil {
			return err
		}
		files = append(files,
			durable.File{Path: w.surfacePath(r.Name), Data: r.Surface.Indented(), Perm: 0o644},
			durable.File{Path: w.path(project.LockFile), Data: lock, Perm: 0o644})
	}
	approval.Entry, approval.At = entry.Approvable(), w.host.Now().UTC()
	w.approvals.Servers[r.Name] = approval
	approvals, err := w.approvals.Encode()
	if err != nil {
		return err
	}
	files = append(files,
		durable.File{Path: w.approvalsPath(), Data: approvals, Perm: 0o600},
		durable.File{Path: w.driftPath(r.Name), Remove: true})
	return w.replace(ctx, files)
}
