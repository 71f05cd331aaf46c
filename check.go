package hallmark

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/guard"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// CheckOptions say how to check.
type CheckOptions struct {
	Offline bool // do not ask the registry
	Log     LogOptions
}

// Check verifies the whole lock without starting any server: how each server is
// declared, its files beside the lock, its files or its tree in the store, the proof
// that its record is in the registry's log, this machine's approval, and drift that a
// guard noted; and of each facet how it is declared, its contents in the store, its proof
// and its installed files. Unless offline it asks the registry whether it still serves the records
// that were locked, whether its log continues the one that was seen, and what the log
// holds about the records since.
func Check(ctx context.Context, h *Host, dir string, o CheckOptions) (policy.Verdict, error) {
	w, done, err := openWorkspace(ctx, h, dir, false)
	if err != nil {
		return policy.Verdict{}, err
	}
	defer done()
	w.logOptions = o.Log
	var report evidence.Report
	names := slices.Concat(slices.Collect(maps.Keys(w.config.Servers)), w.lock.Servers())
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		more, err := w.check(ctx, name, o.Offline)
		if err != nil {
			return policy.Verdict{}, err
		}
		report = append(report, more...)
	}
	more, err := w.checkFacets(ctx)
	if err != nil {
		return policy.Verdict{}, err
	}
	report = append(report, more...)
	if !o.Offline {
		w.release() // all files are read
		more, err := w.checkLog(ctx, w.lock.Servers())
		if err != nil {
			return policy.Verdict{}, err
		}
		report = append(report, more...)
	}
	return policy.Judge(policy.Check, policy.Settings{}, report), nil
}

func (w *workspace) check(ctx context.Context, name string, offline bool) (evidence.Report, error) {
	declared, ok := w.lockedServer(name)
	if mine := w.config.Servers[name]; !ok && mine.Facet != "" {
		declared, ok = mine, true // which is not locked
	}
	entry, locked := w.lock.Server(name)
	if !ok {
		e := evidence.Compare(evidence.Claim{Subject: name, Scheme: evidence.Launch, Authority: evidence.Lock, Where: project.ConfigFile}, evidence.Observed{})
		e.Reason = "is locked, but no longer declared"
		return evidence.Report{e}, nil
	}
	if !locked {
		return evidence.Report{w.launchEvidence(declared, nil)}, nil
	}
	report := evidence.Report{w.launchEvidence(declared, &entry), w.approvalEvidence(name, entry, false)}
	stored, err := w.readStored(name, entry)
	if err != nil {
		return nil, err
	}
	report = append(report, stored.report...)
	proof, err := w.lockedProof(entry.Record)
	if err != nil {
		return nil, err
	}
	report = append(report, proof...)
	approval := w.approvals.Servers[name]
	var more evidence.Report
	switch {
	case entry.Source == "image":
		more, err = w.checkImage(ctx, declared, entry, approval, offline)
	case entry.Source == project.Artifact:
		more, err = w.checkSource(ctx, name, entry, approval)
	case entry.Closure != nil:
		more, err = w.checkPackage(ctx, name, entry, approval)
	default:
		more, err = w.checkCommand(declared, entry, approval)
	}
	if err != nil {
		return nil, err
	}
	drift, err := w.driftEvidence(name, entry)
	return slices.Concat(report, more, drift), err
}

// checkPackage audits every tree of this kind of machine that is in the store.
func (w *workspace) checkPackage(ctx context.Context, name string, entry project.ServerLock, approval project.Approval) (evidence.Report, error) {
	st, err := w.host.store()
	if err != nil {
		return nil, err
	}
	var report evidence.Report
	for _, key := range slices.Sorted(maps.Keys(entry.Closure.Trees)) {
		if !strings.HasPrefix(key, runtime.GOOS+"/"+runtime.GOARCH+"+") {
			continue
		}
		want := entry.Closure.Trees[key]
		in, err := auditSlot(ctx, st, name, key, want)
		if err != nil {
			return nil, err
		}
		if in == nil {
			report = append(report, evidence.CannotVerify(evidence.Claim{
				Subject: project.TreeSubject(name, key), Scheme: evidence.Tree, Authority: evidence.Lock,
				Want: []digest.Digest{want}, Where: project.LockFile,
			}, evidence.NotFound, "not in this machine's store; the next run fetches and verifies it"))
			continue
		}
		report = append(report, in.report...)
		if made := approval.Trees[key]; in.slot != nil && !made.IsZero() {
			claim := evidence.Claim{Subject: project.TreeSubject(name, key), Scheme: evidence.Tree}
			report = append(report, madeEvidence(claim, made, evidence.Observed{Digests: []digest.Digest{in.slot.Digest}, From: in.slot.Dir()}))
		}
	}
	return append(report, checkRuntime(name, approval)...), nil
}

// checkRuntime compares an interpreter with the one that was approved.
func checkRuntime(name string, approval project.Approval) evidence.Report {
	approved := approval.Runtime
	if approved == nil {
		return nil
	}
	p := &program{server: name}
	defer p.close()
	claim := evidence.Claim{
		Subject: approved.Path, Scheme: evidence.File, Authority: evidence.Machine,
		Want: []digest.Digest{approved.Digest}, Where: "what was approved on this machine",
	}
	image, err := guard.OpenImage(approved.Path)
	if err != nil {
		return evidence.Report{evidence.CannotVerify(claim, evidence.Unreadable, err.Error())}
	}
	p.exe = image
	p.useRuntime(image, approved.Version, approved)
	return p.report
}

func (w *workspace) checkCommand(s project.Server, entry project.ServerLock, approval project.Approval) (evidence.Report, error) {
	path := approval.Path
	if path == "" {
		path = w.host.Getenv("PATH")
	}
	p, err := w.commandProgram(s, &entry, path, approval.Runtime)
	if p != nil {
		defer p.close()
	}
	if err != nil {
		return evidence.Report{evidence.CannotVerify(evidence.Claim{
			Subject: entry.Ref, Scheme: evidence.File, Authority: evidence.Lock,
			Want: []digest.Digest{entry.Artifacts[entry.Ref]}, Where: project.LockFile,
		}, evidence.Unreadable, err.Error())}, nil
	}
	return append(p.report, missingArtifacts(entry, p)...), nil
}

// driftEvidence is what a guard noted about name.
func (w *workspace) driftEvidence(name string, entry project.ServerLock) (evidence.Report, error) {
	note, err := w.drift(name, entry)
	if note == nil || err != nil {
		return nil, err
	}
	var report evidence.Report
	for _, key := range slices.Sorted(maps.Keys(note.Items)) {
		item := note.Items[key]
		c := evidence.Claim{Subject: name + ": " + key, Scheme: evidence.Surface, Authority: evidence.Lock, Where: project.LockFile + ", surface_items"}
		if !item.Want.IsZero() {
			c.Want = []digest.Digest{item.Want}
		}
		o := evidence.Observed{From: "the server's answers at " + note.At.Format("2006-01-02 15:04:05Z")}
		if item.Got.IsZero() || item.Reason == guard.Duplicate {
			report = append(report, evidence.CannotVerify(c, evidence.Malformed, item.Reason))
			continue
		}
		o.Digests = []digest.Digest{item.Got}
		e := evidence.Compare(c, o)
		e.Reason = item.Reason
		report = append(report, e)
	}
	return report, nil
}
