package policy

import (
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// Rows about hallmark.lock and hallmark.toml: what was accepted, and what is declared.
var lockRows = []rule{
	{
		flows: []Flow{Pin, Plugin}, scheme: evidence.File, authority: evidence.Lock,
		does: cells{allow, integrity, allow, refused, operation, refused},
		hint: unlikeLockHint,
	},
	{
		flows: []Flow{Launch, Check}, scheme: evidence.File, authority: evidence.Lock,
		does: cells{allow, integrity, refused, refused, operation, refused},
		hint: unlikeLockHint,
	},
	{
		flows: []Flow{Bare}, scheme: evidence.File, authority: evidence.Lock,
		does: cells{refused, refused, allow, refused, refused, refused},
		hint: unlikeLockHint,
	},
	{
		flows: []Flow{Install}, scheme: evidence.File, authority: evidence.Lock,
		does: cells{allow, integrity, allow, refused, integrity, refused},
		hint: contentsHint,
	},
	{
		flows: []Flow{Pin}, scheme: evidence.Tree, authority: evidence.Lock,
		does: cells{allow, integrity, allow, refused, operation, refused},
		hint: slotHint,
	},
	{
		flows: []Flow{Launch}, scheme: evidence.Tree, authority: evidence.Lock,
		does: cells{allow, integrity, warn, refused, operation, refused},
		hint: slotHint,
	},
	{
		flows: []Flow{Check}, scheme: evidence.Tree, authority: evidence.Lock,
		does: cells{allow, integrity, warn, refused, warn, refused},
		hint: slotHint,
	},
	{
		flows: []Flow{Pin, Launch}, scheme: evidence.Module, authority: evidence.Lock,
		does: cells{allow, integrity, refused, refused, operation, refused},
		hint: unlikeLockHint,
	},
	{
		flows: []Flow{Pin, Install}, scheme: evidence.FacetTar, authority: evidence.Lock,
		does: cells{allow, integrity, allow, refused, operation, refused},
		hint: contentsHint,
	},
	{
		flows: []Flow{Launch}, scheme: evidence.FacetTar, authority: evidence.Lock,
		does: cells{allow, integrity, refused, refused, operation, refused},
		hint: contentsHint,
	},
	{
		flows: []Flow{Check}, scheme: evidence.FacetTar, authority: evidence.Lock,
		does: cells{allow, integrity, warn, refused, warn, refused},
		hint: storeHint,
	},
	{
		flows: []Flow{Pin}, scheme: evidence.OCI, authority: evidence.Lock,
		does: cells{allow, warn, allow, refused, operation, refused},
		hint: imageHint,
	},
	{
		flows: []Flow{Install}, scheme: evidence.OCI, authority: evidence.Lock,
		does: cells{allow, drift, allow, refused, operation, refused},
		hint: imageHint,
	},
	{
		flows: []Flow{Check}, scheme: evidence.OCI, authority: evidence.Lock,
		does: cells{allow, drift, allow, refused, warn, refused},
		hint: imageHint,
	},
	{
		flows: []Flow{Pin}, scheme: evidence.Surface, authority: evidence.Lock,
		does: cells{allow, warn, allow, refused, operation, refused},
	},
	{
		flows: []Flow{Session, Check}, scheme: evidence.Surface, authority: evidence.Lock,
		does: cells{allow, drift, drift, refused, drift, refused},
	},
	{
		flows: []Flow{Pin, Launch, Check, Scan}, scheme: evidence.Document, authority: evidence.Lock,
		does: cells{allow, integrity, integrity, refused, integrity, integrity},
		hint: unlikeLockHint,
	},
	{
		flows: []Flow{Install}, scheme: evidence.Document, authority: evidence.Lock,
		does: cells{allow, integrity, allow, refused, operation, refused},
		hint: unlikeLockHint,
	},
	{
		flows: []Flow{Pin}, scheme: evidence.Launch, authority: evidence.Lock,
		does: cells{allow, warn, allow, refused, operation, refused},
		hint: lockedLaunchHint,
	},
	{
		flows: []Flow{Launch}, scheme: evidence.Launch, authority: evidence.Lock,
		does: cells{allow, refused, refused, refused, operation, refused},
		hint: lockedLaunchHint,
	},
	{
		flows: []Flow{Bare}, scheme: evidence.Launch, authority: evidence.Lock,
		does: cells{refused, refused, refused, warn, refused, refused},
		hint: lockedLaunchHint,
	},
	{
		flows: []Flow{Check, Scan}, scheme: evidence.Launch, authority: evidence.Lock,
		does: cells{allow, refused, refused, warn, operation, refused},
		hint: lockedLaunchHint,
	},
	{
		flows: []Flow{Pin}, scheme: evidence.Pin, authority: evidence.Lock,
		does: cells{allow, warn, allow, refused, refused, refused},
		hint: first(undecided, always("an older version may have faults that were mended since; "+
			"take it only if you mean it")),
	},
	{
		flows: []Flow{Launch, Check}, scheme: evidence.Pin, authority: evidence.Lock,
		does: cells{allow, refused, refused, refused, refused, refused},
		hint: pinAgainHint,
	},
	{
		flows: []Flow{Bare}, scheme: evidence.Pin, authority: evidence.Lock,
		does: cells{refused, refused, refused, warn, refused, refused},
		hint: pinAgainHint,
	},
	{
		flows: []Flow{Install}, scheme: evidence.Source, authority: evidence.Lock,
		does: cells{allow, refused, allow, refused, operation, refused},
		hint: sourceHint,
	},
	{
		flows: []Flow{Check}, scheme: evidence.Source, authority: evidence.Lock,
		does: cells{allow, refused, refused, refused, operation, refused},
		hint: sourceHint,
	},
	{
		flows: []Flow{Scan}, scheme: evidence.Source, authority: evidence.Lock,
		does: cells{allow, refused, refused, refused, refused, refused},
	},
	{
		flows: []Flow{Install}, scheme: evidence.Tag, authority: evidence.Lock,
		does: cells{allow, drift, allow, refused, operation, refused},
		hint: tagHint,
	},
	{
		flows: []Flow{Install, Check, Plugin}, scheme: evidence.Installed, authority: evidence.Lock,
		does: cells{allow, integrity, refused, refused, operation, refused},
		hint: first(on(evidence.Mismatch, "if the change is not yours find out who made it; "+
			"'hallmark install --force' puts the locked file back"),
			when(func(e evidence.Evidence) bool { return e.Cause == evidence.NotFound },
				on(evidence.Unverifiable, "run 'hallmark install --frozen', which fetches them and compares"))),
	},
	{
		flows: []Flow{Launch, Install, Check}, scheme: evidence.Unhashed, authority: evidence.Lock,
		does: cells{allow, refused, refused, refused, refused, refused},
		hint: first(undecided, always("move it out of the directory, or publish it with the facet: a client reads "+
			"what it finds there")),
	},
	{
		flows: []Flow{Scan}, scheme: evidence.Unhashed, authority: evidence.Lock,
		does: cells{allow, refused, warn, refused, refused, refused},
	},
	{
		flows: []Flow{Pin, Check}, scheme: evidence.Import, authority: evidence.Lock,
		does: cells{allow, refused, refused, refused, warn, refused},
		hint: unlikeLockHint,
	},
	{
		flows: []Flow{Launch}, scheme: evidence.Import, authority: evidence.Lock,
		does: cells{allow, refused, refused, refused, allow, refused},
		hint: unlikeLockHint,
	},
	{
		flows: []Flow{Install, Check}, scheme: evidence.Source, authority: evidence.Manifest,
		does: cells{allow, refused, refused, refused, refused, refused},
		hint: sourceHint,
	},
	{
		flows: []Flow{Launch, Check, Scan}, scheme: evidence.Launch, authority: evidence.Project,
		does: cells{allow, refused, refused, refused, refused, refused},
		hint: launchHint,
	},
	{
		flows: []Flow{Install, Check}, scheme: evidence.Source, authority: evidence.Project,
		does: cells{allow, refused, refused, refused, refused, refused},
		hint: sourceHint,
	},
}

// What to do next about what is locked and declared.
var (
	unlikeLockHint = first(editedLockHint, on(evidence.Mismatch, "the file is not the one that was approved; "+
		"if the change is yours, run 'hallmark pin' again"))
	// editedLockHint is about what hallmark.lock says of itself, which no command mends: whichever would write it
	// anew has to believe it first.
	editedLockHint = when(isOfLockItself, on(evidence.Mismatch, "hallmark.lock was edited or damaged since Hallmark "+
		"wrote it, by hand or by a merge; restore it from version control, such as by 'git checkout -- "+
		"hallmark.lock'; without a copy move it away, and what this machine accepted before says how to go on"))
	contentsHint = on(evidence.Mismatch, "these are not the contents that were locked: "+
		"a published version never changes, so find out who changed it; 'hallmark upgrade' takes another version")
	sourceHint = first(
		when(func(e evidence.Evidence) bool { return e.Observed.From == "hallmark.toml" },
			on(evidence.Mismatch, "hallmark.toml was changed after the facet was locked; "+
				"run 'hallmark install' without --frozen, and review the lock")),
		on(evidence.Mismatch, "hallmark.lock says otherwise than the facet that brings it along; "+
			"restore it from version control, or run 'hallmark install' without --frozen, and review it"),
		always("run 'hallmark install' without --frozen, and commit hallmark.lock"))
	launchHint = first(
		on(evidence.Absent, "run 'hallmark pin' for this server first"),
		on(evidence.Waived, "run 'hallmark pin' for this server, and take the opt-out away"),
		when(func(e evidence.Evidence) bool { return strings.HasPrefix(e.Observed.From, "hallmark.toml") },
			on(evidence.Mismatch, "hallmark.toml was changed after the server was pinned; "+
				"review the change and run 'hallmark pin' again")))
	lockedLaunchHint = first(launchHint, on(evidence.Mismatch, "its facet declares it otherwise than it was locked; "+
		"run 'hallmark install' without --frozen, and review what it shows"))
	tagHint = func(_ Flow, e evidence.Evidence) string {
		name := e.Subject
		if at := strings.LastIndexByte(name, '@'); at > 0 {
			name = name[:at]
		}
		return TagAdvice(name, strings.HasPrefix(e.Observed.Text, "none"))
	}
	pinAgainHint = first(undecided, always("run 'hallmark pin' for this server again"))
	imageHint    = first(undecided, always("the tag leads to another image than the one that was approved, "+
		"which goes on running; 'hallmark upgrade' shows the new one"))
)

// TagAdvice says what to do next about the tag of a facet that was moved since it was locked, or is gone.
func TagAdvice(name string, gone bool) string {
	if gone {
		return "ask its author what replaces the tag, and declare that: 'hallmark add " + name + " --git URL --tag TAG'"
	}
	return "the author moved it, which happens by accident or by attack; 'hallmark upgrade " + name +
		" --accept-tag' shows what changed, and asks"
}

// isOfLockItself reports whether evidence is about hallmark.lock as a whole, or about its list of a facet's
// files, which follows from what it says of their contents.
func isOfLockItself(e evidence.Evidence) bool {
	return e.Scheme == evidence.Document && (e.Where == "its self member" || strings.HasSuffix(e.Where, ", assets"))
}
