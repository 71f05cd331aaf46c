// Package policy judges evidence and is the only place that admits anything.
//
// [Judge] looks up each piece of evidence, by the flow that asks, its scheme and its
// authority, in one table. Evidence that the table does not know is refused. If no
// piece is refused the [Verdict] holds an [Admitted], the proof that storing, locking
// and executing demand.
//
// # Table
//
// What each outcome of the evidence does: "-" allows, "warn" allows and says so, any
// other word refuses with that class.
//
//	flow      scheme       authority  match   mismatch   absent     waived  unverifiable
//	generate  file         registry   -       integrity  -          policy  operation
//	verify    file         publisher  -       integrity  warn       -       operation
//	verify    file         registry   -       integrity  -          policy  operation
//	send      file         publisher  -       integrity  -          warn    operation
//	send      file         registry   -       integrity  -          policy  operation
//	send      facet-tar    manifest   -       integrity  policy     policy  integrity
//	send      file         manifest   -       integrity  policy     policy  integrity
//	send      facet-tar    record     -       integrity  policy     policy  integrity
//	send      file         record     -       integrity  policy     policy  integrity
//	send      document     record     -       integrity  policy     policy  integrity
//	send      facet-tar    log        -       integrity  policy     policy  integrity
//	send      dist         manifest   -       integrity  integrity  policy  integrity
//	send      tree         manifest   -       integrity  -          policy  warn
//	send      extent       manifest   -       integrity  -          policy  integrity
//	send      coverage     manifest   -       integrity  warn       policy  integrity
//	send      unhashed     manifest   -       policy     policy     policy  policy
//	send      tree         record     -       integrity  policy     policy  integrity
//	send      tree         log        -       integrity  policy     policy  integrity
//	send      log-key      machine    -       integrity  warn       warn    operation
//	send      proof        log        -       integrity  warn       policy  integrity
//	send      document     log        -       integrity  policy     policy  integrity
//	send      cosignature  log        -       warn       -          policy  warn
//	send      checkpoint   log        -       warn       warn       policy  warn
//	send      api-surface  manifest   -       integrity  -          warn    operation
//	send      api-surface  record     -       integrity  -          policy  integrity
//	accept    file         publisher  -       integrity  -          policy  integrity
//	accept    file         registry   -       integrity  -          policy  operation
//	accept    ownership    registry   -       policy     policy     -       operation
//	accept    document     publisher  -       integrity  -          policy  operation
//	accept    facet-tar    manifest   -       integrity  policy     policy  integrity
//	accept    file         manifest   -       integrity  policy     policy  integrity
//	accept    dist         manifest   -       integrity  integrity  policy  integrity
//	accept    tree         manifest   -       integrity  -          policy  warn
//	accept    extent       manifest   -       integrity  -          policy  integrity
//	accept    coverage     manifest   -       integrity  warn       policy  integrity
//	accept    unhashed     manifest   -       policy     policy     policy  policy
//	accept    file         record     -       integrity  policy     policy  integrity
//	accept    facet-tar    record     -       integrity  policy     policy  integrity
//	accept    tree         record     -       integrity  policy     policy  integrity
//	pin       go-module    lock       -       integrity  policy     policy  operation
//	pin       tree         machine    -       warn       -          policy  operation
//	pin       pin          caller     -       policy     warn       policy  policy
//	pin       pin          lock       -       warn       -          policy  policy
//	pin       launch       lock       -       warn       -          policy  operation
//	pin       file         record     -       integrity  warn       policy  operation
//	pin       document     record     -       integrity  -          policy  operation
//	pin       file         registry   -       integrity  -          policy  operation
//	pin       file         lock       -       integrity  -          policy  operation
//	pin       file         verify     -       integrity  -          -       operation
//	pin       tree         lock       -       integrity  -          policy  operation
//	pin       oci          lock       -       warn       -          policy  operation
//	pin       surface      lock       -       warn       -          policy  operation
//	pin       surface      machine    -       drift      -          warn    operation
//	pin       status       record     -       policy     -          warn    operation
//	pin       approval     machine    -       policy     policy     policy  policy
//	pin       file         machine    -       warn       -          policy  operation
//	pin       log-key      machine    -       integrity  policy     policy  operation
//	pin       proof        log        -       integrity  warn       policy  integrity
//	pin       document     log        -       integrity  policy     policy  integrity
//	pin       status       log        -       policy     -          warn    integrity
//	pin       finding      log        -       warn       -          policy  integrity
//	pin       cosignature  log        -       signature  signature  policy  operation
//	pin       checkpoint   log        -       policy     policy     policy  operation
//	pin       facet-tar    lock       -       integrity  -          policy  operation
//	pin       facet-tar    record     -       integrity  policy     policy  policy
//	pin       facet-tar    manifest   -       integrity  integrity  policy  operation
//	pin       file         manifest   -       integrity  integrity  policy  integrity
//	pin       facet-tar    sidecar    -       integrity  integrity  policy  operation
//	pin       file         sidecar    -       integrity  integrity  policy  operation
//	pin       facet-tar    log        -       integrity  policy     policy  integrity
//	pin       api-surface  log        -       integrity  integrity  policy  integrity
//	pin       api-surface  record     -       drift      warn       warn    operation
//	launch    go-module    lock       -       integrity  policy     policy  operation
//	launch    pin          lock       -       policy     policy     policy  policy
//	launch    launch       lock       -       policy     policy     policy  operation
//	launch    file         lock       -       integrity  policy     policy  operation
//	launch    file         registry   -       integrity  -          policy  operation
//	launch    file         verify     -       integrity  warn       -       operation
//	launch    tree         lock       -       integrity  warn       policy  operation
//	launch    tree         machine    -       integrity  -          policy  operation
//	launch    tree         sidecar    -       integrity  -          policy  operation
//	launch    file         sidecar    -       integrity  integrity  policy  operation
//	launch    document     lock       -       integrity  integrity  policy  integrity
//	launch    approval     machine    -       policy     policy     warn    policy
//	launch    file         machine    -       policy     warn       policy  operation
//	launch    log-key      machine    -       integrity  warn       policy  operation
//	launch    proof        log        -       integrity  -          policy  integrity
//	launch    document     log        -       integrity  policy     policy  integrity
//	launch    facet-tar    lock       -       integrity  policy     policy  operation
//	launch    facet-tar    record     -       integrity  policy     policy  operation
//	launch    file         record     -       integrity  policy     policy  operation
//	launch    document     record     -       integrity  policy     policy  operation
//	launch    facet-tar    manifest   -       integrity  integrity  policy  operation
//	launch    file         manifest   -       integrity  integrity  policy  integrity
//	launch    facet-tar    sidecar    -       integrity  integrity  policy  operation
//	launch    facet-tar    log        -       integrity  policy     policy  integrity
//	bare      launch       lock       policy  policy     warn       policy  policy
//	bare      file         lock       policy  policy     -          policy  policy
//	bare      file         machine    policy  policy     -          policy  policy
//	bare      file         verify     -       integrity  warn       -       operation
//	session   surface      lock       -       drift      drift      policy  drift
//	install   source       lock       -       policy     -          policy  operation
//	install   tag          lock       -       drift      -          policy  operation
//	install   oci          lock       -       drift      -          policy  operation
//	install   facet-tar    lock       -       integrity  -          policy  operation
//	install   file         lock       -       integrity  -          policy  integrity
//	install   document     lock       -       integrity  -          policy  operation
//	install   facet-tar    record     -       integrity  policy     policy  policy
//	install   file         record     -       integrity  policy     policy  operation
//	install   document     record     -       integrity  -          policy  operation
//	install   status       record     -       policy     -          warn    operation
//	install   facet-tar    manifest   -       integrity  integrity  policy  operation
//	install   file         manifest   -       integrity  integrity  policy  integrity
//	install   facet-tar    sidecar    -       integrity  integrity  policy  operation
//	install   file         sidecar    -       integrity  integrity  policy  operation
//	install   installed    machine    -       warn       -          warn    warn
//	install   log-key      machine    -       integrity  policy     policy  operation
//	install   proof        log        -       integrity  warn       policy  integrity
//	install   document     log        -       integrity  policy     policy  integrity
//	install   facet-tar    log        -       integrity  policy     policy  integrity
//	install   status       log        -       policy     -          warn    integrity
//	install   finding      log        -       warn       -          policy  integrity
//	install   cosignature  log        -       signature  signature  policy  operation
//	install   checkpoint   log        -       policy     policy     policy  operation
//	install   api-surface  log        -       integrity  integrity  policy  integrity
//	check     pin          lock       -       policy     policy     policy  policy
//	check     oci          lock       -       drift      -          policy  warn
//	check     launch       lock       -       policy     warn       policy  operation
//	check     file         lock       -       integrity  policy     policy  operation
//	check     file         verify     -       integrity  -          -       operation
//	check     tree         lock       -       integrity  warn       policy  warn
//	check     tree         machine    -       integrity  -          policy  operation
//	check     tree         sidecar    -       integrity  -          policy  operation
//	check     file         sidecar    -       integrity  integrity  policy  operation
//	check     document     lock       -       integrity  integrity  policy  integrity
//	check     document     record     -       integrity  policy     policy  operation
//	check     surface      lock       -       drift      drift      policy  drift
//	check     surface      machine    -       drift      warn       policy  drift
//	check     approval     machine    -       warn       warn       -       warn
//	check     file         machine    -       policy     -          policy  operation
//	check     log-key      machine    -       integrity  policy     policy  operation
//	check     proof        log        -       integrity  warn       policy  integrity
//	check     document     log        -       integrity  policy     policy  integrity
//	check     status       log        -       policy     -          warn    integrity
//	check     finding      log        -       warn       -          policy  integrity
//	check     cosignature  log        -       signature  signature  policy  operation
//	check     checkpoint   log        -       warn       warn       policy  operation
//	check     source       lock       -       policy     warn       policy  operation
//	check     facet-tar    lock       -       integrity  warn       policy  warn
//	check     facet-tar    sidecar    -       integrity  integrity  policy  operation
//	check     facet-tar    log        -       integrity  policy     policy  integrity
//	check     api-surface  log        -       integrity  integrity  policy  integrity
//	check     installed    machine    -       warn       warn       -       warn
//	scan      pin          caller     -       policy     policy     -       policy
//	scan      launch       caller     -       policy     policy     -       warn
//	scan      launch       verify     -       warn       warn       -       warn
//	scan      transport    caller     -       policy     policy     -       policy
//	scan      secret       caller     -       warn       warn       -       warn
//	scan      access       machine    -       policy     policy     -       warn
//	scan      document     caller     -       policy     policy     policy  operation
//	validate  dist         manifest   -       integrity  integrity  policy  integrity
//	validate  tree         manifest   -       integrity  -          policy  warn
//	validate  extent       manifest   -       integrity  -          policy  integrity
//	validate  file         manifest   -       integrity  integrity  policy  integrity
//	validate  coverage     manifest   -       integrity  -          policy  integrity
//	validate  unhashed     manifest   -       warn       warn       policy  warn
//	plugin    dist         manifest   -       integrity  integrity  policy  integrity
//	plugin    tree         manifest   -       integrity  -          policy  warn
//	plugin    extent       manifest   -       integrity  -          policy  integrity
//	plugin    file         manifest   -       integrity  integrity  policy  integrity
//	plugin    coverage     manifest   -       integrity  -          policy  integrity
//	plugin    unhashed     manifest   -       warn       warn       policy  warn
//	plugin    import       manifest   -       policy     policy     policy  warn
//	plugin    permission   manifest   -       policy     policy     policy  policy
//	plugin    permission   caller     -       policy     policy     policy  policy
//	plugin    allowlist    caller     -       policy     warn       policy  policy
//	plugin    file         publisher  -       integrity  -          policy  warn
//	plugin    signature    manifest   -       signature  -          policy  warn
//	plugin    signature    machine    -       signature  -          policy  signature
//	plugin    statement    manifest   -       signature  -          policy  warn
//	plugin    statement    machine    -       signature  -          policy  signature
//	plugin    capability   caller     -       warn       warn       policy  warn
//	plugin    tool         caller     -       warn       warn       policy  warn
//	plugin    dist         lock       -       integrity  -          policy  integrity
//	plugin    tree         lock       -       integrity  -          policy  integrity
//	plugin    file         lock       -       integrity  -          policy  operation
//	plugin    file         caller     -       integrity  -          policy  operation
//	plugin    file         record     -       integrity  policy     policy  operation
//	plugin    tree         record     -       integrity  policy     policy  integrity
//	plugin    document     record     -       integrity  policy     policy  operation
//	plugin    status       record     -       policy     -          warn    operation
//	plugin    log-key      machine    -       integrity  policy     policy  operation
//	plugin    proof        log        -       integrity  warn       policy  integrity
//	plugin    document     log        -       integrity  policy     policy  integrity
//	plugin    tree         log        -       integrity  policy     policy  integrity
//	plugin    status       log        -       policy     -          warn    integrity
//	plugin    finding      log        -       warn       -          policy  integrity
//	plugin    cosignature  log        -       signature  signature  policy  operation
//	plugin    checkpoint   log        -       policy     policy     policy  operation
//
// Three settings change a cell: RequireHashes makes an absent publisher's claim
// "policy", MissingHashes replaces what an absent record's claim does, RequireLock
// makes an absent launch or source "policy". A claim that is malformed is refused as
// "validation" where the table says "operation". A match under a weak algorithm
// counts as absent, save in a verify block, where it warns.
//
// The settings of flow plugin make cells stricter, none laxer:
//
//	Strict              coverage absent, unhashed: integrity; import unverifiable: policy;
//	                    statement by machine absent: signature
//	StrictIntegrity     coverage and extent absent, file by publisher absent or
//	                    unverifiable: integrity
//	RequireSignatures   signature by machine absent: signature
//	StrictCapabilities  capability: policy
//	StrictTools         tool: validation
//
// Code that could not be parsed (an import that is unverifiable because it is
// unreadable) is refused as "policy" without any setting.
package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Flow is what the evidence is gathered for.
type Flow string

