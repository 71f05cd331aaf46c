package policy

import (
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// hint says what to do next about a refused finding, or nothing.
func hint(flow Flow, f Finding) string {
	e := f.Evidence
	if next := e.Next(); next != "" {
		return next
	}
	if flow == Plugin || flow == Validate {
		return pluginHint(e)
	}
	switch {
	case flow == Scan:
		return "" // its evidence says what to write
	case e.Scheme == evidence.Source && e.Outcome == evidence.Mismatch && e.Observed.From != "hallmark.toml":
		return "hallmark.lock says otherwise than the facet that brings it along; restore it from version control, or run 'hallmark install' without --frozen, and review it"
	case e.Scheme == evidence.Source && e.Outcome == evidence.Mismatch:
		return "hallmark.toml was changed after the facet was locked; run 'hallmark install' without --frozen, and review the lock"
	case e.Scheme == evidence.Source:
		return "run 'hallmark install' without --frozen, and commit hallmark.lock"
	case e.Scheme == evidence.Tag:
		return "the author moved it, which happens by accident or by attack; compare the commits, then run 'hallmark upgrade' for this facet"
	case e.Scheme == evidence.FacetTar && e.Authority == evidence.Record && e.Outcome == evidence.Unverifiable:
		return "no confirmation: a facet is locked only if its registry confirms it in the same operation; try again when it can be reached"
	case e.Scheme == evidence.FacetTar && e.Outcome == evidence.Mismatch && flow == Check:
		return "the store's copy was changed; 'hallmark install' moves it to quarantine and gets the locked contents again"
	case e.Scheme == evidence.FacetTar && e.Outcome == evidence.Mismatch && e.Authority == evidence.Lock:
		return "these are not the contents that were locked: a published version never changes, so find out who changed it; 'hallmark upgrade' takes another version"
	case e.Outcome == evidence.Mismatch && e.Authority == evidence.Sidecar && flow == Install:
		return "the store was tampered with; the slot was moved to quarantine"
	case e.Outcome == evidence.Mismatch && e.Authority == evidence.Manifest:
		return "the archive contradicts itself; do not use it, and tell its publisher"
	case e.Scheme == evidence.LogKey && e.Outcome == evidence.Absent:
		return "ask the registry's operator for the key of its log, and give it with --log-key or as log_key under [registry] in hallmark.toml"
	case e.Scheme == evidence.LogKey:
		return "SECURITY ERROR: if the operator announced another key, run 'hallmark log forget' for the registry and accept it anew; else do not use the registry"
	case e.Scheme == evidence.Cosignature:
		return "too few of the witnesses in hallmark.toml vouch that others see the same log; try again later, and ask them"
	case e.Scheme == evidence.Checkpoint && e.Outcome != evidence.Unverifiable:
		return "nobody vouched lately that this is the newest state of the log; try again later, or raise max_age"
	case e.Authority == evidence.Log && (e.Scheme == evidence.Proof || e.Scheme == evidence.Document):
		return "SECURITY ERROR: the registry's log does not hold what the registry shows; do not use it, and tell its operator"
	case e.Outcome == evidence.Unverifiable && e.Cause == evidence.Unreachable:
		return "nothing was decided; try again when the server can be reached"
	case e.Outcome == evidence.Unverifiable && e.Cause == evidence.Malformed:
		return "a digest is written sha256:<64 hex digits>"
	case e.Outcome == evidence.Mismatch && e.Authority == evidence.Publisher:
		return "the file changed after hashing, or was hashed elsewhere; run 'hallmark hash-gen server.json' and compare"
	case e.Outcome == evidence.Mismatch && e.Authority == evidence.Registry && e.Scheme == evidence.File:
		return "the bytes are not those that the package registry vouches for; a proxy or mirror may have changed them"
	case e.Scheme == evidence.Status:
		return "its publisher took it back; pin another version"
	case e.Outcome == evidence.Mismatch && e.Authority == evidence.Record:
		return "these are not the bytes that were published; do not run them"
	case e.Outcome == evidence.Mismatch && e.Authority == evidence.Verify && e.Scheme == evidence.File:
		return "if you updated the file, 'hallmark verify-server' with --write puts its new digest into the block; else find out who did"
	case e.Outcome == evidence.Absent && e.Authority == evidence.Publisher:
		return "run 'hallmark hash-gen --write server.json' to add file_hashes"
	case e.Outcome == evidence.Absent && e.Authority == evidence.Record && e.Where == "":
		return "there is no record of it; name a registry that has one in hallmark.toml, [registry] url, or accept that with '--missing-hashes warn'"
	case e.Outcome == evidence.Absent && e.Authority == evidence.Record:
		return "the record has no file_hashes; '--missing-hashes warn' accepts that"
	case e.Scheme == evidence.OCI:
		return "the tag leads to another image than the one that was approved, which goes on running; 'hallmark pin' shows the new one"
	case e.Scheme == evidence.Pin && e.Authority == evidence.Lock && flow == Pin:
		return "an older version may have faults that were mended since; take it only if you mean it"
	case e.Scheme == evidence.Pin && e.Authority == evidence.Lock:
		return "run 'hallmark pin' for this server again"
	case e.Scheme == evidence.Pin:
		return "name an exact version"
	case e.Scheme == evidence.Unhashed && e.Authority == evidence.Lock:
		return "move it out of the directory, or publish it with the facet: a client reads what it finds there"
	case e.Scheme == evidence.Installed && e.Authority == evidence.Lock && e.Outcome == evidence.Mismatch:
		return "if the change is not yours find out who made it; 'hallmark install --force' puts the locked file back"
	case e.Scheme == evidence.Launch && e.Outcome == evidence.Absent:
		return "run 'hallmark pin' for this server first"
	case e.Scheme == evidence.Launch && e.Outcome == evidence.Waived: // one that was never pinned
		return "run 'hallmark pin' for this server, and take the opt-out away"
	case e.Scheme == evidence.Launch && e.Outcome == evidence.Mismatch && strings.HasPrefix(e.Observed.From, "hallmark.toml"):
		return "hallmark.toml was changed after the server was pinned; review the change and run 'hallmark pin' again"
	case e.Scheme == evidence.Launch && e.Outcome == evidence.Mismatch && e.Authority == evidence.Lock:
		return "its facet declares it otherwise than it was locked; run 'hallmark install' without --frozen, and review what it shows"
	case e.Scheme == evidence.File && e.Authority == evidence.Machine:
		return "if you updated it, run 'hallmark review' for this server; else find out who did"
	case e.Scheme == evidence.Approval && flow == Pin:
		return "answer 'yes' at the prompt, or give --yes, or --approve with the digest that is shown as consent"
	case e.Scheme == evidence.Surface && e.Authority == evidence.Machine:
		return "review the changes; --approve with the digest that is shown as consent accepts them"
	case e.Scheme == evidence.Approval:
		return "run 'hallmark review' for this server, or give --trust-lock where the checkout itself is trusted"
	case e.Scheme == evidence.Tree && e.Outcome == evidence.Mismatch:
		return "the slot was moved to quarantine; the next run installs it again from verified packages"
	case e.Scheme == evidence.Ownership:
		return "the package must name the server that it belongs to (npm: \"mcpName\" in package.json)"
	case f.Class == evidence.Drift:
		return "run 'hallmark review' for this server"
	case e.Outcome == evidence.Mismatch && e.Authority == evidence.Lock:
		return "the file is not the one that was approved; if the change is yours, run 'hallmark pin' again"
	}
	return ""
}

// pluginHint says what to do next about a finding of a plugin.
func pluginHint(e evidence.Evidence) string {
	switch e.Scheme {
	case evidence.Dist:
		if e.Outcome == evidence.Mismatch {
			return "if you changed the files, run 'hallmark plugin hash --write'; else do not load them"
		}
		return "run 'hallmark plugin hash --write' after the build"
	case evidence.Coverage:
		return "run 'hallmark plugin hash --write', which adds hallmark-tree-v1 and checksums"
	case evidence.Unhashed:
		if e.Outcome == evidence.Mismatch {
			return "bundle it into dist/, and run 'hallmark plugin hash --write'"
		}
	case evidence.Import:
		if e.Outcome == evidence.Absent || e.Outcome == evidence.Mismatch {
			return "bundle it into dist/, or declare it in externalDependencies under a policy that permits it"
		}
	case evidence.Statement:
		if e.Outcome == evidence.Absent {
			return "run 'hallmark plugin sign' with a key that 'hallmark trust list' names"
		}
	case evidence.Signed:
		if e.Outcome == evidence.Absent {
			return "'hallmark trust add' trusts the key of a publisher whom you know"
		}
	}
	return ""
}
