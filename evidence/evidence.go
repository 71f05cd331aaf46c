// Package evidence sets claims beside what was computed from bytes.
//
// A [Claim] is what somebody, the [Authority], says of a subject. An [Observed]
// is what we computed ourselves. [Compare] makes [Evidence] of the two, with one
// of six outcomes that are never folded into one another:
//
//	match         the bytes have the claimed fingerprint
//	mismatch      they have another one
//	absent        nobody claims anything, and nobody was told to expect a claim
//	missing       a claim is owed and is not there; Owed names who was told to expect it
//	waived        somebody opted out, explicitly
//	unverifiable  nothing could be computed; the cause says why
//
// Evidence states facts. Whether a fact is fatal depends on what is about to be
// done with it and is decided by package policy.
//
// This package holds the only comparison of digests in Hallmark.
package evidence

import (
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
)

// Scheme names what a fingerprint is a fingerprint of.
type Scheme string

// The schemes. Those from Ownership on have no digest: their evidence is made with
// [Fact], or stands for one rule of a format.
const (
	File       Scheme = "file"        // the bytes of one file, as served
	Tree       Scheme = "tree"        // hallmark-tree-v1 over a directory
	Module     Scheme = "go-module"   // the h1 hash of a Go module's files, as go.sum has it
	Dist       Scheme = "dist"        // a plugin's dist.hash
	FacetTar   Scheme = "facet-tar"   // the canonical tar of an archive
	OCI        Scheme = "oci"         // a manifest
	APISurface Scheme = "api-surface" // names, descriptions and input schemas of tools
	Surface    Scheme = "surface"     // all that a server shows a model
	Document   Scheme = "document"    // the canonical JSON of a record
	Launch     Scheme = "launch"      // command, arguments and variables' names
	Ownership  Scheme = "ownership"   // a package names the server that may publish it
	Pin        Scheme = "pin"         // an exact version or digest, as opposed to a range
	Approval   Scheme = "approval"    // a person on this machine accepted it
	Status     Scheme = "status"      // a record or a package's version was not taken back
	Age        Scheme = "age"         // a version has been public for long enough
	Advisory   Scheme = "advisory"    // nothing is known against a version of a package
	Malware    Scheme = "malware"     // nobody found a package to be malicious
	Transport  Scheme = "transport"   // a server is reached by an encrypted connection
	Secret     Scheme = "secret"      // no secret stands where others can read it
	Access     Scheme = "access"      // nobody else may write a file that is run

	LogKey      Scheme = "log-key"     // whose signatures a log's checkpoints must bear
	Proof       Scheme = "proof"       // a record is in a log
	Cosignature Scheme = "cosignature" // enough witnesses vouch for a checkpoint
	Checkpoint  Scheme = "checkpoint"  // a checkpoint is fresh
	Source      Scheme = "source"      // where hallmark.toml says that a facet comes from
	Tag         Scheme = "tag"         // the commit that a tag or branch names
	Installed   Scheme = "installed"   // a file of a facet, in a project
	Finding     Scheme = "finding"     // a registry recomputed a published claim later
	Extent      Scheme = "extent"      // how many files and bytes there are
	Coverage    Scheme = "coverage"    // every file has an unambiguous claim
	Unhashed    Scheme = "unhashed"    // a file that could be loaded is part of no fingerprint
	Import      Scheme = "import"      // code imports what is not part of it
	Permission  Scheme = "permission"  // a right that was declared, or given by a flag
	Allowlist   Scheme = "allowlist"   // the host allows a package
	Signed      Scheme = "signature"   // over a fingerprint
	Statement   Scheme = "statement"   // a signature over a whole manifest
	Capability  Scheme = "capability"  // a tool, resource or prompt that was declared
	Tool        Scheme = "tool"        // a registered tool is well formed
	Form        Scheme = "form"        // a document has the form of its format
)

// Authority is who makes a claim.
type Authority string

