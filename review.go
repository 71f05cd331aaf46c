package hallmark

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
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Reviewed is what there is to approve about a server.
type Reviewed struct {
	Name     string
	Entry    project.ServerLock // as it would be approved
	Surface  *surface.Surface   // what would be approved
	Changes  []surface.Change   // since the locked surface
	Note     *project.DriftNote // drift that is reviewed; nil if the entry itself is
	Items    []string           // keys of what drifted, in the order of Changes
	Refused  []string           // those of Items that are not to be approved
	Runtime  *project.Runtime   // the interpreter that would be approved
	Approved *project.Runtime   // another one that was approved before, or nil
	Verdict  policy.Verdict
	Clean    bool // nothing to approve
}

// Consent is the digest that an approval is bound to: all that was shown.
func (r *Reviewed) Consent() digest.Digest { return project.Consent(r.Entry, r.Runtime) }

// ReviewOptions say how consent is given: by the digest of what was shown before, or by
// asking. With Dismiss drift is forgotten and nothing is approved.
//
// Items are the keys of the items of a drift that are to be approved; the others stay as
// they are in the lock. If it is nil, Choose names them, who is shown all; if that is nil
// too, or returns nil, all are meant.
type ReviewOptions struct {
	Approve digest.Digest
	Dismiss bool
	Items   []string
	Choose  func(*Reviewed) ([]string, error)
	Confirm func(*Reviewed) (Consent, error)
}

// Review approves a locked server on a machine that has not approved all of it yet: its
// entry, and the interpreter that would start it. Once that is approved, it shows what a
// guard saw that was not. Approval is bound to exactly what was shown.
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
	out := &Reviewed{Name: name, Entry: entry}
	stored, err := w.readStored(name, entry)
	if err != nil {
		return nil, err
	}
	before := append(evidence.Report{w.launchEvidence(declared, &entry)}, stored.report...)
	if v := policy.Judge(policy.Check, policy.Settings{}, before); !v.Allowed() {
		out.Verdict = v
		return out, v.Err()
	}
	out.Surface = stored.surface
	approval, approved := w.approvals.Servers[name]
	if !approved {
		approval.Path = h.Getenv("PATH")
	}
	var same bool
	if out.Runtime, same, err = w.runtime(ctx, declared, &entry, approval); err != nil {
		return out, err
	}
	if !same {
		out.Approved = approval.Runtime
	}
	if same && w.approvalEvidence(name, entry, false).Outcome == evidence.Match {
		if out.Note, err = w.drift(name, entry); err != nil {
			return nil, err
		}
		if out.Note == nil {
			out.Clean = true
			return out, nil
		}
		if o.Dismiss {
			return out, w.replace(ctx, []durable.File{{Path: w.driftPath(name), Remove: true}})
		}
		if err := w.drifted(out, stored.surface, nil); err != nil {
			return out, err
		}
		items := o.Items
		if items == nil && o.Choose != nil && o.Approve.IsZero() {
			if items, err = o.Choose(out); err != nil {
				return out, err
			}
		}
		if items != nil {
			if err := w.drifted(out, stored.surface, items); err != nil {
				return out, err
			}
		}
	} else if o.Items != nil {
		return out, evidence.Errorf(evidence.Validation, name, "approve it without choosing items", errors.New("there is no drift to choose from: the entry is to be approved as a whole"))
	}
	claim := consentEvidence(name, No, out.Consent())
	if !o.Approve.IsZero() {
		claim.Want, claim.Where = []digest.Digest{o.Approve}, "--approve"
		claim = evidence.Compare(claim.Claim, claim.Observed)
	} else if answer, err := o.Confirm(out); err != nil {
		return out, err
	} else {
		claim = consentEvidence(name, answer, out.Consent())
	}
	out.Verdict = policy.Judge(policy.Pin, policy.Settings{}, evidence.Report{claim, evidence.Compare(
		evidence.Claim{Subject: project.SurfaceSubject(name), Scheme: evidence.Surface, Authority: evidence.Lock, Where: project.LockFile, Want: []digest.Digest{entry.Surface}},
		evidence.Observed{Digests: []digest.Digest{out.Surface.Digest()}, From: "the surface to approve"})})
	if err := out.Verdict.Err(); err != nil {
		return out, err
	}
	approval.Runtime = out.Runtime
	return out, w.approve(ctx, out, approval)
}

