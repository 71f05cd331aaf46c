package policy

import (
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// Rows about a registry's log: its key, its checkpoints, and what its entries say of records.
var logRows = []rule{
	{
		flows: []Flow{Send, Plugin}, scheme: evidence.Tree, authority: evidence.Log,
		does: cells{allow, integrity, refused, refused, integrity, refused},
		hint: slotHint,
	},
	{
		flows: []Flow{Send, Pin, Launch, Install, Check, Scan}, scheme: evidence.FacetTar, authority: evidence.Log,
		does: cells{allow, integrity, refused, refused, integrity, refused},
		hint: in(Check, storeHint),
	},
	{
		flows: []Flow{Pin, Install, Check}, scheme: evidence.APISurface, authority: evidence.Log,
		does: cells{allow, integrity, integrity, refused, integrity, integrity},
	},
	{
		flows:  []Flow{Send, Pin, Launch, Install, Check, Scan, Plugin},
		scheme: evidence.Document, authority: evidence.Log,
		does: cells{allow, integrity, refused, refused, integrity, refused},
		hint: logHint,
	},
	{
		flows: []Flow{Pin, Install, Check, Plugin}, scheme: evidence.Status, authority: evidence.Log,
		does: cells{allow, refused, allow, warn, integrity, refused},
		hint: statusHint,
	},
	{
		flows: []Flow{Send, Pin, Install, Check, Plugin}, scheme: evidence.Proof, authority: evidence.Log,
		does: cells{allow, integrity, warn, refused, integrity, refused},
		hint: logHint,
	},
	{
		flows: []Flow{Launch, Scan}, scheme: evidence.Proof, authority: evidence.Log,
		does: cells{allow, integrity, allow, refused, integrity, refused},
		hint: logHint,
	},
	{
		flows: []Flow{Send}, scheme: evidence.Cosignature, authority: evidence.Log,
		does: cells{allow, warn, allow, refused, warn, refused},
		hint: cosignatureHint,
	},
	{
		flows: []Flow{Pin, Launch, Install, Check, Scan, Plugin}, scheme: evidence.Cosignature, authority: evidence.Log,
		does: cells{allow, signature, signature, refused, operation, refused},
		hint: cosignatureHint,
	},
	{
		flows: []Flow{Send}, scheme: evidence.Checkpoint, authority: evidence.Log,
		does: cells{allow, warn, warn, refused, warn, refused},
		hint: checkpointHint,
	},
	{
		flows: []Flow{Pin, Launch, Install, Scan, Plugin}, scheme: evidence.Checkpoint, authority: evidence.Log,
		does: cells{allow, refused, refused, refused, operation, refused},
		hint: checkpointHint,
	},
	{
		flows: []Flow{Check}, scheme: evidence.Checkpoint, authority: evidence.Log,
		does: cells{allow, refused, warn, refused, operation, refused},
		hint: checkpointHint,
	},
	{
		flows: []Flow{Pin, Install, Plugin}, scheme: evidence.Finding, authority: evidence.Log,
		does: cells{allow, warn, allow, refused, integrity, refused},
	},
	{
		flows: []Flow{Check}, scheme: evidence.Finding, authority: evidence.Log,
		does: cells{allow, refused, allow, refused, integrity, refused},
		hint: when(isMismatch, tellFinding),
	},
	{
		flows: []Flow{Install, Check}, scheme: evidence.LogKey, authority: evidence.Lock,
		does: cells{allow, integrity, refused, refused, operation, refused},
		hint: logKeyHint,
	},
	{
		flows: []Flow{Send}, scheme: evidence.LogKey, authority: evidence.Machine,
		does: cells{allow, integrity, warn, warn, operation, refused},
		hint: logKeyHint,
	},
	{
		flows: []Flow{Pin, Install, Check, Plugin}, scheme: evidence.LogKey, authority: evidence.Machine,
		does: cells{allow, integrity, refused, refused, operation, refused},
		hint: logKeyHint,
	},
	{
		flows: []Flow{Launch, Scan}, scheme: evidence.LogKey, authority: evidence.Machine,
		does: cells{allow, integrity, warn, refused, operation, refused},
		hint: logKeyHint,
	},
}

// What to do next about logs.
var (
	logKeyHint = first(
		on(evidence.Absent, "ask the registry's operator for the key of its log, and give it with --log-key or as "+
			"log_key under [registry] in hallmark.toml"),
		always("SECURITY ERROR: if the operator announced another key, run 'hallmark log forget' for the registry and "+
			"accept it anew; else do not use the registry"))
	cosignatureHint = always("too few of the witnesses in hallmark.toml vouch that others see the same log; " +
		"try again later, and ask them")
	checkpointHint = when(func(e evidence.Evidence) bool { return e.Outcome != evidence.Unverifiable },
		always("nobody vouched lately that this is the newest state of the log; try again later, or raise max_age"))
	logHint = always("SECURITY ERROR: the registry's log does not hold what the registry shows; do not use it, " +
		"and tell its operator")
)

// recordName matches the name and version of a record that need no quotes on a command line.
var recordName = spelling.Form(`^[A-Za-z0-9._/@+-]+@[A-Za-z0-9.+-]+$`)

// tellFinding names the record that a registry found something about, and the command that takes out what has it.
func tellFinding(_ Flow, e evidence.Evidence) string {
	info, out := "'hallmark info'", "'hallmark unpin' or 'hallmark remove'"
	if recordName().MatchString(e.Subject) {
		info = "'hallmark info " + e.Subject + "'"
	}
	switch {
	case e.Of.Server != "":
		out = "'hallmark unpin'"
	case e.Of.Facet != "":
		out = "'hallmark remove'"
	}
	return info + " shows what its publisher claimed and what failed; upgrade to a version whose claims hold, " +
		"or take it out with " + out
}