// The flows.
const (
	Generate Flow = "generate" // hash-gen: hash what the document's packages give
	Verify   Flow = "verify"   // verify: recompute what a document claims
	Send     Flow = "send"     // publish, at the author's side
	Accept   Flow = "accept"   // publish, at the registry's side
	Pin      Flow = "pin"      // lock a server
	Launch   Flow = "launch"   // run a locked server, before it starts
	Bare     Flow = "bare"     // run a server that is not locked
	Session  Flow = "session"  // one item of a surface, while the server runs
	Install  Flow = "install"  // lock facets and write their files
	Check    Flow = "check"    // verify the lock without launching
	Scan     Flow = "scan"     // read how the clients of this machine start their servers
	Validate Flow = "validate" // a plugin's manifest and files, whatever its code does
	Plugin   Flow = "plugin"   // load a plugin, or put it where it is loaded from
)

// Action is an effect that needs an [Admitted].
type Action string

// The actions.
const (
	Publish Action = "publish" // insert a record
	Keep    Action = "keep"    // put into the store
	Add     Action = "add"     // write a lock entry
	Execute Action = "execute" // start a process
	Show    Action = "show"    // let a model see an item of a surface

	Materialize Action = "materialize" // write files of a facet into a project
	Place       Action = "place"       // write a plugin's files to where they are loaded from
)

