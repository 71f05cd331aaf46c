package policy

import "github.com/hallmark-mcp/hallmark/evidence"

// Missing says what an absent claim does.
type Missing string

// The values of --missing-hashes.
const (
	MissingDefault Missing = "" // as the table says
	MissingAllow   Missing = "allow"
	MissingWarn    Missing = "warn"
	MissingRefuse  Missing = "refuse"
)

// decision is what m makes of what the table says otherwise. A value that is none of m's refuses.
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
	RequireLock   bool    // a server that is not locked is not launched, a facet not installed
	// RequireApproval refuses what this machine has not approved, in flow check: servers are
	// about to be started.
	RequireApproval bool

	// RefuseWaived refuses opt-outs, in flow check, and in flow scan those of a lock: see
	// [IsWaiver].
	RefuseWaived bool

	// Of flow plugin; the package comment says what each does.
	Strict, StrictIntegrity, RequireSignatures, StrictCapabilities, StrictTools bool
}

// IsWaiver reports whether e is an opt-out that somebody wrote down. An approval is waived by
// the caller itself, and a record that is deprecated by its publisher.
func IsWaiver(e evidence.Evidence) bool {
	return e.Outcome == evidence.Waived && e.Scheme != evidence.Approval && e.Scheme != evidence.Status
}

// decide applies the rule for e under s.
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
	case evidence.Unverifiable:
		if d == operation && e.Cause == evidence.Malformed {
			d = invalid
		}
	}
	if s.RefuseWaived && IsWaiver(e) && (flow == Check || flow == Scan && e.Authority == evidence.Lock) {
		d = refused
	}
	if flow == Check && e.Scheme == evidence.Approval && s.RequireApproval && d == warn {
		d = refused
	}
	if flow == Plugin {
		d = s.decidePlugin(e, outcome, d)
	}
	return d
}

// decideAbsent is what the settings make of d, which the table says of an absent claim.
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

// decidePlugin is what the settings of flow plugin make of d, which the table says of e.
func (s Settings) decidePlugin(e evidence.Evidence, outcome evidence.Outcome, d decision) decision {
	absent, cannot := outcome == evidence.Absent, outcome == evidence.Unverifiable
	switch e.Scheme {
	case evidence.Coverage:
		if absent && (s.Strict || s.StrictIntegrity) {
			return integrity
		}
	case evidence.Extent:
		if e.Authority == evidence.Manifest && absent && s.StrictIntegrity {
			return integrity
		}
	case evidence.File:
		if e.Authority == evidence.Publisher && (absent || cannot) && s.StrictIntegrity {
			return integrity
		}
	case evidence.Unhashed:
		if d == warn && s.Strict {
			return integrity
		}
	case evidence.Import:
		if cannot && (s.Strict || e.Cause == evidence.Unreadable) {
			return refused
		}
	case evidence.Signed:
		if e.Authority == evidence.Machine && absent && s.RequireSignatures {
			return signature
		}
	case evidence.Statement:
		if e.Authority == evidence.Machine && absent && s.Strict {
			return signature
		}
	case evidence.Capability:
		if d == warn && s.StrictCapabilities {
			return refused
		}
	case evidence.Tool:
		if d == warn && s.StrictTools {
			return invalid
		}
	}
	return d
}
