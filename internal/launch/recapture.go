package launch

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/guard"
	"github.com/hallmark-mcp/hallmark/internal/machine"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Capture starts the server and returns what it shows. Items that vary by the lock do so still. judged, which may be
// nil, receives the verdict before that.
func (l *Launch) Capture(ctx context.Context, within time.Duration, judged func(policy.Verdict)) (*program.Shown,
	error) {
	prog, adm, err := l.Prepare(ctx)
	if prog != nil {
		defer prog.Close()
	}
	if judged != nil && l.verdict.Flow != "" {
		judged(l.verdict)
	}
	if err != nil {
		return nil, err
	}
	shown, err := prog.Capture(ctx, l.Workspace, l.Declared, adm, within)
	if err == nil && l.Entry != nil {
		err = shown.Withhold(l.Entry.Varying, l.Declared.Excluded())
	}
	return shown, err
}

// NotShownEvidence returns evidence of a locked item that one client was not shown, which others
// may still see.
func NotShownEvidence(c evidence.Claim, o evidence.Observed) evidence.Evidence {
	c.Authority, c.Want, c.Where = evidence.Machine, nil, ""
	e := evidence.Compare(c, o)
	e.Reason = guard.NotShown
	return e
}

// SurfaceEvidence compares what a server shows to all kinds of clients with what is locked, as a
// whole and item by item where they differ. A locked item of a kind that is not excluded, and
// that none of them is shown, is drift, and so is one that varies if the entry does not say so.
func SurfaceEvidence(name string, entry project.ServerLock, shown *program.Shown,
	excluded map[surface.Kind]bool) (report evidence.Report, drifted map[string]machine.DriftItem) {
	const from = "the server's answers"
	drifted = map[string]machine.DriftItem{}
	seen, now := shown.Surface, shown.Surface.ItemDigests()
	for _, key := range slices.Sorted(maps.Keys(now)) {
		want, locked := entry.SurfaceItems[key]
		c := evidence.Claim{Subject: name + ": " + key, Scheme: evidence.Surface, Authority: evidence.Lock,
			Where: project.LockFile + ", surface_items"}
		item := machine.DriftItem{Got: now[key], Reason: guard.New}
		if locked {
			c.Want, item.Want, item.Reason = []digest.Digest{want}, want, guard.Changed
		}
		if e := evidence.Compare(c, evidence.Observed{Digests: []digest.Digest{now[key]},
			From: from}); e.Outcome != evidence.Match {
			e.Reason = item.Reason
			report, drifted[key] = append(report, e), item
		}
	}
	for _, key := range slices.Sorted(maps.Keys(shown.Varying)) {
		if slices.Contains(entry.Varying, key) {
			continue
		}
		c := evidence.Claim{Subject: name + ": " + key, Scheme: evidence.Surface, Authority: evidence.Lock,
			Where: project.LockFile + ", surface_items"}
		want, locked := entry.SurfaceItems[key]
		if locked {
			c.Want = []digest.Digest{want}
		}
		drifted[key] = machine.DriftItem{Want: want, Reason: guard.Varying}
		report = append(report, evidence.CannotVerify(c, evidence.Ambiguous, guard.Varying))
	}
	for _, key := range workspace.GoneItems(&entry, seen, excluded) {
		if _, varies := shown.Varying[key]; varies {
			continue
		}
		want := entry.SurfaceItems[key]
		drifted[key] = machine.DriftItem{Want: want, Reason: guard.Gone}
		report = append(report, evidence.CannotVerify(evidence.Claim{
			Subject: name + ": " + key, Scheme: evidence.Surface, Authority: evidence.Lock, Want: []digest.Digest{want},
			Where: project.LockFile + ", surface_items",
		}, evidence.NotFound, guard.Gone))
	}
	if len(drifted) > 0 {
		e := evidence.Compare(evidence.Claim{
			Subject: project.SurfaceSubject(name), Scheme: evidence.Surface, Authority: evidence.Lock,
			Want: []digest.Digest{entry.Surface}, Where: project.LockFile,
		}, evidence.Observed{Digests: []digest.Digest{seen.Digest()}, Size: int64(len(seen.Canonical())), From: from})
		e.Reason = "ALARM: the same bytes show another surface"
		if entry.Source.Remote() {
			e.Reason = "ALARM: another surface than the one that was approved"
		}
		return append(evidence.Report{e}, report...), drifted
	}
	// All shown items are locked: compare what is shown with these items alone.
	same := evidence.Compare(evidence.Claim{
		Subject: project.SurfaceSubject(name), Scheme: evidence.Surface, Authority: evidence.Lock,
		Want:  []digest.Digest{workspace.ItemsDigest(shownItems(entry, now))},
		Where: project.LockFile + ", surface_items",
	}, evidence.Observed{
		Digests: []digest.Digest{workspace.ItemsDigest(now)}, Size: int64(len(seen.Canonical())), From: from,
	})
	return append(evidence.Report{same}, report...), nil
}

// shownItems returns the items of an entry that are also in now.
func shownItems(entry project.ServerLock, now map[string]digest.Digest) map[string]digest.Digest {
	out := map[string]digest.Digest{}
	for key, d := range entry.SurfaceItems {
		if _, ok := now[key]; ok {
			out[key] = d
		}
	}
	return out
}