// actions lists what a verdict of each flow can admit.
var actions = map[Flow][]Action{
	Accept:  {Publish},
	Pin:     {Keep, Add, Execute},
	Launch:  {Keep, Execute},
	Bare:    {Execute},
	Session: {Show},
	Install: {Keep, Add, Materialize},
	Plugin:  {Add, Place},
}

// Missing says what an absent claim does.
type Missing string

// The values of --missing-hashes.
const (
	MissingDefault Missing = "" // as the table says
	MissingAllow   Missing = "allow"
	MissingWarn    Missing = "warn"
	MissingRefuse  Missing = "refuse"
)

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

	// Of flow plugin; the package comment says what each does.
	Strict, StrictIntegrity, RequireSignatures, StrictCapabilities, StrictTools bool
}

// Finding is one piece of evidence and what was decided about it.
type Finding struct {
	Evidence evidence.Evidence `json:"evidence"`
	Class    evidence.Class    `json:"class"` // OK unless refused
	Warning  bool              `json:"warning,omitempty"`
}

// Verdict is the result of judging a report.
type Verdict struct {
	Flow     Flow      `json:"flow"`
	Findings []Finding `json:"findings"`
	admitted Admitted
}

// Judge decides about report. An empty report admits nothing but is no refusal.
func Judge(flow Flow, s Settings, report evidence.Report) Verdict {
	v := Verdict{Flow: flow, Findings: make([]Finding, 0, len(report))}
	for _, e := range report {
		d := s.decide(flow, e)
		v.Findings = append(v.Findings, Finding{Evidence: e, Class: d.refuse, Warning: d.warn})
	}
	if v.Class() == evidence.OK && len(report) > 0 {
		v.admitted = Admitted{flow: flow}
		for _, e := range report {
			if d := e.Observed.SHA256(); !d.IsZero() {
				v.admitted.grants = append(v.admitted.grants, grant{e.Subject, d})
			}
		}
	}
	return v
}

