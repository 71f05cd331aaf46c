package policy

import (
	"fmt"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Rows about packages and records: what publishers, package registries and MCP registries claim of them.
var recordRows = []rule{
	{
		flows: []Flow{Verify}, scheme: evidence.File, authority: evidence.Publisher,
		does: cells{allow, integrity, warn, allow, operation, refused},
		hint: publisherHint,
	},
	{
		flows: []Flow{Send}, scheme: evidence.File, authority: evidence.Publisher,
		does: cells{allow, integrity, allow, warn, operation, refused},
		hint: publisherHint,
	},
	{
		flows: []Flow{Accept}, scheme: evidence.File, authority: evidence.Publisher,
		does: cells{allow, integrity, allow, refused, integrity, refused},
		hint: publisherHint,
	},
	{
		flows: []Flow{Accept}, scheme: evidence.Document, authority: evidence.Publisher,
		does: cells{allow, integrity, allow, refused, operation, refused},
		hint: publisherHint,
	},
	{
		flows: []Flow{Generate, Verify, Send, Accept, Pin, Launch, Plugin}, scheme: evidence.File,
		authority: evidence.Registry,
		does:      cells{allow, integrity, allow, refused, operation, refused},
		hint: on(evidence.Mismatch, "the bytes are not those that the package registry vouches for; "+
			"a proxy or mirror may have changed them"),
	},
	{
		flows: []Flow{Verify, Send}, scheme: evidence.Ownership, authority: evidence.Registry,
		does: cells{allow, warn, warn, refused, warn, refused},
		hint: ownershipHint,
	},
	{
		flows: []Flow{Verify, Send}, scheme: evidence.Ownership, authority: evidence.Manifest,
		does: cells{allow, warn, warn, refused, warn, refused},
		hint: ownershipHint,
	},
	{
		flows: []Flow{Accept}, scheme: evidence.Ownership, authority: evidence.Registry,
		does: cells{allow, refused, refused, allow, operation, refused},
		hint: ownershipHint,
	},
	{
		flows: []Flow{Accept}, scheme: evidence.Ownership, authority: evidence.Manifest,
		does: cells{allow, refused, refused, refused, operation, refused},
		hint: ownershipHint,
	},
	{
		flows: []Flow{Verify, Send, Accept}, scheme: evidence.Form, authority: evidence.Manifest,
		does: cells{allow, integrity, warn, refused, operation, refused},
		hint: first(when(func(e evidence.Evidence) bool { return strings.HasPrefix(e.Subject, "npm:") },
			on(evidence.Absent, "publish it again, as 'npm publish' packs it")),
			on(evidence.Absent, "name the .mcpb file that 'mcpb pack' writes, or give the package another "+
				"registryType")),
	},
	{
		flows: []Flow{Send, Accept}, scheme: evidence.File, authority: evidence.Record,
		does: cells{allow, integrity, refused, refused, integrity, refused},
		hint: recordHint,
	},
	{
		flows: []Flow{Pin}, scheme: evidence.File, authority: evidence.Record,
		does: cells{allow, integrity, warn, refused, operation, refused},
		hint: recordHint,
	},
	{
		flows: []Flow{Launch, Install, Plugin}, scheme: evidence.File, authority: evidence.Record,
		does: cells{allow, integrity, refused, refused, operation, refused},
		hint: recordHint,
	},
	{
		flows: []Flow{Send, Accept, Plugin}, scheme: evidence.Tree, authority: evidence.Record,
		does: cells{allow, integrity, refused, refused, integrity, refused},
		hint: recordHint,
	},
	{
		flows: []Flow{Send, Accept}, scheme: evidence.FacetTar, authority: evidence.Record,
		does: cells{allow, integrity, refused, refused, integrity, refused},
		hint: confirmationHint,
	},
	{
		flows: []Flow{Pin, Install}, scheme: evidence.FacetTar, authority: evidence.Record,
		does: cells{allow, integrity, refused, refused, refused, refused},
		hint: confirmationHint,
	},
	{
		flows: []Flow{Launch}, scheme: evidence.FacetTar, authority: evidence.Record,
		does: cells{allow, integrity, refused, refused, operation, refused},
		hint: confirmationHint,
	},
	{
		flows: []Flow{Send}, scheme: evidence.APISurface, authority: evidence.Record,
		does: cells{allow, integrity, allow, refused, integrity, refused},
		hint: recordHint,
	},
	{
		flows: []Flow{Pin}, scheme: evidence.APISurface, authority: evidence.Record,
		does: cells{allow, drift, warn, warn, operation, refused},
		hint: recordHint,
	},
	{
		flows: []Flow{Send}, scheme: evidence.Document, authority: evidence.Record,
		does: cells{allow, integrity, refused, refused, integrity, refused},
		hint: recordHint,
	},
	{
		flows: []Flow{Pin, Install}, scheme: evidence.Document, authority: evidence.Record,
		does: cells{allow, integrity, allow, refused, operation, refused},
		hint: recordHint,
	},
	{
		flows: []Flow{Launch, Check, Plugin}, scheme: evidence.Document, authority: evidence.Record,
		does: cells{allow, integrity, refused, refused, operation, refused},
		hint: recordHint,
	},
	{
		flows: []Flow{Pin, Install, Plugin}, scheme: evidence.Status, authority: evidence.Record,
		does: cells{allow, refused, allow, warn, operation, refused},
		hint: statusHint,
	},
	{
		flows: []Flow{Pin, Check}, scheme: evidence.Status, authority: evidence.Registry,
		does: cells{allow, refused, allow, warn, warn, refused},
		hint: takenBackHint,
	},
	{
		flows: []Flow{Pin}, scheme: evidence.Age, authority: evidence.Project,
		does: cells{allow, refused, refused, refused, refused, refused},
		hint: always("name an older version, or wait; min_age under [policy] in hallmark.toml says how long"),
	},
	{
		flows: []Flow{Pin, Check}, scheme: evidence.Advisory, authority: evidence.Advisories,
		does: cells{allow, warn, refused, refused, operation, refused},
		hint: first(
			in(Pin, on(evidence.Mismatch, "name a version that fixes it, or another package; "+
				"if what it describes cannot happen here, nothing is to be done")),
			in(Check, on(evidence.Mismatch, "run 'hallmark upgrade' for this server, or 'hallmark pin' for newer "+
				"dependencies of the same version")),
			advisoriesHint),
	},
	{
		flows: []Flow{Pin, Check}, scheme: evidence.Malware, authority: evidence.Advisories,
		does: cells{allow, refused, refused, refused, operation, refused},
		hint: first(
			in(Pin, on(evidence.Mismatch, "do not start it; name another version, or another package")),
			in(Check, on(evidence.Mismatch, "do not start it again: 'hallmark unpin' takes the server out of "+
				"the lock, and 'hallmark upgrade' takes another version; what it could read is known to others")),
			advisoriesHint),
	},
}

// tellOwnership says which line the package lacks, and in which file.
func tellOwnership(_ Flow, e evidence.Evidence) string {
	name, again := surface.Escape(e.Text), ", and publish it again as a new version"
	switch kind, _, _ := strings.Cut(e.Subject, ":"); kind {
	case "npm":
		return fmt.Sprintf("put \"mcpName\": %q into the package.json of the package%s", name, again)
	case "pypi", "nuget", "cargo":
		return "put the line 'mcp-name: " + name + "' into the README that is published with the package" + again
	case "oci":
		return "build the image with the label io.modelcontextprotocol.server.name=" + name + again
	case "https", "github":
		return "put the file on one of these hosts, or ask the registry's operator for another (--bundle-host)"
	}
	return ""
}

// tellRehash names the command that hashes the files of the document with the claim, whose name is the first thing in
// Where.
func tellRehash(_ Flow, e evidence.Evidence) string {
	file, _, _ := strings.Cut(e.Where, ", ")
	if !plainFile().MatchString(file) {
		file = "server.json"
	}
	return "the file changed after hashing, or was hashed elsewhere; run 'hallmark hash-gen " + file + "' and compare"
}

// tellTakenBack names the command that takes another version than the one of a record, or shows which there is.
func tellTakenBack(flow Flow, e evidence.Evidence) string {
	text := "its publisher took it back; pin another version"
	name := e.Subject[:max(0, strings.LastIndexByte(e.Subject, '@'))]
	switch {
	case flow == Check:
		text += " with 'hallmark upgrade' for this server"
	case flow != Plugin && plainName().MatchString(name):
		text += ": 'hallmark info " + name + "' shows the newest that is left"
	}
	return text
}

// plainName matches the name of a server or a facet that needs no quotes on a command line.
var plainName = spelling.Form(`^[A-Za-z0-9@][A-Za-z0-9._/@-]*$`)

// plainFile matches the path or URL of a document that needs no quotes on a command line.
var plainFile = spelling.Form(`^[A-Za-z0-9._/:@%+~-]+\.json$`)

// What to do next about claims of publishers and registries.
var (
	publisherHint = first(
		when(isMismatch, tellRehash),
		on(evidence.Absent, "run 'hallmark hash-gen --write server.json' to add file_hashes"))
	ownershipHint = when(func(e evidence.Evidence) bool {
		return e.Outcome != evidence.Waived
	}, first(undecided, tellOwnership,
		always("the package must name the server that it belongs to (npm: \"mcpName\" in package.json)")))
	recordHint = first(
		on(evidence.Mismatch, "these are not the bytes that were published; do not run them"),
		when(func(e evidence.Evidence) bool { return e.Where == "" },
			on(evidence.Absent, "there is no record of it; name a registry that has one in hallmark.toml, [registry] "+
				"url, or accept that with '--missing-hashes warn'")),
		on(evidence.Absent, "the record has no file_hashes; '--missing-hashes warn' accepts that"))
	confirmationHint = first(when(func(e evidence.Evidence) bool { return e.Cause == evidence.NotFound },
		on(evidence.Unverifiable, "the registry answered that it has none: compare the name and the version with what "+
			"was published, and url under [registry] in hallmark.toml with where")),
		on(evidence.Unverifiable, "no confirmation: a facet is locked only if its registry "+
			"confirms it in the same operation; try again when it can be reached"), recordHint)
	advisoriesHint = first(undecided, always("advisories under [policy] in hallmark.toml names a directory or a "+
		"URL with npm/all.zip, PyPI/all.zip and Go/all.zip, as far as they are needed; put the archive there, or "+
		"mend the name"))
	statusHint    = first(undecided, tellTakenBack)
	takenBackHint = first(
		on(evidence.Mismatch, "find out why it was taken back, then run 'hallmark upgrade' for this server"),
		on(evidence.Waived, "run 'hallmark upgrade' for this server, which takes another version if there is one"))
)
