package policy

import "github.com/hallmark-mcp/hallmark/evidence"

// hint says what to do next about a refused finding, or nothing.
func hint(flow Flow, f Finding) string {
	e := f.Evidence
	if flow == Plugin || flow == Validate {
		return pluginHint(e)
	}
	switch {
	case e.Outcome == evidence.Unverifiable && e.Cause == evidence.Unreachable:
		return "nothing was decided; try again when the server can be reached"
	case e.Outcome == evidence.Unverifiable && e.Cause == evidence.Malformed:
		return "a digest is written sha256:<64 hex digits>"
	case e.Outcome == evidence.Mismatch && e.Authority == evidence.Publisher:
		return "the file changed after hashing, or was hashed elsewhere; run 'hallmark hash-gen server.json' and compare"
	case e.Outcome == evidence.Mismatch && e.Authority == evidence.Registry && e.Scheme == evidence.File:
		return "the bytes are not those that the package registry vouches for; a proxy or mirror may have changed them"
	case e.Outcome == evidence.Mismatch && e.Authority == evidence.Record:
		return "these are not the bytes that were published; do not run them"
	case e.Outcome == evidence.Absent && e.Authority == evidence.Publisher:
		return "run 'hallmark hash-gen --write server.json' to add file_hashes"
	case e.Outcome == evidence.Absent && e.Authority == evidence.Record:
		return "the record has no file_hashes; '--missing-hashes warn' accepts that"
	case e.Scheme == evidence.Pin:
		return "name an exact version"
	case e.Scheme == evidence.Launch && e.Outcome == evidence.Absent:
		return "run 'hallmark pin' for this server first"
	case e.Scheme == evidence.Launch:
		return "hallmark.toml was changed after the server was pinned; review the change and run 'hallmark pin' again"
	case e.Scheme == evidence.File && e.Authority == evidence.Machine:
		return "if you updated it, run 'hallmark review' for this server; else find out who did"
	case e.Scheme == evidence.Approval && flow == Pin:
		return "answer 'yes' at the prompt, or give --approve with the digest that is shown as consent"
	case e.Scheme == evidence.Surface && e.Authority == evidence.Machine:
		return "review the changes; --approve with the digest that is shown as consent accepts them"
	case e.Scheme == evidence.Status:
		return "its publisher took it back; pin another version"
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
