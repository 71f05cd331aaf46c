package policy

import "github.com/hallmark-mcp/hallmark/evidence"

// Rows about plugins: what their manifest, install.lock.json and host claim.
var pluginRows = []rule{
	{
		flows: []Flow{Plugin}, scheme: evidence.File, authority: evidence.Publisher,
		does: cells{allow, integrity, allow, refused, warn, refused},
	},
	{
		flows: []Flow{Plugin}, scheme: evidence.Tree, authority: evidence.Lock,
		does: cells{allow, integrity, allow, refused, integrity, integrity},
	},
	{
		flows: []Flow{Plugin}, scheme: evidence.Dist, authority: evidence.Lock,
		does:   cells{allow, integrity, allow, refused, integrity, refused},
		plugin: distHint,
	},
	{
		flows: []Flow{Plugin}, scheme: evidence.Document, authority: evidence.Lock,
		does: cells{allow, integrity, refused, refused, integrity, refused},
	},
	{
		flows: []Flow{Plugin}, scheme: evidence.Extent, authority: evidence.Lock,
		does: cells{allow, integrity, allow, refused, integrity, refused},
	},
	{
		flows: []Flow{Plugin}, scheme: evidence.Signed, authority: evidence.Lock,
		does:   cells{allow, signature, allow, refused, signature, refused},
		plugin: signedHint,
	},
	{
		flows: []Flow{Validate, Plugin}, scheme: evidence.Form, authority: evidence.Manifest,
		does: cells{allow, invalid, allow, refused, invalid, refused},
	},
	{
		flows: []Flow{Send, Accept, Validate, Plugin}, scheme: evidence.Dist, authority: evidence.Manifest,
		does:   cells{allow, integrity, integrity, refused, integrity, integrity},
		hint:   contradictionHint,
		plugin: distHint,
	},
	{
		flows: []Flow{Send, Accept, Validate, Plugin}, scheme: evidence.Extent, authority: evidence.Manifest,
		does: cells{allow, integrity, allow, refused, integrity, refused},
		hint: contradictionHint,
	},
	{
		flows: []Flow{Send, Accept}, scheme: evidence.Coverage, authority: evidence.Manifest,
		does: cells{allow, integrity, warn, refused, integrity, refused},
		hint: contradictionHint,
	},
	{
		flows: []Flow{Validate, Plugin}, scheme: evidence.Coverage, authority: evidence.Manifest,
		does:   cells{allow, integrity, allow, refused, integrity, refused},
		plugin: always("run 'hallmark plugin hash --write', which adds hallmark-tree-v1 and checksums"),
	},
	{
		flows: []Flow{Send, Accept}, scheme: evidence.Unhashed, authority: evidence.Manifest,
		does: cells{allow, refused, refused, refused, refused, refused},
		hint: contradictionHint,
	},
	{
		flows: []Flow{Validate, Plugin}, scheme: evidence.Unhashed, authority: evidence.Manifest,
		does:   cells{allow, integrity, warn, refused, warn, refused},
		plugin: on(evidence.Mismatch, "bundle it into dist/, and run 'hallmark plugin hash --write'"),
	},
	{
		flows: []Flow{Plugin}, scheme: evidence.Import, authority: evidence.Manifest,
		does:   cells{allow, refused, refused, refused, warn, refused},
		plugin: importHint,
	},
	{
		flows: []Flow{Plugin}, scheme: evidence.Permission, authority: evidence.Manifest,
		does: cells{allow, refused, refused, refused, refused, refused},
	},
	{
		flows: []Flow{Plugin}, scheme: evidence.Signed, authority: evidence.Manifest,
		does:   cells{allow, signature, allow, refused, warn, refused},
		plugin: misfitHint,
	},
	{
		flows: []Flow{Plugin}, scheme: evidence.Statement, authority: evidence.Manifest,
		does:   cells{allow, signature, allow, refused, warn, refused},
		plugin: misfitHint,
	},
	{
		flows: []Flow{Plugin}, scheme: evidence.Installed, authority: evidence.Machine,
		does: cells{allow, integrity, warn, refused, operation, refused},
	},
	{
		flows: []Flow{Plugin}, scheme: evidence.Signed, authority: evidence.Machine,
		does:   cells{allow, signature, allow, refused, signature, refused},
		plugin: signedHint,
	},
	{
		flows: []Flow{Plugin}, scheme: evidence.Statement, authority: evidence.Machine,
		does:   cells{allow, signature, allow, refused, signature, refused},
		plugin: statementHint,
	},
	{
		flows: []Flow{Plugin}, scheme: evidence.File, authority: evidence.Caller,
		does: cells{allow, integrity, allow, refused, operation, refused},
	},
	{
		flows: []Flow{Plugin}, scheme: evidence.Permission, authority: evidence.Caller,
		does: cells{allow, refused, refused, refused, refused, refused},
		plugin: always("the host permits it by this variable, or by the flag beside which " +
			"'hallmark plugin verify --help' names it"),
	},
	{
		flows: []Flow{Plugin}, scheme: evidence.Allowlist, authority: evidence.Caller,
		does:   cells{allow, refused, warn, refused, refused, refused},
		plugin: always("have it bundled into dist/; or put it on an allowlist of the host, which --allowlist names"),
	},
	{
		flows: []Flow{Plugin}, scheme: evidence.Capability, authority: evidence.Caller,
		does: cells{allow, warn, warn, refused, warn, refused},
	},
	{
		flows: []Flow{Plugin}, scheme: evidence.Tool, authority: evidence.Caller,
		does: cells{allow, warn, warn, refused, warn, refused},
	},
}

// What to do next about plugins.
var (
	distHint = first(
		on(evidence.Mismatch, "if you changed the files, run 'hallmark plugin hash --write'; else do not load them"),
		always("run 'hallmark plugin hash --write' after the build"))
	importHint    = first(on(evidence.Absent, undeclared), on(evidence.Mismatch, undeclared))
	statementHint = on(evidence.Absent, "run 'hallmark plugin sign' with a key that 'hallmark trust list' names")
	signedHint    = on(evidence.Absent, "'hallmark trust add' trusts the key of a publisher whom you know, "+
		"unless it was revoked")
	misfitHint = on(evidence.Mismatch, "if it is your plugin, run 'hallmark plugin sign'; else ask its author for one "+
		"that is signed by a key that 'hallmark trust list' calls trusted, or for a new key. "+
		"--drop ID of 'hallmark plugin sign' leaves out the signatures by a key that you replaced")
)

const undeclared = "bundle it into dist/, or declare it in externalDependencies under a policy that permits it"