// The authorities.
const (
	Publisher Authority = "publisher" // server.json, as its author wrote it
	Registry  Authority = "registry"  // the package's own registry, such as npm's dist.integrity
	Record    Authority = "record"    // an MCP registry's record of what was published
	Log       Authority = "log"       // a registry's append-only log
	Lock      Authority = "lock"      // hallmark.lock
	Sidecar   Authority = "sidecar"   // the store's own note beside a slot
	Manifest  Authority = "manifest"  // a manifest inside an archive or plugin
	Verify    Authority = "verify"    // a verify block of hallmark.toml
	Machine   Authority = "machine"   // what was approved on this machine
	Caller    Authority = "caller"    // an argument
	Project   Authority = "project"   // hallmark.toml, which declares what is to be there

	Advisories Authority = "advisories" // a database of advisories that hallmark.toml names
)

// Outcome is the result of setting a claim beside the bytes.
type Outcome string

// The six outcomes.
const (
	Match        Outcome = "match"
	Mismatch     Outcome = "mismatch"
	Absent       Outcome = "absent"
	Missing      Outcome = "missing"
	Waived       Outcome = "waived"
	Unverifiable Outcome = "unverifiable"
)

// Cause is the machine-readable reason of an unverifiable outcome. The first
// five are statuses of the registry's 422 body.
type Cause string

// The causes.
const (
	NotFound    Cause = "not_found"
	Unreachable Cause = "unreachable"
	TooLarge    Cause = "too_large"
	Ambiguous   Cause = "ambiguous"
	Unsupported Cause = "unsupported" // a kind of artifact or an algorithm we cannot compute
	Unreadable  Cause = "unreadable"  // bytes on this machine could not be read
	Malformed   Cause = "malformed"   // the claim itself cannot be parsed
	Computed    Cause = "computed"    // what is meant is known only when the code runs
	Untrusted   Cause = "untrusted"   // nobody whom this machine trusts made the claim
)

// Claim is what an authority says of a subject.
type Claim struct {
	Subject   string          // an artifact or item as it prints: "npm:@acme/notes@1.4.0", "tool:search"
	Scheme    Scheme          // what a fingerprint of it is of
	Want      []digest.Digest // any one of them satisfies the claim; empty if nothing is claimed
	Text      string          // what was claimed, where it is not a digest or could not be parsed
	Authority Authority       // who makes the claim
	Where     string          // the place of the claim: "server.json, file_hashes"
	Place     Place           // that place in a file, where there is one to point at
}

// Place is a position in a file.
type Place struct {
	File   string // as it is named on this machine, relative if it lies in the project
	Line   int    // from 1; 0: the file as a whole
	Column int    // from 1, in characters
}

// Observed is what we computed.
type Observed struct {
	Digests []digest.Digest // one for each algorithm that was computed
	Text    string          // what was found, where it is not a digest
	Size    int64           // bytes hashed
	From    string          // what was hashed: a URL or a path
}

// SHA256 is the observed sha256 digest, or the zero value.
func (o Observed) SHA256() digest.Digest { return o.digestUnder(digest.SHA256) }

// digestUnder is the observed digest of an algorithm, or the zero value.
func (o Observed) digestUnder(alg digest.Algorithm) digest.Digest {
	for _, d := range o.Digests {
		if d.Algorithm() == alg {
			return d
		}
	}
	return digest.Digest{}
}

// Entry names the entry of a lock that evidence is about. It has one name at most.
type Entry struct{ Server, Facet string }

// Evidence is a claim beside what was observed.
type Evidence struct {
	Claim
	Observed Observed
	Outcome  Outcome
	Weak     bool   // a match, but under an algorithm whose collisions are practical
	Cause    Cause  // of an unverifiable outcome
	Reason   string // more for a person: why it is unverifiable or waived
	Rule     string // the rule that it is evidence for, where there are several: "unpinned-launcher"
	// Fix is what to write instead, where that is known; for a missing claim, how to restore it
	// or how to end the expectation.
	Fix  string
	Of   Entry       // what hints name, in a report about several entries
	Owed []Authority // who were told to expect a claim that is missing: project, lock, machine, caller, log
}

