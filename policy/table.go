package policy

import "github.com/hallmark-mcp/hallmark/evidence"

// decision is what one outcome means in one flow. Its class is the class of the
// refusal; OK is no refusal.
type decision struct {
	refuse evidence.Class
	warn   bool
}

var (
	allow     = decision{}
	warn      = decision{warn: true}
	integrity = decision{refuse: evidence.Integrity}
	refused   = decision{refuse: evidence.Refused}
	signature = decision{refuse: evidence.Signature}
	drift     = decision{refuse: evidence.Drift}
	operation = decision{refuse: evidence.Operation}
	invalid   = decision{refuse: evidence.Validation}
)

// rule says what each outcome of evidence under a scheme and by an authority means.
type rule struct {
	scheme    evidence.Scheme
	authority evidence.Authority
	match     decision
	mismatch  decision
	absent    decision
	waived    decision
	cannot    decision // unverifiable
	missing   decision // never a warning
}

// table is the source of the table in the package comment; a test keeps the two
// equal. Evidence without a rule is refused.
var table = map[Flow][]rule{
	Generate: {
		{evidence.File, evidence.Registry, allow, integrity, allow, refused, operation, refused},
	},
	Verify: {
		{evidence.File, evidence.Publisher, allow, integrity, warn, allow, operation, refused},
		{evidence.File, evidence.Registry, allow, integrity, allow, refused, operation, refused},
	},
	Send: {
		{evidence.File, evidence.Publisher, allow, integrity, allow, warn, operation, refused},
		{evidence.File, evidence.Registry, allow, integrity, allow, refused, operation, refused},
		{evidence.FacetTar, evidence.Manifest, allow, integrity, refused, refused, integrity, refused},
		{evidence.File, evidence.Manifest, allow, integrity, refused, refused, integrity, refused},
		{evidence.FacetTar, evidence.Record, allow, integrity, refused, refused, integrity, refused},
		{evidence.File, evidence.Record, allow, integrity, refused, refused, integrity, refused},
		{evidence.Document, evidence.Record, allow, integrity, refused, refused, integrity, refused},
		{evidence.FacetTar, evidence.Log, allow, integrity, refused, refused, integrity, refused},
		{evidence.Dist, evidence.Manifest, allow, integrity, integrity, refused, integrity, integrity},
		{evidence.Tree, evidence.Manifest, allow, integrity, allow, refused, warn, refused},
		{evidence.Extent, evidence.Manifest, allow, integrity, allow, refused, integrity, refused},
		{evidence.Coverage, evidence.Manifest, allow, integrity, warn, refused, integrity, refused},
		{evidence.Unhashed, evidence.Manifest, allow, refused, refused, refused, refused, refused},
		{evidence.Tree, evidence.Record, allow, integrity, refused, refused, integrity, refused},
		{evidence.Tree, evidence.Log, allow, integrity, refused, refused, integrity, refused},
		{evidence.LogKey, evidence.Machine, allow, integrity, warn, warn, operation, refused},
		{evidence.Proof, evidence.Log, allow, integrity, warn, refused, integrity, refused},
		{evidence.Document, evidence.Log, allow, integrity, refused, refused, integrity, refused},
		{evidence.Cosignature, evidence.Log, allow, warn, allow, refused, warn, refused},
		{evidence.Checkpoint, evidence.Log, allow, warn, warn, refused, warn, refused},
		{evidence.APISurface, evidence.Manifest, allow, integrity, allow, warn, operation, refused},
		{evidence.APISurface, evidence.Record, allow, integrity, allow, refused, integrity, refused},
	},
	Accept: {
		{evidence.File, evidence.Publisher, allow, integrity, allow, refused, integrity, refused},
		{evidence.File, evidence.Registry, allow, integrity, allow, refused, operation, refused},
		{evidence.Ownership, evidence.Registry, allow, refused, refused, allow, operation, refused},
		{evidence.Document, evidence.Publisher, allow, integrity, allow, refused, operation, refused},
		{evidence.FacetTar, evidence.Manifest, allow, integrity, refused, refused, integrity, refused},
		{evidence.File, evidence.Manifest, allow, integrity, refused, refused, integrity, refused},
		{evidence.Dist, evidence.Manifest, allow, integrity, integrity, refused, integrity, integrity},
		{evidence.Tree, evidence.Manifest, allow, integrity, allow, refused, warn, refused},
		{evidence.Extent, evidence.Manifest, allow, integrity, allow, refused, integrity, refused},
		{evidence.Coverage, evidence.Manifest, allow, integrity, warn, refused, integrity, refused},
		{evidence.Unhashed, evidence.Manifest, allow, refused, refused, refused, refused, refused},
		{evidence.File, evidence.Record, allow, integrity, refused, refused, integrity, refused},
		{evidence.FacetTar, evidence.Record, allow, integrity, refused, refused, integrity, refused},
		{evidence.Tree, evidence.Record, allow, integrity, refused, refused, integrity, refused},
	},
	Pin: {
		{evidence.Module, evidence.Lock, allow, integrity, refused, refused, operation, refused},
		{evidence.Tree, evidence.Machine, allow, warn, allow, refused, operation, refused},
		{evidence.Pin, evidence.Caller, allow, refused, warn, refused, refused, refused},
		{evidence.Pin, evidence.Lock, allow, warn, allow, refused, refused, refused},
		{evidence.Launch, evidence.Lock, allow, warn, allow, refused, operation, refused},
		{evidence.File, evidence.Record, allow, integrity, warn, refused, operation, refused},
		{evidence.Document, evidence.Record, allow, integrity, allow, refused, operation, refused},
		{evidence.Document, evidence.Lock, allow, integrity, integrity, refused, integrity, integrity},
		{evidence.File, evidence.Registry, allow, integrity, allow, refused, operation, refused},
		{evidence.File, evidence.Lock, allow, integrity, allow, refused, operation, refused},
		{evidence.File, evidence.Verify, allow, integrity, allow, allow, operation, refused},
		{evidence.Tree, evidence.Lock, allow, integrity, allow, refused, operation, refused},
		{evidence.Import, evidence.Lock, allow, refused, refused, refused, warn, refused},
		{evidence.OCI, evidence.Lock, allow, warn, allow, refused, operation, refused},
		{evidence.Surface, evidence.Lock, allow, warn, allow, refused, operation, refused},
		{evidence.Surface, evidence.Machine, allow, drift, allow, warn, operation, refused},
		{evidence.Status, evidence.Record, allow, refused, allow, warn, operation, refused},
		{evidence.Approval, evidence.Machine, allow, refused, refused, refused, refused, refused},
		{evidence.File, evidence.Machine, allow, warn, allow, refused, operation, refused},
		{evidence.LogKey, evidence.Machine, allow, integrity, refused, refused, operation, refused},
		{evidence.Proof, evidence.Log, allow, integrity, warn, refused, integrity, refused},
		{evidence.Document, evidence.Log, allow, integrity, refused, refused, integrity, refused},
		{evidence.Status, evidence.Log, allow, refused, allow, warn, integrity, refused},
		{evidence.Finding, evidence.Log, allow, warn, allow, refused, integrity, refused},
		{evidence.Cosignature, evidence.Log, allow, signature, signature, refused, operation, refused},
		{evidence.Checkpoint, evidence.Log, allow, refused, refused, refused, operation, refused},
		{evidence.FacetTar, evidence.Lock, allow, integrity, allow, refused, operation, refused},
		{evidence.FacetTar, evidence.Record, allow, integrity, refused, refused, refused, refused},
		{evidence.FacetTar, evidence.Manifest, allow, integrity, integrity, refused, operation, integrity},
		{evidence.File, evidence.Manifest, allow, integrity, integrity, refused, integrity, integrity},
		{evidence.FacetTar, evidence.Sidecar, allow, integrity, integrity, refused, operation, integrity},
		{evidence.File, evidence.Sidecar, allow, integrity, integrity, refused, operation, integrity},
		{evidence.FacetTar, evidence.Log, allow, integrity, refused, refused, integrity, refused},
		{evidence.APISurface, evidence.Log, allow, integrity, integrity, refused, integrity, integrity},
		{evidence.APISurface, evidence.Record, allow, drift, warn, warn, operation, refused},
	},
	Launch: {
		{evidence.Module, evidence.Lock, allow, integrity, refused, refused, operation, refused},
		{evidence.Pin, evidence.Lock, allow, refused, refused, refused, refused, refused},
		{evidence.Launch, evidence.Lock, allow, refused, refused, refused, operation, refused},
		{evidence.Launch, evidence.Project, allow, refused, refused, refused, refused, refused},
		{evidence.Launch, evidence.Machine, allow, refused, refused, warn, refused, refused},
		{evidence.File, evidence.Lock, allow, integrity, refused, refused, operation, refused},
		{evidence.File, evidence.Registry, allow, integrity, allow, refused, operation, refused},
		{evidence.File, evidence.Verify, allow, integrity, warn, allow, operation, refused},
		{evidence.Tree, evidence.Lock, allow, integrity, warn, refused, operation, refused},
		{evidence.Tree, evidence.Machine, allow, integrity, allow, refused, operation, refused},
		{evidence.Tree, evidence.Sidecar, allow, integrity, allow, refused, operation, refused},
		{evidence.File, evidence.Sidecar, allow, integrity, integrity, refused, operation, integrity},
		{evidence.Document, evidence.Lock, allow, integrity, integrity, refused, integrity, integrity},
		{evidence.Approval, evidence.Machine, allow, refused, refused, warn, refused, refused},
		{evidence.File, evidence.Machine, allow, refused, warn, refused, operation, refused},
		{evidence.LogKey, evidence.Machine, allow, integrity, warn, refused, operation, refused},
		{evidence.Checkpoint, evidence.Log, allow, refused, refused, refused, operation, refused},
		{evidence.Cosignature, evidence.Log, allow, signature, signature, refused, operation, refused},
		{evidence.Proof, evidence.Log, allow, integrity, allow, refused, integrity, refused},
		{evidence.Document, evidence.Log, allow, integrity, refused, refused, integrity, refused},
		{evidence.FacetTar, evidence.Lock, allow, integrity, refused, refused, operation, refused},
		{evidence.FacetTar, evidence.Record, allow, integrity, refused, refused, operation, refused},
		{evidence.File, evidence.Record, allow, integrity, refused, refused, operation, refused},
		{evidence.Document, evidence.Record, allow, integrity, refused, refused, operation, refused},
		{evidence.FacetTar, evidence.Manifest, allow, integrity, integrity, refused, operation, integrity},
		{evidence.File, evidence.Manifest, allow, integrity, integrity, refused, integrity, integrity},
		{evidence.FacetTar, evidence.Sidecar, allow, integrity, integrity, refused, operation, integrity},
		{evidence.FacetTar, evidence.Log, allow, integrity, refused, refused, integrity, refused},
		{evidence.Unhashed, evidence.Lock, allow, refused, refused, refused, refused, refused},
		{evidence.Import, evidence.Lock, allow, refused, refused, refused, allow, refused},
	},
	Bare: {
		{evidence.Launch, evidence.Lock, refused, refused, refused, warn, refused, refused},
		{evidence.Launch, evidence.Machine, allow, refused, refused, warn, refused, refused},
		{evidence.Approval, evidence.Machine, allow, refused, refused, warn, refused, refused},
		{evidence.File, evidence.Lock, refused, refused, allow, refused, refused, refused},
		{evidence.File, evidence.Machine, allow, refused, allow, refused, refused, refused},
		{evidence.File, evidence.Verify, allow, integrity, warn, allow, operation, refused},
	},
	Session: {
		{evidence.Surface, evidence.Lock, allow, drift, drift, refused, drift, refused},
	},
	Install: {
		{evidence.Source, evidence.Lock, allow, refused, allow, refused, operation, refused},
		{evidence.Source, evidence.Project, allow, refused, refused, refused, refused, refused},
		{evidence.Source, evidence.Manifest, allow, refused, refused, refused, refused, refused},
		{evidence.Tag, evidence.Lock, allow, drift, allow, refused, operation, refused},
		{evidence.OCI, evidence.Lock, allow, drift, allow, refused, operation, refused},
		{evidence.FacetTar, evidence.Lock, allow, integrity, allow, refused, operation, refused},
		{evidence.File, evidence.Lock, allow, integrity, allow, refused, integrity, refused},
		{evidence.Document, evidence.Lock, allow, integrity, allow, refused, operation, refused},
		{evidence.FacetTar, evidence.Record, allow, integrity, refused, refused, refused, refused},
		{evidence.File, evidence.Record, allow, integrity, refused, refused, operation, refused},
		{evidence.Document, evidence.Record, allow, integrity, allow, refused, operation, refused},
		{evidence.Status, evidence.Record, allow, refused, allow, warn, operation, refused},
		{evidence.FacetTar, evidence.Manifest, allow, integrity, integrity, refused, operation, integrity},
		{evidence.File, evidence.Manifest, allow, integrity, integrity, refused, integrity, integrity},
		{evidence.FacetTar, evidence.Sidecar, allow, integrity, integrity, refused, operation, integrity},
		{evidence.File, evidence.Sidecar, allow, integrity, integrity, refused, operation, integrity},
		{evidence.Installed, evidence.Machine, allow, warn, allow, warn, warn, refused},
		{evidence.Installed, evidence.Lock, allow, integrity, refused, refused, operation, refused},
		{evidence.Unhashed, evidence.Lock, allow, refused, refused, refused, refused, refused},
		{evidence.LogKey, evidence.Machine, allow, integrity, refused, refused, operation, refused},
		{evidence.LogKey, evidence.Lock, allow, integrity, refused, refused, operation, refused},
		{evidence.Proof, evidence.Log, allow, integrity, warn, refused, integrity, refused},
		{evidence.Document, evidence.Log, allow, integrity, refused, refused, integrity, refused},
		{evidence.FacetTar, evidence.Log, allow, integrity, refused, refused, integrity, refused},
		{evidence.Status, evidence.Log, allow, refused, allow, warn, integrity, refused},
		{evidence.Finding, evidence.Log, allow, warn, allow, refused, integrity, refused},
		{evidence.Cosignature, evidence.Log, allow, signature, signature, refused, operation, refused},
		{evidence.Checkpoint, evidence.Log, allow, refused, refused, refused, operation, refused},
		{evidence.APISurface, evidence.Log, allow, integrity, integrity, refused, integrity, integrity},
	},
	Check: {
		{evidence.Pin, evidence.Lock, allow, refused, refused, refused, refused, refused},
		{evidence.OCI, evidence.Lock, allow, drift, allow, refused, warn, refused},
		{evidence.Launch, evidence.Lock, allow, refused, refused, warn, operation, refused},
		{evidence.Launch, evidence.Project, allow, refused, refused, refused, refused, refused},
		{evidence.Launch, evidence.Machine, allow, refused, refused, warn, refused, refused},
		{evidence.File, evidence.Lock, allow, integrity, refused, refused, operation, refused},
		{evidence.File, evidence.Verify, allow, integrity, allow, warn, operation, refused},
		{evidence.Tree, evidence.Lock, allow, integrity, warn, refused, warn, refused},
		{evidence.Tree, evidence.Machine, allow, integrity, allow, refused, operation, refused},
		{evidence.Tree, evidence.Sidecar, allow, integrity, allow, refused, operation, refused},
		{evidence.File, evidence.Sidecar, allow, integrity, integrity, refused, operation, integrity},
		{evidence.Document, evidence.Lock, allow, integrity, integrity, refused, integrity, integrity},
		{evidence.Document, evidence.Record, allow, integrity, refused, refused, operation, refused},
		{evidence.Surface, evidence.Lock, allow, drift, drift, refused, drift, refused},
		{evidence.Surface, evidence.Machine, allow, drift, warn, refused, drift, refused},
		{evidence.Approval, evidence.Machine, allow, warn, warn, allow, warn, refused},
		{evidence.File, evidence.Machine, allow, refused, allow, refused, operation, refused},
		{evidence.LogKey, evidence.Machine, allow, integrity, refused, refused, operation, refused},
		{evidence.LogKey, evidence.Lock, allow, integrity, refused, refused, operation, refused},
		{evidence.Proof, evidence.Log, allow, integrity, warn, refused, integrity, refused},
		{evidence.Document, evidence.Log, allow, integrity, refused, refused, integrity, refused},
		{evidence.Status, evidence.Log, allow, refused, allow, warn, integrity, refused},
		{evidence.Finding, evidence.Log, allow, warn, allow, refused, integrity, refused},
		{evidence.Cosignature, evidence.Log, allow, signature, signature, refused, operation, refused},
		{evidence.Checkpoint, evidence.Log, allow, warn, warn, refused, operation, refused},
		{evidence.Source, evidence.Lock, allow, refused, refused, refused, operation, refused},
		{evidence.Source, evidence.Project, allow, refused, refused, refused, refused, refused},
		{evidence.Source, evidence.Manifest, allow, refused, refused, refused, refused, refused},
		{evidence.FacetTar, evidence.Lock, allow, integrity, warn, refused, warn, refused},
		{evidence.FacetTar, evidence.Sidecar, allow, integrity, integrity, refused, operation, integrity},
		{evidence.FacetTar, evidence.Log, allow, integrity, refused, refused, integrity, refused},
		{evidence.APISurface, evidence.Log, allow, integrity, integrity, refused, integrity, integrity},
		{evidence.Installed, evidence.Machine, allow, warn, warn, allow, warn, refused},
		{evidence.Installed, evidence.Lock, allow, integrity, refused, refused, operation, refused},
		{evidence.Unhashed, evidence.Lock, allow, refused, refused, refused, refused, refused},
		{evidence.Import, evidence.Lock, allow, refused, refused, refused, warn, refused},
	},
	Scan: {
		{evidence.Pin, evidence.Caller, allow, refused, refused, allow, refused, refused},
		{evidence.Launch, evidence.Caller, allow, refused, refused, allow, warn, refused},
		{evidence.Launch, evidence.Verify, allow, warn, warn, allow, warn, refused},
		{evidence.Transport, evidence.Caller, allow, refused, refused, allow, refused, refused},
		{evidence.Secret, evidence.Caller, allow, warn, warn, allow, warn, refused},
		{evidence.Access, evidence.Machine, allow, refused, refused, allow, warn, refused},
		{evidence.Access, evidence.Caller, allow, refused, refused, allow, refused, refused},
		{evidence.Document, evidence.Caller, allow, refused, refused, refused, operation, refused},
		{evidence.Launch, evidence.Machine, allow, refused, refused, refused, refused, refused},
		{evidence.Launch, evidence.Lock, allow, refused, refused, warn, refused, refused},
		{evidence.Document, evidence.Lock, allow, integrity, integrity, refused, integrity, integrity},
		{evidence.Approval, evidence.Machine, allow, warn, allow, refused, warn, refused},
		{evidence.Launch, evidence.Project, allow, refused, refused, refused, refused, refused},
		{evidence.Source, evidence.Lock, allow, refused, refused, refused, refused, refused},
		{evidence.LogKey, evidence.Machine, allow, integrity, warn, refused, operation, refused},
		{evidence.Checkpoint, evidence.Log, allow, refused, refused, refused, operation, refused},
		{evidence.Cosignature, evidence.Log, allow, signature, signature, refused, operation, refused},
		{evidence.Proof, evidence.Log, allow, integrity, allow, refused, integrity, refused},
		{evidence.Document, evidence.Log, allow, integrity, refused, refused, integrity, refused},
		{evidence.FacetTar, evidence.Log, allow, integrity, refused, refused, integrity, refused},
	},
	Validate: {
		{evidence.Dist, evidence.Manifest, allow, integrity, integrity, refused, integrity, integrity},
		{evidence.Tree, evidence.Manifest, allow, integrity, allow, refused, warn, refused},
		{evidence.Extent, evidence.Manifest, allow, integrity, allow, refused, integrity, refused},
		{evidence.File, evidence.Manifest, allow, integrity, integrity, refused, integrity, integrity},
		{evidence.Coverage, evidence.Manifest, allow, integrity, allow, refused, integrity, refused},
		{evidence.Unhashed, evidence.Manifest, allow, integrity, warn, refused, warn, refused},
	},
	Plugin: {
		{evidence.Dist, evidence.Manifest, allow, integrity, integrity, refused, integrity, integrity},
		{evidence.Tree, evidence.Manifest, allow, integrity, allow, refused, warn, refused},
		{evidence.Extent, evidence.Manifest, allow, integrity, allow, refused, integrity, refused},
		{evidence.File, evidence.Manifest, allow, integrity, integrity, refused, integrity, integrity},
		{evidence.Coverage, evidence.Manifest, allow, integrity, allow, refused, integrity, refused},
		{evidence.Unhashed, evidence.Manifest, allow, integrity, warn, refused, warn, refused},
		{evidence.Import, evidence.Manifest, allow, refused, refused, refused, warn, refused},
		{evidence.Permission, evidence.Manifest, allow, refused, refused, refused, refused, refused},
		{evidence.Permission, evidence.Caller, allow, refused, refused, refused, refused, refused},
		{evidence.Allowlist, evidence.Caller, allow, refused, warn, refused, refused, refused},
		{evidence.File, evidence.Publisher, allow, integrity, allow, refused, warn, refused},
		{evidence.Signed, evidence.Manifest, allow, signature, allow, refused, warn, refused},
		{evidence.Signed, evidence.Machine, allow, signature, allow, refused, signature, refused},
		{evidence.Statement, evidence.Manifest, allow, signature, allow, refused, warn, refused},
		{evidence.Statement, evidence.Machine, allow, signature, allow, refused, signature, refused},
		{evidence.Capability, evidence.Caller, allow, warn, warn, refused, warn, refused},
		{evidence.Tool, evidence.Caller, allow, warn, warn, refused, warn, refused},
		{evidence.Dist, evidence.Lock, allow, integrity, allow, refused, integrity, refused},
		{evidence.Tree, evidence.Lock, allow, integrity, allow, refused, integrity, integrity},
		{evidence.Extent, evidence.Lock, allow, integrity, allow, refused, integrity, refused},
		{evidence.File, evidence.Lock, allow, integrity, allow, refused, operation, refused},
		{evidence.Signed, evidence.Lock, allow, signature, allow, refused, signature, refused},
		{evidence.Document, evidence.Lock, allow, integrity, refused, refused, integrity, refused},
		{evidence.Installed, evidence.Lock, allow, integrity, refused, refused, operation, refused},
		{evidence.Installed, evidence.Machine, allow, integrity, warn, refused, operation, refused},
		{evidence.File, evidence.Caller, allow, integrity, allow, refused, operation, refused},
		{evidence.File, evidence.Record, allow, integrity, refused, refused, operation, refused},
		{evidence.Tree, evidence.Record, allow, integrity, refused, refused, integrity, refused},
		{evidence.Document, evidence.Record, allow, integrity, refused, refused, operation, refused},
		{evidence.Status, evidence.Record, allow, refused, allow, warn, operation, refused},
		{evidence.LogKey, evidence.Machine, allow, integrity, refused, refused, operation, refused},
		{evidence.Proof, evidence.Log, allow, integrity, warn, refused, integrity, refused},
		{evidence.Document, evidence.Log, allow, integrity, refused, refused, integrity, refused},
		{evidence.Tree, evidence.Log, allow, integrity, refused, refused, integrity, refused},
		{evidence.Status, evidence.Log, allow, refused, allow, warn, integrity, refused},
		{evidence.Finding, evidence.Log, allow, warn, allow, refused, integrity, refused},
		{evidence.Cosignature, evidence.Log, allow, signature, signature, refused, operation, refused},
		{evidence.Checkpoint, evidence.Log, allow, refused, refused, refused, operation, refused},
	},
}

