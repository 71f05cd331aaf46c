package policy

import (
	"slices"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// Missing says what an absent claim does.
type Missing string

// The values of --missing-hashes.
const (
	MissingDefault Missing = "" // as the table says
	MissingAllow   Missing = "allow"
	MissingWarn    Missing = "warn"
	MissingRefuse  Missing = "refuse"
)

// decision returns what an absent claim does under m, where the table says otherwise. An unknown m refuses.
func (m Missing) decision(otherwise decision) decision {
	switch m {
	case MissingDefault:
		return otherwise
	case MissingAllow:
		return allow
	case MissingWarn:
		return warn
	}
	return refused
}

// Settings are the few cells of the table that users may change.
type Settings struct {
	RequireHashes bool    // a package without a publisher's claim is refused
	MissingHashes Missing // what a record without file_hashes does at pin
	RequireLock   bool    // a server that is not locked is not launched, a facet not installed; a tag is not followed
	// RequireApproval refuses what this machine has not approved, in flow check: servers are
	// about to be started.
	RequireApproval bool

	// RefuseWaived refuses opt-outs, in flow check, and in flow scan those of a lock, see
	// [IsWaiver], and what clients read that no lock covers.
	RefuseWaived bool

	// Of flow plugin; docs/policy.md has the cells that each changes.
	Strict, StrictIntegrity, RequireSignatures, StrictCapabilities, StrictTools bool
}

// IsWaiver reports whether e is an opt-out that somebody wrote down. It is not for an approval, which
// the caller itself waives, nor for a status, which its publisher waives when it deprecates a record.
func IsWaiver(e evidence.Evidence) bool {
	return e.Outcome == evidence.Waived && e.Scheme != evidence.Approval && e.Scheme != evidence.Status
}

// decide applies the row for e, as s changes it. Evidence without a row is refused.
func (s Settings) decide(flow Flow, e evidence.Evidence) decision {
	r, known := findRule(flow, e)
	if !known {
		return refused // no setting opens a row that the table does not have
	}
	outcome := e.Outcome
	if outcome == evidence.Match && e.Weak && e.Authority != evidence.Verify {
		outcome = evidence.Absent // a weak digest alone never admits anything
	}
	d := r.does.of(outcome)
	switch outcome {
	case evidence.Missing:
		return d // which no setting changes
	case evidence.Match:
		d.warn = d.warn || e.Weak // in a verify block, the only place where it still counts
	case evidence.Absent:
		d = s.decideAbsent(e, d)
	case evidence.Mismatch:
		if e.Scheme == evidence.Tag && d == drift && s.RequireLock {
			d = warn // the locked commit is used, wherever the tag points, and its contents are compared
		}
	case evidence.Unverifiable:
		if d == operation && e.Cause == evidence.Malformed {
			d = invalid
		}
	}
	if s.RefuseWaived && IsWaiver(e) && (flow == Check || flow == Scan && e.Authority == evidence.Lock) {
		d = refused
	}
	if s.RefuseWaived && flow == Scan && e.Scheme == evidence.Unhashed && d == warn {
		d = refused // as flow check does of it
	}
	if flow == Check && e.Scheme == evidence.Approval && s.RequireApproval && d == warn {
		d = refused
	}
	if flow == Plugin {
		d = s.decidePlugin(e, outcome, d)
	}
	return d
}

// decideAbsent returns what an absent claim does under s; d is what the table says.
func (s Settings) decideAbsent(e evidence.Evidence, d decision) decision {
	switch {
	case e.Scheme == evidence.File && e.Authority == evidence.Publisher && s.RequireHashes:
		return refused
	case e.Scheme == evidence.File && e.Authority == evidence.Record:
		return s.MissingHashes.decision(d)
	case (e.Scheme == evidence.Launch || e.Scheme == evidence.Source) && e.Authority == evidence.Lock && s.RequireLock:
		return refused
	}
	return d
}

// decidePlugin returns what e does in flow plugin under s; d is what the table says.
func (s Settings) decidePlugin(e evidence.Evidence, outcome evidence.Outcome, d decision) decision {
	if e.Scheme == evidence.Import && outcome == evidence.Unverifiable && e.Cause == evidence.Unreadable {
		return refused // code that cannot be parsed may import anything
	}
	for _, r := range stricterRows {
		if r.scheme == e.Scheme && (r.authority == "" || r.authority == e.Authority) && r.set(s) &&
			(slices.Contains(r.outcomes, outcome) || r.outcomes == nil && d == warn) {
			return r.does
		}
	}
	return d
}

// stricterRow is a cell of the table that a setting of flow plugin makes stricter.
type stricterRow struct {
	scheme    evidence.Scheme
	authority evidence.Authority // "" for any
	outcomes  []evidence.Outcome // nil for those of which the table warns
	set       func(Settings) bool
	does      decision
}

// stricterRows are the settings of flow plugin.
var stricterRows = []stricterRow{
	{
		scheme: evidence.Coverage, outcomes: []evidence.Outcome{evidence.Absent},
		set: func(s Settings) bool { return s.Strict || s.StrictIntegrity }, does: integrity,
	},
	{
		scheme: evidence.Extent, authority: evidence.Manifest, outcomes: []evidence.Outcome{evidence.Absent},
		set: func(s Settings) bool { return s.StrictIntegrity }, does: integrity,
	},
	{
		scheme: evidence.File, authority: evidence.Publisher,
		outcomes: []evidence.Outcome{evidence.Absent, evidence.Unverifiable},
		set:      func(s Settings) bool { return s.StrictIntegrity }, does: integrity,
	},
	{
		scheme: evidence.Unhashed,
		set:    func(s Settings) bool { return s.Strict }, does: integrity,
	},
	{
		scheme: evidence.Import, outcomes: []evidence.Outcome{evidence.Unverifiable},
		set: func(s Settings) bool { return s.Strict }, does: refused,
	},
	{
		scheme: evidence.Form, authority: evidence.Manifest, outcomes: []evidence.Outcome{evidence.Absent},
		set: func(s Settings) bool { return s.Strict }, does: warn,
	},
	{
		scheme: evidence.Signed, authority: evidence.Machine, outcomes: []evidence.Outcome{evidence.Absent},
		set: func(s Settings) bool { return s.RequireSignatures }, does: signature,
	},
	{
		scheme: evidence.Statement, authority: evidence.Machine, outcomes: []evidence.Outcome{evidence.Absent},
		set: func(s Settings) bool { return s.Strict }, does: signature,
	},
	{
		scheme: evidence.Capability,
		set:    func(s Settings) bool { return s.StrictCapabilities }, does: refused,
	},
	{
		scheme: evidence.Tool,
		set:    func(s Settings) bool { return s.StrictTools }, does: invalid,
	},
}
