package hallmark

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/guard"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// recapture starts a locked server from the verified bytes, as run does, and compares what
// it shows now with the lock. Drift is noted, for review.
func (w *workspace) recapture(ctx context.Context, name string, o CheckOptions) (evidence.Report, error) {
	declared, _ := w.lockedServer(name)
	entry, _ := w.lock.Server(name)
	l := &launch{w: w, o: RunOptions{TrustLock: o.TrustLock, LogKey: o.Log.Key}, declared: declared, entry: &entry}
	seen, err := l.capture(ctx, o.Capture, nil)
	if err != nil {
		return nil, err
	}
	report, items := surfaceEvidence(name, entry, seen, declared.Excluded())
	if len(items) > 0 {
		l.note(items, seen.Canonical())
	}
	return report, nil
}

// capture starts the server and gives what it shows. judged, which may be nil, is told the
// verdict before.
func (l *launch) capture(ctx context.Context, within time.Duration, judged func(policy.Verdict)) (*surface.Surface, error) {
	prog, adm, err := l.prepare(ctx)
	if prog != nil {
		defer prog.close()
	}
	if judged != nil && l.verdict.Flow != "" {
		judged(l.verdict)
	}
	if err != nil {
		return nil, err
	}
	return l.w.capture(ctx, l.declared, prog, adm, within)
}

// notShown is evidence of a locked item that one client was not shown, as others may be.
func notShown(c evidence.Claim, o evidence.Observed) evidence.Evidence {
	c.Authority, c.Want, c.Where = evidence.Machine, nil, ""
	e := evidence.Compare(c, o)
	e.Reason = guard.NotShown
	return e
}

// surfaceEvidence compares what a server shows to all kinds of clients with what is locked, as a
// whole and item by item where they differ. A locked item of a kind that is not excluded, and
// that none of them is shown, is drift.
func surfaceEvidence(name string, entry project.ServerLock, seen *surface.Surface, excluded map[surface.Kind]bool) (report evidence.Report, drift map[string]project.DriftItem) {
	const from = "the server's answers"
	drift = map[string]project.DriftItem{}
	now := seen.ItemDigests()
	for _, key := range slices.Sorted(maps.Keys(now)) {
		want, locked := entry.SurfaceItems[key]
		c := evidence.Claim{Subject: name + ": " + key, Scheme: evidence.Surface, Authority: evidence.Lock, Where: project.LockFile + ", surface_items"}
		item := project.DriftItem{Got: now[key], Reason: guard.New}
		if locked {
			c.Want, item.Want, item.Reason = []digest.Digest{want}, want, guard.Changed
		}
		if e := evidence.Compare(c, evidence.Observed{Digests: []digest.Digest{now[key]}, From: from}); e.Outcome != evidence.Match {
			e.Reason = item.Reason
			report, drift[key] = append(report, e), item
		}
	}
	for _, key := range goneItems(&entry, seen, excluded) {
		want := entry.SurfaceItems[key]
		drift[key] = project.DriftItem{Want: want, Reason: guard.Gone}
		report = append(report, evidence.CannotVerify(evidence.Claim{
			Subject: name + ": " + key, Scheme: evidence.Surface, Authority: evidence.Lock, Want: []digest.Digest{want}, Where: project.LockFile + ", surface_items",
		}, evidence.NotFound, guard.Gone))
	}
	if len(drift) > 0 {
		e := evidence.Compare(evidence.Claim{
			Subject: project.SurfaceSubject(name), Scheme: evidence.Surface, Authority: evidence.Lock, Want: []digest.Digest{entry.Surface}, Where: project.LockFile,
		}, evidence.Observed{Digests: []digest.Digest{seen.Digest()}, Size: int64(len(seen.Canonical())), From: from})
		e.Reason = "ALARM: the same bytes show another surface"
		if entry.Source == "http" {
			e.Reason = "ALARM: another surface than the one that was approved"
		}
		return append(evidence.Report{e}, report...), drift
	}
	// All that is shown is locked, item by item.
	same := evidence.Compare(evidence.Claim{
		Subject: project.SurfaceSubject(name), Scheme: evidence.Surface, Authority: evidence.Lock, Want: []digest.Digest{itemsDigest(shown(entry, now))}, Where: project.LockFile + ", surface_items",
	}, evidence.Observed{Digests: []digest.Digest{itemsDigest(now)}, Size: int64(len(seen.Canonical())), From: from})
	return append(evidence.Report{same}, report...), nil
}

// shown are the items of an entry that now has too.
func shown(entry project.ServerLock, now map[string]digest.Digest) map[string]digest.Digest {
	out := map[string]digest.Digest{}
	for key, d := range entry.SurfaceItems {
		if _, ok := now[key]; ok {
			out[key] = d
		}
	}
	return out
}

// goneEvidence is of the locked items of all servers that a capture found to be shown to no
// client any more, as far as nobody has reviewed that.
func (w *workspace) goneEvidence() (report evidence.Report, err error) {
	for _, name := range w.lock.Servers() {
		entry, _ := w.lock.Server(name)
		note, err := w.drift(name, entry)
		if err != nil {
			return report, err
		}
		if note == nil {
			continue
		}
		for _, key := range note.Keys(guard.Gone) {
			report = append(report, evidence.CannotVerify(evidence.Claim{
				Subject: name + ": " + key, Scheme: evidence.Surface, Authority: evidence.Lock, Want: []digest.Digest{entry.SurfaceItems[key]}, Where: project.LockFile + ", surface_items",
			}, evidence.NotFound, guard.Gone))
		}
	}
	return report, nil
}

// goneItems are the keys of an entry, which may be nil, of kinds that are not excluded, which no
// client is shown now.
func goneItems(entry *project.ServerLock, now *surface.Surface, excluded map[surface.Kind]bool) (gone []string) {
	if entry == nil {
		return nil
	}
	shown := now.ItemDigests()
	for _, key := range slices.Sorted(maps.Keys(entry.SurfaceItems)) {
		if _, ok := shown[key]; !ok && !excluded[surface.KindOf(key)] {
			gone = append(gone, key)
		}
	}
	return gone
}