// drifted reads the surface of a drift note into out, as it would be approved: over what is
// locked, the items with the given keys; nil are all.
func (w *workspace) drifted(out *Reviewed, locked *surface.Surface, keys []string) error {
	if out.Note.Surface == nil {
		return evidence.Errorf(evidence.Drift, out.Name, "it cannot be approved; the items are withheld as long as the server shows them",
			fmt.Errorf("%s drifted, and what the server showed has no canonical form", evidence.Count(len(out.Note.Items), "item")))
	}
	s, err := surface.Read(out.Note.Surface)
	if err != nil {
		return evidence.Errorf(evidence.Validation, w.driftPath(out.Name), "remove the file; the next run notes drift again", err)
	}
	if keys != nil {
		for _, key := range keys {
			if !slices.Contains(out.Items, key) {
				return evidence.Errorf(evidence.Validation, out.Name, "these did: "+surface.Escape(strings.Join(out.Items, ", ")), fmt.Errorf("%+q did not change", key))
			}
		}
		out.Refused = slices.DeleteFunc(slices.Clone(out.Items), func(key string) bool { return slices.Contains(keys, key) })
		if s, err = s.Only(keys...); err != nil {
			return evidence.Errorf(evidence.Validation, out.Name, "", err)
		}
	}
	// What was absent from one process stays approved: absence is no drift.
	if out.Surface, err = surface.Overlay(locked, s); err != nil {
		return evidence.Errorf(evidence.Validation, out.Name, "", err)
	}
	out.Changes = w.changes(out.Name, out.Surface)
	if keys == nil {
		for _, c := range out.Changes {
			out.Items = append(out.Items, c.Item)
		}
		out.Items = slices.Compact(out.Items) // changes of an item stand together
	}
	out.Entry.Surface, out.Entry.APISurface, out.Entry.SurfaceItems = out.Surface.Digest(), out.Surface.APISurface(), out.Surface.ItemDigests()
	return nil
}

// runtime is the interpreter of this machine that the server would be started with
// now, and whether it is the one that was approved.
func (w *workspace) runtime(ctx context.Context, s project.Server, entry *project.ServerLock, a project.Approval) (*project.Runtime, bool, error) {
	var (
		p   *program
		err error
	)
	switch {
	case entry.Source == "http":
		return nil, a.Runtime == nil, nil
	case entry.Source == "image":
		p, err = w.imageProgram(s, entry.Digest, a.Path, nil)
	case entry.Source == project.Artifact:
		p, err = w.sourceRuntime(ctx, s.Name, entry.Runtime, a.Path, nil)
	case entry.Closure != nil:
		p, err = w.packageProgram(ctx, s.Name, entry.Closure.Engine, a.Path, nil)
	default:
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
	return p.runtime, evidence.Same(a.Runtime.Digest, p.runtime.Digest) && a.Runtime.Path == p.runtime.Path, nil
}

func (w *workspace) approve(ctx context.Context, r *Reviewed, approval project.Approval) error {
	entry := r.Entry
	var files []durable.File
	if r.Note != nil {
		entry.ApprovedAt = w.host.Now().UTC()
		if err := w.lock.Add(r.Verdict.Admitted(), r.Name, entry, r.Surface); err != nil {
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
	files = append(files, durable.File{Path: w.approvalsPath(), Data: approvals, Perm: 0o600})
	if r.Note != nil {
		left, err := w.refused(r, entry)
		if err != nil {
			return err
		}
		files = append(files, left)
	}
	return w.replace(ctx, files)
}

// refused is the drift note that an approval leaves: of the items that were refused, against
// what is locked now.
func (w *workspace) refused(r *Reviewed, entry project.ServerLock) (durable.File, error) {
	left := durable.File{Path: w.driftPath(r.Name), Remove: true}
	if len(r.Refused) == 0 {
		return left, nil
	}
	note := *r.Note
	note.Locked = entry.Surface
	note.Items = maps.Clone(note.Items)
	maps.DeleteFunc(note.Items, func(key string, _ project.DriftItem) bool { return !slices.Contains(r.Refused, key) })
	data, err := note.Encode()
	return durable.File{Path: left.Path, Data: data, Perm: 0o600}, err
}
