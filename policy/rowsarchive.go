package policy

import (
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// Rows about archives: what the manifest inside one and the store's sidecar beside its slot claim.
var archiveRows = []rule{
	{
		flows: []Flow{Pin, Launch, Install, Check}, scheme: evidence.File, authority: evidence.Sidecar,
		does: cells{allow, integrity, integrity, refused, operation, integrity},
		hint: in(Install, tamperedHint),
	},
	{
		flows: []Flow{Launch, Check}, scheme: evidence.Tree, authority: evidence.Sidecar,
		does: cells{allow, integrity, allow, refused, operation, refused},
		hint: slotHint,
	},
	{
		flows: []Flow{Pin, Launch, Install, Check}, scheme: evidence.FacetTar, authority: evidence.Sidecar,
		does: cells{allow, integrity, integrity, refused, operation, integrity},
		hint: first(in(Check, storeHint), in(Install, tamperedHint)),
	},
	{
		flows: []Flow{Send, Accept}, scheme: evidence.File, authority: evidence.Manifest,
		does: cells{allow, integrity, refused, refused, integrity, refused},
		hint: contradictionHint,
	},
	{
		flows: []Flow{Pin, Launch, Install, Validate, Plugin}, scheme: evidence.File, authority: evidence.Manifest,
		does: cells{allow, integrity, integrity, refused, integrity, integrity},
		hint: contradictionHint,
	},
	{
		flows: []Flow{Send, Accept, Validate, Plugin}, scheme: evidence.Tree, authority: evidence.Manifest,
		does: cells{allow, integrity, allow, refused, warn, refused},
		hint: contradictionHint,
	},
	{
		flows: []Flow{Send, Accept}, scheme: evidence.FacetTar, authority: evidence.Manifest,
		does: cells{allow, integrity, refused, refused, integrity, refused},
		hint: contradictionHint,
	},
	{
		flows: []Flow{Pin, Launch, Install}, scheme: evidence.FacetTar, authority: evidence.Manifest,
		does: cells{allow, integrity, integrity, refused, operation, integrity},
		hint: contradictionHint,
	},
	{
		flows: []Flow{Send}, scheme: evidence.APISurface, authority: evidence.Manifest,
		does: cells{allow, integrity, allow, warn, operation, refused},
		hint: contradictionHint,
	},
}

// What to do next about archives and the slots of the store.
var (
	contradictionHint = on(evidence.Mismatch, "the archive contradicts itself; do not use it, and tell its publisher")
	storeHint         = on(evidence.Mismatch, "the store's copy was changed; "+
		"'hallmark install' moves it to quarantine and gets the locked contents again, in a project that has it "+
		"locked; 'hallmark store prune --older-than 0s' removes what no project has")
	tamperedHint = on(evidence.Mismatch, "the store was tampered with; the slot was moved to quarantine")
	slotHint     = first(
		// A check leaves a slot, whose path Observed.From has, where it is.
		in(Check, when(func(e evidence.Evidence) bool { return strings.ContainsAny(e.Observed.From, `/\`) },
			on(evidence.Mismatch, "the store's copy was changed; the next run moves it to quarantine "+
				"and installs it again from verified packages"))),
		on(evidence.Mismatch, "the slot was moved to quarantine; "+
			"the next run installs it again from verified packages"))
)
