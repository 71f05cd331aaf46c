package policy

import "github.com/hallmark-mcp/hallmark/evidence"

// Rows about this machine and its user: what was approved here, what a verify block or an argument
// claims, and how clients start their servers.
var machineRows = []rule{
	{
		flows: []Flow{Pin}, scheme: evidence.File, authority: evidence.Verify,
		does: cells{allow, integrity, allow, allow, operation, refused},
		hint: verifyHint,
	},
	{
		flows: []Flow{Launch, Bare}, scheme: evidence.File, authority: evidence.Verify,
		does: cells{allow, integrity, warn, allow, operation, refused},
		hint: verifyHint,
	},
	{
		flows: []Flow{Check}, scheme: evidence.File, authority: evidence.Verify,
		does: cells{allow, integrity, allow, warn, operation, refused},
		hint: verifyHint,
	},
	{
		flows: []Flow{Scan}, scheme: evidence.Launch, authority: evidence.Verify,
		does: cells{allow, warn, warn, allow, warn, refused},
	},
	{
		flows: []Flow{Pin}, scheme: evidence.File, authority: evidence.Machine,
		does: cells{allow, warn, allow, refused, operation, refused},
		hint: fileHint,
	},
	{
		flows: []Flow{Launch}, scheme: evidence.File, authority: evidence.Machine,
		does: cells{allow, refused, warn, refused, operation, refused},
		hint: fileHint,
	},
	{
		flows: []Flow{Bare}, scheme: evidence.File, authority: evidence.Machine,
		does: cells{allow, refused, allow, refused, refused, refused},
		hint: fileHint,
	},
	{
		flows: []Flow{Check}, scheme: evidence.File, authority: evidence.Machine,
		does: cells{allow, refused, allow, refused, operation, refused},
		hint: fileHint,
	},
	{
		flows: []Flow{Pin}, scheme: evidence.Tree, authority: evidence.Machine,
		does: cells{allow, warn, allow, refused, operation, refused},
		hint: slotHint,
	},
	{
		flows: []Flow{Launch, Check}, scheme: evidence.Tree, authority: evidence.Machine,
		does: cells{allow, integrity, allow, refused, operation, refused},
		hint: slotHint,
	},
	{
		flows: []Flow{Pin}, scheme: evidence.Surface, authority: evidence.Machine,
		does: cells{allow, drift, allow, warn, operation, refused},
		hint: surfaceHint,
	},
	{
		flows: []Flow{Check}, scheme: evidence.Surface, authority: evidence.Machine,
		does: cells{allow, drift, warn, refused, drift, refused},
		hint: surfaceHint,
	},
	{
		flows: []Flow{Launch, Bare, Check}, scheme: evidence.Launch, authority: evidence.Machine,
		does: cells{allow, refused, refused, warn, refused, refused},
		hint: launchHint,
	},
	{
		flows: []Flow{Scan}, scheme: evidence.Launch, authority: evidence.Machine,
		does: cells{allow, refused, refused, refused, refused, refused},
	},
	{
		flows: []Flow{Pin, Install}, scheme: evidence.Approval, authority: evidence.Machine,
		does: cells{allow, refused, refused, refused, refused, refused},
		hint: first(undecided, in(Install, always("answer 'yes' at the prompt, or give --yes")),
			always("answer 'yes' at the prompt, or give --yes, or --approve with the digest that "+
				"is shown as consent")),
	},
	{
		flows: []Flow{Launch, Bare}, scheme: evidence.Approval, authority: evidence.Machine,
		does: cells{allow, refused, refused, warn, refused, refused},
		hint: approvalHint,
	},
	{
		flows: []Flow{Check}, scheme: evidence.Approval, authority: evidence.Machine,
		does: cells{allow, refused, warn, allow, warn, refused},
		hint: approvalHint,
	},
	{
		flows: []Flow{Scan}, scheme: evidence.Approval, authority: evidence.Machine,
		does: cells{allow, warn, allow, refused, warn, refused},
	},
	{
		flows: []Flow{Scan}, scheme: evidence.Access, authority: evidence.Machine,
		does: cells{allow, refused, refused, allow, warn, refused},
	},
	{
		flows: []Flow{Install}, scheme: evidence.Installed, authority: evidence.Machine,
		does: cells{allow, warn, allow, warn, warn, refused},
	},
	{
		flows: []Flow{Check}, scheme: evidence.Installed, authority: evidence.Machine,
		does: cells{allow, refused, warn, allow, warn, refused},
	},
	{
		flows: []Flow{Scan}, scheme: evidence.Document, authority: evidence.Caller,
		does: cells{allow, refused, refused, refused, operation, refused},
	},
	{
		flows: []Flow{Scan}, scheme: evidence.Launch, authority: evidence.Caller,
		does: cells{allow, refused, refused, allow, warn, refused},
	},
	{
		flows: []Flow{Pin}, scheme: evidence.Pin, authority: evidence.Caller,
		does: cells{allow, refused, warn, refused, refused, refused},
		hint: first(undecided, always("name an exact version")),
	},
	{
		flows: []Flow{Scan}, scheme: evidence.Pin, authority: evidence.Caller,
		does: cells{allow, refused, refused, allow, refused, refused},
	},
	{
		flows: []Flow{Scan}, scheme: evidence.Transport, authority: evidence.Caller,
		does: cells{allow, refused, refused, allow, refused, refused},
	},
	{
		flows: []Flow{Scan}, scheme: evidence.Secret, authority: evidence.Caller,
		does: cells{allow, warn, warn, allow, warn, refused},
	},
	{
		flows: []Flow{Scan}, scheme: evidence.Access, authority: evidence.Caller,
		does: cells{allow, refused, refused, allow, refused, refused},
	},
}

// What to do next about what this machine approved, and its user claims.
var (
	approvalHint = first(undecided, always("run 'hallmark review' for this server, "+
		"or give --trust-lock where the checkout itself is trusted"))
	fileHint = first(undecided, always("if you updated it, run 'hallmark review' for this server; "+
		"else find out who did"))
	verifyHint = on(evidence.Mismatch, "if you updated the file, "+
		"'hallmark verify-server' with --write puts its new digest into the block; else find out who did")
	surfaceHint = first(undecided, always("review the changes; "+
		"--approve with the digest that is shown as consent accepts them"))
)