// Allowed reports whether nothing was refused.
func (v Verdict) Allowed() bool { return v.Class() == evidence.OK }

// Class is the most urgent class of the refusals, or OK.
func (v Verdict) Class() evidence.Class {
	worst := evidence.OK
	for _, f := range v.Findings {
		worst = evidence.Worse(worst, f.Class)
	}
	return worst
}

// Report is the evidence that was judged.
func (v Verdict) Report() evidence.Report {
	var report evidence.Report
	for _, f := range v.Findings {
		report = append(report, f.Evidence)
	}
	return report
}

// Refused returns the findings that were refused.
func (v Verdict) Refused() []Finding {
	return slices.DeleteFunc(slices.Clone(v.Findings), func(f Finding) bool { return f.Class == evidence.OK })
}

// Warnings returns the findings that were allowed with a warning.
func (v Verdict) Warnings() []Finding {
	return slices.DeleteFunc(slices.Clone(v.Findings), func(f Finding) bool { return !f.Warning })
}

// Admitted is the proof that the verdict allows its subjects; it is the zero value,
// which permits nothing, if it does not.
func (v Verdict) Admitted() Admitted { return v.admitted }

// Err is nil if the verdict allows, else a [*Refusal].
func (v Verdict) Err() error {
	if v.Allowed() {
		return nil
	}
	return &Refusal{v}
}

