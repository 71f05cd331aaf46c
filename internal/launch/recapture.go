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
	add := func(key string, item machine.DriftItem, e evidence.Evidence) {
		report, drifted[key] = append(report, e), item
	}
	for _, key := range slices.Sorted(maps.Keys(now)) {
		want, c := itemClaim(name, key, entry)
		item := machine.DriftItem{Want: want, Got: now[key], Reason: guard.New}
		if c.Want != nil {
			item.Reason = guard.Changed
		}
		e := evidence.Compare(c, evidence.Observed{Digests: []digest.Digest{now[key]}, From: from})
		if e.Reason = item.Reason; e.Outcome != evidence.Match {
			add(key, item, e)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(shown.Varying)) {
		if !slices.Contains(entry.Varying, key) {
			want, c := itemClaim(name, key, entry)
			add(key, machine.DriftItem{Want: want, Reason: guard.Varying},
				evidence.CannotVerify(c, evidence.Ambiguous, guard.Varying))
		}
	}
	for _, key := range workspace.GoneItems(&entry, seen, excluded) {
		if _, varies := shown.Varying[key]; !varies {
			want, c := itemClaim(name, key, entry)
			add(key, machine.DriftItem{Want: want, Reason: guard.Gone},
				evidence.CannotVerify(c, evidence.NotFound, guard.Gone))
		}
	}
	size := int64(len(seen.Canonical()))
	whole := evidence.Claim{Subject: project.SurfaceSubject(name), Scheme: evidence.Surface, Authority: evidence.Lock}
	if len(drifted) > 0 {
		whole.Want, whole.Where = []digest.Digest{entry.Surface}, project.LockFile
		e := evidence.Compare(whole, evidence.Observed{Digests: []digest.Digest{seen.Digest()}, Size: size, From: from})
		e.Reason = "ALARM: the same bytes show another surface"
		if entry.Source.Remote() {
			e.Reason = "ALARM: another surface than the one that was approved"
		}
		return append(evidence.Report{e}, report...), drifted
	}
	// All shown items are locked: compare what is shown with these items alone.
	whole.Want, whole.Where = []digest.Digest{workspace.ItemsDigest(shownItems(entry, now))}, lockedItems
	same := evidence.Compare(whole,
		evidence.Observed{Digests: []digest.Digest{workspace.ItemsDigest(now)}, Size: size, From: from})
	return append(evidence.Report{same}, report...), nil
}

const lockedItems = project.LockFile + ", surface_items"

// itemClaim is what the lock claims of an item. want is its digest, zero if the lock has no such item.
func itemClaim(name, key string, entry project.ServerLock) (want digest.Digest, c evidence.Claim) {
	c = evidence.Claim{Subject: name + ": " + key, Scheme: evidence.Surface, Authority: evidence.Lock,
		Where: lockedItems}
	want, locked := entry.SurfaceItems[key]
	if locked {
		c.Want = []digest.Digest{want}
	}
	return want, c
}

// shownItems returns the items of an entry that are also in now.
func shownItems(entry project.ServerLock, now map[string]digest.Digest) map[string]digest.Digest {
	out := maps.Clone(entry.SurfaceItems)
	maps.DeleteFunc(out, func(key string, _ digest.Digest) bool { return now[key].IsZero() })
	return out
}
