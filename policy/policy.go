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
//	flow      scheme       authority  match   mismatch   absent     waived  unverifiable  missing
//	generate  file         registry   -       integrity  -          policy  operation     policy
//	verify    file         publisher  -       integrity  warn       -       operation     policy
//	verify    file         registry   -       integrity  -          policy  operation     policy
//	send      file         publisher  -       integrity  -          warn    operation     policy
//	send      file         registry   -       integrity  -          policy  operation     policy
//	send      facet-tar    manifest   -       integrity  policy     policy  integrity     policy
//	send      file         manifest   -       integrity  policy     policy  integrity     policy
//	send      facet-tar    record     -       integrity  policy     policy  integrity     policy
//	send      file         record     -       integrity  policy     policy  integrity     policy
//	send      document     record     -       integrity  policy     policy  integrity     policy
//	send      facet-tar    log        -       integrity  policy     policy  integrity     policy
//	send      dist         manifest   -       integrity  integrity  policy  integrity     integrity
//	send      tree         manifest   -       integrity  -          policy  warn          policy
//	send      extent       manifest   -       integrity  -          policy  integrity     policy
//	send      coverage     manifest   -       integrity  warn       policy  integrity     policy
//	send      unhashed     manifest   -       policy     policy     policy  policy        policy
//	send      tree         record     -       integrity  policy     policy  integrity     policy
//	send      tree         log        -       integrity  policy     policy  integrity     policy
//	send      log-key      machine    -       integrity  warn       warn    operation     policy
//	send      proof        log        -       integrity  warn       policy  integrity     policy
//	send      document     log        -       integrity  policy     policy  integrity     policy
//	send      cosignature  log        -       warn       -          policy  warn          policy
//	send      checkpoint   log        -       warn       warn       policy  warn          policy
//	send      api-surface  manifest   -       integrity  -          warn    operation     policy
//	send      api-surface  record     -       integrity  -          policy  integrity     policy
//	accept    file         publisher  -       integrity  -          policy  integrity     policy
//	accept    file         registry   -       integrity  -          policy  operation     policy
//	accept    ownership    registry   -       policy     policy     -       operation     policy
//	accept    document     publisher  -       integrity  -          policy  operation     policy
//	accept    facet-tar    manifest   -       integrity  policy     policy  integrity     policy
//	accept    file         manifest   -       integrity  policy     policy  integrity     policy
//	accept    dist         manifest   -       integrity  integrity  policy  integrity     integrity
//	accept    tree         manifest   -       integrity  -          policy  warn          policy
//	accept    extent       manifest   -       integrity  -          policy  integrity     policy
//	accept    coverage     manifest   -       integrity  warn       policy  integrity     policy
//	accept    unhashed     manifest   -       policy     policy     policy  policy        policy
//	accept    file         record     -       integrity  policy     policy  integrity     policy
//	accept    facet-tar    record     -       integrity  policy     policy  integrity     policy
//	accept    tree         record     -       integrity  policy     policy  integrity     policy
//	pin       go-module    lock       -       integrity  policy     policy  operation     policy
//	pin       tree         machine    -       warn       -          policy  operation     policy
//	pin       pin          caller     -       policy     warn       policy  policy        policy
//	pin       pin          lock       -       warn       -          policy  policy        policy
//	pin       launch       lock       -       warn       -          policy  operation     policy
//	pin       file         record     -       integrity  warn       policy  operation     policy
//	pin       document     record     -       integrity  -          policy  operation     policy
//	pin       document     lock       -       integrity  integrity  policy  integrity     integrity
//	pin       file         registry   -       integrity  -          policy  operation     policy
//	pin       file         lock       -       integrity  -          policy  operation     policy
//	pin       file         verify     -       integrity  -          -       operation     policy
//	pin       tree         lock       -       integrity  -          policy  operation     policy
//	pin       import       lock       -       policy     policy     policy  warn          policy
//	pin       oci          lock       -       warn       -          policy  operation     policy
//	pin       surface      lock       -       warn       -          policy  operation     policy
//	pin       surface      machine    -       drift      -          warn    operation     policy
//	pin       status       record     -       policy     -          warn    operation     policy
//	pin       approval     machine    -       policy     policy     policy  policy        policy
//	pin       file         machine    -       warn       -          policy  operation     policy
//	pin       log-key      machine    -       integrity  policy     policy  operation     policy
//	pin       proof        log        -       integrity  warn       policy  integrity     policy
//	pin       document     log        -       integrity  policy     policy  integrity     policy
//	pin       status       log        -       policy     -          warn    integrity     policy
//	pin       finding      log        -       warn       -          policy  integrity     policy
//	pin       cosignature  log        -       signature  signature  policy  operation     policy
//	pin       checkpoint   log        -       policy     policy     policy  operation     policy
//	pin       facet-tar    lock       -       integrity  -          policy  operation     policy
//	pin       facet-tar    record     -       integrity  policy     policy  policy        policy
//	pin       facet-tar    manifest   -       integrity  integrity  policy  operation     integrity
//	pin       file         manifest   -       integrity  integrity  policy  integrity     integrity
//	pin       facet-tar    sidecar    -       integrity  integrity  policy  operation     integrity
//	pin       file         sidecar    -       integrity  integrity  policy  operation     integrity
//	pin       facet-tar    log        -       integrity  policy     policy  integrity     policy
//	pin       api-surface  log        -       integrity  integrity  policy  integrity     integrity
//	pin       api-surface  record     -       drift      warn       warn    operation     policy
//	launch    go-module    lock       -       integrity  policy     policy  operation     policy
//	launch    pin          lock       -       policy     policy     policy  policy        policy
//	launch    launch       lock       -       policy     policy     policy  operation     policy
//	launch    launch       project    -       policy     policy     policy  policy        policy
//	launch    launch       machine    -       policy     policy     warn    policy        policy
//	launch    file         lock       -       integrity  policy     policy  operation     policy
//	launch    file         registry   -       integrity  -          policy  operation     policy
//	launch    file         verify     -       integrity  warn       -       operation     policy
//	launch    tree         lock       -       integrity  warn       policy  operation     policy
//	launch    tree         machine    -       integrity  -          policy  operation     policy
//	launch    tree         sidecar    -       integrity  -          policy  operation     policy
//	launch    file         sidecar    -       integrity  integrity  policy  operation     integrity
//	launch    document     lock       -       integrity  integrity  policy  integrity     integrity
//	launch    approval     machine    -       policy     policy     warn    policy        policy
//	launch    file         machine    -       policy     warn       policy  operation     policy
//	launch    log-key      machine    -       integrity  warn       policy  operation     policy
//	launch    checkpoint   log        -       policy     policy     policy  operation     policy
//	launch    cosignature  log        -       signature  signature  policy  operation     policy
//	launch    proof        log        -       integrity  -          policy  integrity     policy
//	launch    document     log        -       integrity  policy     policy  integrity     policy
//	launch    facet-tar    lock       -       integrity  policy     policy  operation     policy
//	launch    facet-tar    record     -       integrity  policy     policy  operation     policy
//	launch    file         record     -       integrity  policy     policy  operation     policy
//	launch    document     record     -       integrity  policy     policy  operation     policy
//	launch    facet-tar    manifest   -       integrity  integrity  policy  operation     integrity
//	launch    file         manifest   -       integrity  integrity  policy  integrity     integrity
//	launch    facet-tar    sidecar    -       integrity  integrity  policy  operation     integrity
//	launch    facet-tar    log        -       integrity  policy     policy  integrity     policy
//	launch    unhashed     lock       -       policy     policy     policy  policy        policy
//	launch    import       lock       -       policy     policy     policy  -             policy
//	bare      launch       lock       policy  policy     policy     warn    policy        policy
//	bare      launch       machine    -       policy     policy     warn    policy        policy
//	bare      approval     machine    -       policy     policy     warn    policy        policy
//	bare      file         lock       policy  policy     -          policy  policy        policy
//	bare      file         machine    -       policy     -          policy  policy        policy
//	bare      file         verify     -       integrity  warn       -       operation     policy
//	session   surface      lock       -       drift      drift      policy  drift         policy
//	install   source       lock       -       policy     -          policy  operation     policy
//	install   source       project    -       policy     policy     policy  policy        policy
//	install   source       manifest   -       policy     policy     policy  policy        policy
//	install   tag          lock       -       drift      -          policy  operation     policy
//	install   oci          lock       -       drift      -          policy  operation     policy
//	install   facet-tar    lock       -       integrity  -          policy  operation     policy
//	install   file         lock       -       integrity  -          policy  integrity     policy
//	install   document     lock       -       integrity  -          policy  operation     policy
//	install   facet-tar    record     -       integrity  policy     policy  policy        policy
//	install   file         record     -       integrity  policy     policy  operation     policy
//	install   document     record     -       integrity  -          policy  operation     policy
//	install   status       record     -       policy     -          warn    operation     policy
//	install   facet-tar    manifest   -       integrity  integrity  policy  operation     integrity
//	install   file         manifest   -       integrity  integrity  policy  integrity     integrity
//	install   facet-tar    sidecar    -       integrity  integrity  policy  operation     integrity
//	install   file         sidecar    -       integrity  integrity  policy  operation     integrity
//	install   installed    machine    -       warn       -          warn    warn          policy
//	install   installed    lock       -       integrity  policy     policy  operation     policy
//	install   unhashed     lock       -       policy     policy     policy  policy        policy
//	install   log-key      machine    -       integrity  policy     policy  operation     policy
//	install   log-key      lock       -       integrity  policy     policy  operation     policy
//	install   proof        log        -       integrity  warn       policy  integrity     policy
//	install   document     log        -       integrity  policy     policy  integrity     policy
//	install   facet-tar    log        -       integrity  policy     policy  integrity     policy
//	install   status       log        -       policy     -          warn    integrity     policy
//	install   finding      log        -       warn       -          policy  integrity     policy
//	install   cosignature  log        -       signature  signature  policy  operation     policy
//	install   checkpoint   log        -       policy     policy     policy  operation     policy
//	install   api-surface  log        -       integrity  integrity  policy  integrity     integrity
//	check     pin          lock       -       policy     policy     policy  policy        policy
//	check     oci          lock       -       drift      -          policy  warn          policy
//	check     launch       lock       -       policy     policy     warn    operation     policy
//	check     launch       project    -       policy     policy     policy  policy        policy
//	check     launch       machine    -       policy     policy     warn    policy        policy
//	check     file         lock       -       integrity  policy     policy  operation     policy
//	check     file         verify     -       integrity  -          warn    operation     policy
//	check     tree         lock       -       integrity  warn       policy  warn          policy
//	check     tree         machine    -       integrity  -          policy  operation     policy
//	check     tree         sidecar    -       integrity  -          policy  operation     policy
//	check     file         sidecar    -       integrity  integrity  policy  operation     integrity
//	check     document     lock       -       integrity  integrity  policy  integrity     integrity
//	check     document     record     -       integrity  policy     policy  operation     policy
//	check     surface      lock       -       drift      drift      policy  drift         policy
//	check     surface      machine    -       drift      warn       policy  drift         policy
//	check     approval     machine    -       warn       warn       -       warn          policy
//	check     file         machine    -       policy     -          policy  operation     policy
//	check     log-key      machine    -       integrity  policy     policy  operation     policy
//	check     log-key      lock       -       integrity  policy     policy  operation     policy
//	check     proof        log        -       integrity  warn       policy  integrity     policy
//	check     document     log        -       integrity  policy     policy  integrity     policy
//	check     status       log        -       policy     -          warn    integrity     policy
//	check     finding      log        -       warn       -          policy  integrity     policy
//	check     cosignature  log        -       signature  signature  policy  operation     policy
//	check     checkpoint   log        -       warn       warn       policy  operation     policy
//	check     source       lock       -       policy     policy     policy  operation     policy
//	check     source       project    -       policy     policy     policy  policy        policy
//	check     source       manifest   -       policy     policy     policy  policy        policy
//	check     facet-tar    lock       -       integrity  warn       policy  warn          policy
//	check     facet-tar    sidecar    -       integrity  integrity  policy  operation     integrity
//	check     facet-tar    log        -       integrity  policy     policy  integrity     policy
//	check     api-surface  log        -       integrity  integrity  policy  integrity     integrity
//	check     installed    machine    -       warn       warn       -       warn          policy
//	check     installed    lock       -       integrity  policy     policy  operation     policy
//	check     unhashed     lock       -       policy     policy     policy  policy        policy
//	check     import       lock       -       policy     policy     policy  warn          policy
//	scan      pin          caller     -       policy     policy     -       policy        policy
//	scan      launch       caller     -       policy     policy     -       warn          policy
//	scan      launch       verify     -       warn       warn       -       warn          policy
//	scan      transport    caller     -       policy     policy     -       policy        policy
//	scan      secret       caller     -       warn       warn       -       warn          policy
//	scan      access       machine    -       policy     policy     -       warn          policy
//	scan      access       caller     -       policy     policy     -       policy        policy
//	scan      document     caller     -       policy     policy     policy  operation     policy
//	scan      launch       machine    -       policy     policy     policy  policy        policy
//	scan      launch       lock       -       policy     policy     warn    policy        policy
//	scan      document     lock       -       integrity  integrity  policy  integrity     integrity
//	scan      approval     machine    -       warn       -          policy  warn          policy
//	scan      launch       project    -       policy     policy     policy  policy        policy
//	scan      source       lock       -       policy     policy     policy  policy        policy
//	scan      log-key      machine    -       integrity  warn       policy  operation     policy
//	scan      checkpoint   log        -       policy     policy     policy  operation     policy
//	scan      cosignature  log        -       signature  signature  policy  operation     policy
//	scan      proof        log        -       integrity  -          policy  integrity     policy
//	scan      document     log        -       integrity  policy     policy  integrity     policy
//	scan      facet-tar    log        -       integrity  policy     policy  integrity     policy
//	validate  dist         manifest   -       integrity  integrity  policy  integrity     integrity
//	validate  tree         manifest   -       integrity  -          policy  warn          policy
//	validate  extent       manifest   -       integrity  -          policy  integrity     policy
//	validate  file         manifest   -       integrity  integrity  policy  integrity     integrity
//	validate  coverage     manifest   -       integrity  -          policy  integrity     policy
//	validate  unhashed     manifest   -       integrity  warn       policy  warn          policy
//	plugin    dist         manifest   -       integrity  integrity  policy  integrity     integrity
//	plugin    tree         manifest   -       integrity  -          policy  warn          policy
//	plugin    extent       manifest   -       integrity  -          policy  integrity     policy
//	plugin    file         manifest   -       integrity  integrity  policy  integrity     integrity
//	plugin    coverage     manifest   -       integrity  -          policy  integrity     policy
//	plugin    unhashed     manifest   -       integrity  warn       policy  warn          policy
//	plugin    import       manifest   -       policy     policy     policy  warn          policy
//	plugin    permission   manifest   -       policy     policy     policy  policy        policy
//	plugin    permission   caller     -       policy     policy     policy  policy        policy
//	plugin    allowlist    caller     -       policy     warn       policy  policy        policy
//	plugin    file         publisher  -       integrity  -          policy  warn          policy
//	plugin    signature    manifest   -       signature  -          policy  warn          policy
//	plugin    signature    machine    -       signature  -          policy  signature     policy
//	plugin    statement    manifest   -       signature  -          policy  warn          policy
//	plugin    statement    machine    -       signature  -          policy  signature     policy
//	plugin    capability   caller     -       warn       warn       policy  warn          policy
//	plugin    tool         caller     -       warn       warn       policy  warn          policy
//	plugin    dist         lock       -       integrity  -          policy  integrity     policy
//	plugin    tree         lock       -       integrity  -          policy  integrity     integrity
//	plugin    extent       lock       -       integrity  -          policy  integrity     policy
//	plugin    file         lock       -       integrity  -          policy  operation     policy
//	plugin    signature    lock       -       signature  -          policy  signature     policy
//	plugin    document     lock       -       integrity  policy     policy  integrity     policy
//	plugin    installed    lock       -       integrity  policy     policy  operation     policy
//	plugin    installed    machine    -       integrity  warn       policy  operation     policy
//	plugin    file         caller     -       integrity  -          policy  operation     policy
//	plugin    file         record     -       integrity  policy     policy  operation     policy
//	plugin    tree         record     -       integrity  policy     policy  integrity     policy
//	plugin    document     record     -       integrity  policy     policy  operation     policy
//	plugin    status       record     -       policy     -          warn    operation     policy
//	plugin    log-key      machine    -       integrity  policy     policy  operation     policy
//	plugin    proof        log        -       integrity  warn       policy  integrity     policy
//	plugin    document     log        -       integrity  policy     policy  integrity     policy
//	plugin    tree         log        -       integrity  policy     policy  integrity     policy
//	plugin    status       log        -       policy     -          warn    integrity     policy
//	plugin    finding      log        -       warn       -          policy  integrity     policy
//	plugin    cosignature  log        -       signature  signature  policy  operation     policy
//	plugin    checkpoint   log        -       policy     policy     policy  operation     policy
//
// What is missing is owed, by the project, the lock, this machine, the caller or the log: no
// row warns of it, and no setting changes what it does.
//
// Four settings change a cell: RequireHashes makes an absent publisher's claim
// "policy", MissingHashes replaces what an absent record's claim does, RequireLock
// makes an absent launch or source "policy"; and RefuseWaived makes a claim that somebody
// opted out of "policy" in flow check, and a launch around
// the lock in flow scan. A claim that is malformed is refused as
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

	// RefuseWaived refuses opt-outs, in flow check, and in flow scan those of a lock: see
	// [IsWaiver].
	RefuseWaived bool

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