// Refusal is the error of a verdict that refuses. It prints every refused finding.
type Refusal struct{ Verdict Verdict }

// Class is the most urgent class of the findings.
func (r *Refusal) Class() evidence.Class { return r.Verdict.Class() }

func (r *Refusal) Error() string {
	var parts []string
	for _, f := range r.Verdict.Refused() {
		text := f.Evidence.Title() + "\n" + f.Evidence.Detail()
		if h := hint(r.Verdict.Flow, f); h != "" {
			text += "  hint: " + h + "\n"
		}
		parts = append(parts, strings.TrimSuffix(text, "\n"))
	}
	return strings.Join(parts, "\n")
}

// Admitted proves that a verdict allowed its subjects. Only [Judge] makes one that
// permits anything.
type Admitted struct {
	flow   Flow
	grants []grant
}

type grant struct {
	subject string
	digest  digest.Digest
}

// ErrNotAdmitted is wrapped by the errors of [Admitted.Permits].
var ErrNotAdmitted = errors.New("not admitted")

// Permits is nil if a verdict allowed subject with the sha256 digest d, in a flow
// that leads to action. Any other subject, digest or action, and the zero value of
// either receiver or digest, is an error.
func (a Admitted) Permits(subject string, d digest.Digest, action Action) error {
	if !slices.Contains(actions[a.flow], action) {
		return fmt.Errorf("%w: %s: a verdict of flow %q does not permit to %s", ErrNotAdmitted, surface.Escape(subject), a.flow, action)
	}
	for _, g := range a.grants {
		if g.subject != subject {
			continue
		}
		e := evidence.Compare(
			evidence.Claim{Subject: subject, Want: []digest.Digest{g.digest}},
			evidence.Observed{Digests: []digest.Digest{d}})
		if e.Outcome == evidence.Match {
			return nil
		}
	}
	return fmt.Errorf("%w: %s with %s was not judged", ErrNotAdmitted, surface.Escape(subject), d)
}