// find returns the rule for e in flow, if there is one.
func find(flow Flow, e evidence.Evidence) (rule, bool) {
	for _, r := range table[flow] {
		if r.scheme == e.Scheme && r.authority == e.Authority {
			return r, true
		}
	}
	return rule{}, false
}

// IsWaiver reports whether e is an opt-out that somebody wrote down. An approval is waived by
// the caller itself, and a record that is deprecated by its publisher.
func IsWaiver(e evidence.Evidence) bool {
	return e.Outcome == evidence.Waived && e.Scheme != evidence.Approval && e.Scheme != evidence.Status
}

// decide applies the rule for e under s.
func (s Settings) decide(flow Flow, e evidence.Evidence) decision {
	r, known := find(flow, e)
	if !known {
		return refused // no setting opens a row that the table does not have
	}
	outcome := e.Outcome
	if e.Outcome == evidence.Match && e.Weak && e.Authority != evidence.Verify {
		outcome = evidence.Absent // a weak digest alone never admits anything
	}
	var d decision
	switch outcome {
	case evidence.Match:
		d = r.match
		d.warn = d.warn || e.Weak // in a verify block, the only place where it still counts
	case evidence.Mismatch:
		d = r.mismatch
	case evidence.Absent:
		d = r.absent
		switch {
		case e.Scheme == evidence.File && e.Authority == evidence.Publisher && s.RequireHashes:
			d = refused
		case e.Scheme == evidence.File && e.Authority == evidence.Record:
			d = s.MissingHashes.decision(d)
		case (e.Scheme == evidence.Launch || e.Scheme == evidence.Source) && e.Authority == evidence.Lock && s.RequireLock:
			d = refused
		}
	case evidence.Missing:
		return r.missing // which no setting changes
	case evidence.Waived:
		d = r.waived
	case evidence.Unverifiable:
		d = r.cannot
		if d == operation && (e.Cause == evidence.Malformed) {
			d = decision{refuse: evidence.Validation}
		}
	default:
		d = refused
	}
	if s.RefuseWaived && IsWaiver(e) && (flow == Check || flow == Scan && e.Authority == evidence.Lock) {
		d = refused
	}
	if flow == Check && e.Scheme == evidence.Approval && s.RequireApproval && d == warn {
		d = refused
	}
	if flow == Plugin {
		d = s.plugin(e, outcome, d)
	}
	return d
}

// plugin is what the settings of flow plugin make of d, which the table says of e.
func (s Settings) plugin(e evidence.Evidence, outcome evidence.Outcome, d decision) decision {
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