// Compare sets c beside o. Without a digest in c the outcome is absent; if o lacks
// the algorithm that c needs it is unverifiable. The comparison takes constant time.
func Compare(c Claim, o Observed) Evidence {
	e := Evidence{Claim: c, Observed: o}
	if len(c.Want) == 0 {
		e.Outcome = Absent
		return e
	}
	computed := false
	for _, want := range c.Want {
		got := o.digestUnder(want.Algorithm())
		if got.IsZero() {
			continue
		}
		computed = true
		if digest.Equal(want, got) {
			e.Outcome, e.Weak = Match, want.Weak()
			return e
		}
	}
	if !computed {
		e.Outcome, e.Cause = Unverifiable, Unsupported
		e.Reason = "no digest under " + string(c.Want[0].Algorithm()) + " was computed"
		return e
	}
	e.Outcome = Mismatch
	return e
}

// Same reports whether two digests are equal, for callers that record no evidence of it. A zero
// digest equals nothing.
func Same(a, b digest.Digest) bool {
	return Compare(Claim{Want: []digest.Digest{a}}, Observed{Digests: []digest.Digest{b}}).Outcome == Match
}

// Fact is evidence about text: it matches if something is claimed and the same was
// found, and is absent if nothing was found. It serves schemes without a digest.
func Fact(c Claim, found string) Evidence {
	e := Evidence{Claim: c, Observed: Observed{Text: found}}
	switch {
	case found == "":
		e.Outcome = Absent
	case found == c.Text:
		e.Outcome = Match
	default:
		e.Outcome = Mismatch
	}
	return e
}

// Waive is evidence of an explicit opt-out. Reason may be empty.
func Waive(c Claim, o Observed, reason string) Evidence {
	return Evidence{Claim: c, Observed: o, Outcome: Waived, Reason: reason}
}

// Next is Fix where it says what to do next. It is empty where Fix is the text to write into a
// file.
func (e Evidence) Next() string {
	switch {
	case e.Outcome == Missing || e.Outcome == Waived || e.Authority == Machine || e.Scheme == Form:
		return e.Fix
	case e.Outcome == Unverifiable && (e.Authority == Publisher || e.Authority == Registry):
		return e.Fix // what a host that was asked wants
	case e.Authority == Lock && (e.Scheme == Unhashed || e.Scheme == Tree || e.Scheme == FacetTar || e.Scheme == File ||
		e.Scheme == Pin || e.Scheme == Source):
		return e.Fix
	}
	return ""
}

// Miss is evidence that c is owed by somebody and is not there. Reason says since when, or by
// what, it is owed; fix how to restore it or how to end the expectation. Either may be empty.
func Miss(c Claim, owed Authority, reason, fix string) Evidence {
	return Evidence{Claim: c, Outcome: Missing, Owed: []Authority{owed}, Reason: reason, Fix: fix}
}

// CannotVerify is evidence that nothing could be computed for c.
func CannotVerify(c Claim, cause Cause, reason string) Evidence {
	return Evidence{Claim: c, Outcome: Unverifiable, Cause: cause, Reason: reason}
}

// ParseClaim fills c.Want from text in the form of [digest.Parse]. Text that cannot
// be parsed becomes evidence at once: an unknown algorithm is unverifiable, and so is
// text that is no digest; then ok is false.
func ParseClaim(c Claim, text string) (_ Claim, bad Evidence, ok bool) {
	c.Text = text
	d, err := digest.Parse(text)
	if err != nil {
		cause := Malformed
		if isUnknownAlgorithm(err) {
			cause = Unsupported
		}
		return c, CannotVerify(c, cause, err.Error()), false
	}
	c.Want = []digest.Digest{d}
	return c, Evidence{}, true
}

// FormatExpected prints what was claimed.
func (c Claim) FormatExpected() string {
	if len(c.Want) == 0 {
		return c.Text
	}
	parts := make([]string, len(c.Want))
	for i, d := range c.Want {
		parts[i] = d.String()
	}
	return strings.Join(parts, " or ")
}

// Actual prints what was observed, under the algorithm of the claim where there is
// one and else under sha256.
func (e Evidence) Actual() string {
	if e.Observed.Text != "" {
		return e.Observed.Text
	}
	if len(e.Want) > 0 {
		if d := e.Observed.digestUnder(e.Want[0].Algorithm()); !d.IsZero() {
			return d.String()
		}
	}
	return e.Observed.SHA256().String()
}
