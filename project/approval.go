package project

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/machine"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Approvals is what was approved on this machine for one project. A checkout may bring
// a lock along, but not this file: it is in the user's state directory.
//
// It is also what the machine remembers: what it once accepted is owed from then on, until a
// person forgets it.
type Approvals struct {
	Version int                 `json:"approvals_version"`
	Self    digest.Digest       `json:"self,omitzero"` // as that of a lock; set by Encode
	Project string              `json:"project"`       // the directory, all links resolved
	Servers map[string]Approval `json:"servers"`
	// Unlocked are servers without a lock entry; their Entry is the digest of the launch line.
	Unlocked map[string]Approval      `json:"unlocked,omitempty"`
	Facets   map[string]AcceptedFacet `json:"facets,omitempty"`
}

// AcceptedFacet is a facet that this machine installed into the project.
type AcceptedFacet struct {
	Version   string        `json:"version"`
	Integrity digest.Digest `json:"integrity"`
	// Servers are those that it declares; nil in a file of an older version, which does not say so.
	Servers  []string `json:"servers"`
	Composes []string `json:"composes,omitempty"` // the facets that it brings along
	AcceptedLog
	At time.Time `json:"at"`
}

// Approval is what was approved of one server.
type Approval struct {
	Entry   digest.Digest `json:"entry"`             // see [ServerLock.Approvable]
	Path    string        `json:"path"`              // PATH for the server, as it was at approval
	Runtime *Runtime      `json:"runtime,omitempty"` // the interpreter, if there is one
	// Made are the trees that this machine installed for the server, of this entry and of earlier ones, oldest first.
	// A lock's own list of trees does not prove that they follow from the closure.
	Made []MadeTree `json:"made,omitempty"`
	// Trees is what versions 1 and 2 have in place of Made, without the closures; it is not used.
	Trees map[string]digest.Digest `json:"trees,omitempty"`
	Facet string                   `json:"facet,omitempty"` // that declares the server
	AcceptedLog
	// Extra holds the lists of arguments for 'run NAME --' that were approved.
	Extra [][]string `json:"extra_arguments,omitempty"`
	// Launch is the launch line that was approved, to find demands that a later one lacks; nil in a
	// file of an older version.
	Launch *LaunchLock `json:"launch,omitempty"`
	At     time.Time   `json:"at"`
}

// MadeTree is a tree that this machine installed. It counts for the closure that it was made of, and for no other.
type MadeTree struct {
	Closure  digest.Digest `json:"closure"` // see [ClosureLock.Origin]
	Platform string        `json:"platform"`
	Tree     digest.Digest `json:"tree"`
}

// Runtime is the interpreter of a package on this machine.
type Runtime struct {
	Path    string        `json:"path"`
	Digest  digest.Digest `json:"digest"`
	Version string        `json:"version"` // node's major version, "20"; the tag of the wheels that fit python best
}

// Version 3 says of which closure each tree was made. The trees of versions 1 and 2 do not say so: they are not read,
// and installed again.
const approvalsVersion = 3

// MaxApprovals bounds the file, in bytes.
const MaxApprovals = 16 << 20

// ParseApprovals reads the file of a project; nil data gives an empty one. A file of
// another project is an error: it was copied.
func ParseApprovals(data []byte, project string) (*Approvals, error) {
	a := NewApprovals(project)
	if data == nil {
		return a, nil
	}
	if err := surface.CheckJSON(data, surface.Limits{Size: MaxApprovals, Depth: 8}); err != nil {
		return nil, err
	}
	var read Approvals
	if err := surface.Decode(data, &read); err != nil {
		return nil, err
	}
	if err := read.check(data, project); err != nil {
		return nil, err
	}
	for name, approved := range read.Servers {
		approved.Trees = nil
		read.Servers[name] = approved
	}
	a.Servers = read.Servers
	if read.Version == 1 { // which knows of nothing else
		return a, nil
	}
	if read.Unlocked != nil {
		a.Unlocked = read.Unlocked
	}
	if read.Facets != nil {
		a.Facets = read.Facets
	}
	return a, nil
}

// check refuses approvals, read from data, that Hallmark would not have written for the project in a directory.
func (a *Approvals) check(data []byte, project string) error {
	switch {
	case a.Version < 1 || a.Version > approvalsVersion:
		return fmt.Errorf("approvals_version is %d; this build reads 1 to %d", a.Version, approvalsVersion)
	case a.Project != project:
		return errors.New("holds the approvals of another project")
	case a.Servers == nil:
		return errors.New("has no servers")
	}
	if a.Version == 1 { // which has no digest of itself
		if !a.isVersion1() {
			return errors.New("has members that approvals_version 1 does not have")
		}
	} else if err := machine.CheckSeal(data, a.Self); err != nil {
		return err
	}
	for name, approved := range a.Servers {
		if err := approved.check(a.Version); err != nil {
			return fmt.Errorf("%+q: %w", name, err)
		}
	}
	for name, approved := range a.Unlocked {
		if err := approved.check(a.Version); err != nil {
			return fmt.Errorf("%+q, which is not locked: %w", name, err)
		}
	}
	for name, accepted := range a.Facets {
		if accepted.Version == "" || accepted.Integrity.Algorithm() != digest.SHA256 || accepted.At.IsZero() {
			return fmt.Errorf("%+q: does not say which facet was accepted, and when", name)
		}
		if (accepted.Servers != nil) != (a.Version >= 3) {
			return fmt.Errorf("%+q: approvals_version %d does not have this list of servers", name, a.Version)
		}
	}
	return nil
}

// NewApprovals returns empty approvals for the project in a directory.
func NewApprovals(project string) *Approvals {
	return &Approvals{
		Version: approvalsVersion, Project: project,
		Servers: map[string]Approval{}, Unlocked: map[string]Approval{}, Facets: map[string]AcceptedFacet{},
	}
}

// isVersion1 reports whether a has only members of version 1. A newer file that claims version 1
// would lose the newer members without notice.
func (a Approvals) isVersion1() bool {
	for _, x := range a.Servers {
		if x.Facet != "" || !x.AcceptedLog.isZero() || x.Extra != nil || x.Launch != nil {
			return false
		}
	}
	return a.Self.IsZero() && a.Unlocked == nil && a.Facets == nil
}

// check refuses an approval that does not say what was approved.
func (a Approval) check(version int) error {
	switch {
	case version < 3 && a.Made != nil || version >= 3 && a.Trees != nil:
		return fmt.Errorf("remembers installed trees in a form that approvals_version %d does not have", version)
	case slices.ContainsFunc(a.Made, func(t MadeTree) bool {
		return t.Closure.IsZero() || t.Platform == "" || t.Tree.IsZero()
	}):
		return errors.New("does not say of what an installed tree was made")
	case a.Entry.Algorithm() != digest.SHA256:
		return errors.New("does not say what was approved")
	case a.At.IsZero():
		return errors.New("does not say when it was approved")
	case a.Runtime != nil && (a.Runtime.Path == "" || a.Runtime.Digest.Algorithm() != digest.SHA256):
		return errors.New("does not say which interpreter was approved")
	}
	return nil
}

// Approved reports whether a list of arguments for 'run' was approved.
func (a Approval) Approved(extra []string) bool {
	return slices.ContainsFunc(a.Extra, func(known []string) bool { return slices.Equal(known, extra) })
}

// MaxExtra is how many lists of arguments are remembered of one server; the oldest is dropped.
const MaxExtra = 32

// MadeTrees returns the trees that this machine installed of a closure, by platform.
func (a Approval) MadeTrees(c ClosureLock) map[string]digest.Digest {
	origin, trees := c.Origin(), map[string]digest.Digest{}
	for _, t := range a.Made {
		if evidence.Same(t.Closure, origin) {
			trees[t.Platform] = t.Tree
		}
	}
	return trees
}

// MaxMade is how many trees are remembered of one server; the oldest is dropped.
const MaxMade = 64

// Remember adds the tree that this machine installed of a closure for a platform.
func (a *Approval) Remember(c ClosureLock, platform string, tree digest.Digest) {
	made := MadeTree{c.Origin(), platform, tree}
	a.Made = slices.DeleteFunc(slices.Clone(a.Made), func(t MadeTree) bool {
		return t.Platform == platform && evidence.Same(t.Closure, made.Closure)
	})
	a.Made = append(a.Made, made)
	a.Made = a.Made[max(0, len(a.Made)-MaxMade):]
}

// Approve adds a list of arguments for 'run' to those that were approved.
func (a *Approval) Approve(extra []string) {
	if len(extra) == 0 || a.Approved(extra) {
		return
	}
	a.Extra = append(slices.Clone(a.Extra), slices.Clone(extra))
	a.Extra = a.Extra[max(0, len(a.Extra)-MaxExtra):]
}

// Forget removes what the machine remembers about a server or facet, and reports whether there was
// anything.
func (a *Approvals) Forget(name string) bool {
	_, server := a.Servers[name]
	_, unlocked := a.Unlocked[name]
	_, facet := a.Facets[name]
	delete(a.Servers, name)
	delete(a.Unlocked, name)
	delete(a.Facets, name)
	return server || unlocked || facet
}

// Names returns the names of all servers and facets about which something is remembered, sorted.
func (a *Approvals) Names() []string {
	all := slices.Collect(maps.Keys(a.Servers))
	all = slices.AppendSeq(all, maps.Keys(a.Unlocked))
	all = slices.AppendSeq(all, maps.Keys(a.Facets))
	slices.Sort(all)
	return slices.Compact(all)
}

// ExtraDigest returns the digest under which arguments for 'run' are judged and approved.
func ExtraDigest(extra []string) digest.Digest {
	h := digest.NewHasher()
	fmt.Fprintf(h, "hallmark-arguments-v1\n%q\n", extra)
	return h.Digest(digest.SHA256)
}

// Encode returns the file's JSON.
func (a *Approvals) Encode() ([]byte, error) {
	a.Version = approvalsVersion
	return machine.EncodeSealed(a, &a.Self)
}

// Approvable is the digest of all that a person approves with an entry: everything but
// installed trees, which each machine makes from the closure, the time, and the proof
// that the record is in a log, which is verified and is another one as the log grows.
func (s ServerLock) Approvable() digest.Digest {
	shown := olderServer{ServerLock: s}
	if s.Closure != nil {
		shown.Closure = &ClosureLock{Engine: s.Closure.Engine, Lock: s.Closure.Lock, Scripts: s.Closure.Scripts}
	}
	if s.Record != nil {
		r := *s.Record
		r.Log, r.Proof = "", ""
		shown.Record = &r
	}
	return machine.CanonicalDigest(shown)
}

// ConsentUnlocked is the digest that the approval of a server without a lock entry is bound
// to: its launch line, the interpreter of this machine, and arguments for 'run'.
func ConsentUnlocked(l LaunchLock, r *Runtime, extra []string) digest.Digest {
	return ConsentWith(consentTo("hallmark-consent-unlocked-v1", l.Digest(), r), extra)
}

// consentTo is a digest of what is approved and of the interpreter, which may be nil; form says what it is of.
func consentTo(form string, what digest.Digest, r *Runtime) digest.Digest {
	h := digest.NewHasher()
	fmt.Fprintf(h, "%s\n%s\n", form, what)
	if r != nil {
		fmt.Fprintf(h, "%q %s %q\n", r.Path, r.Digest, r.Version)
	}
	return h.Digest(digest.SHA256)
}

// ConsentWith is the digest that an approval is bound to which is about arguments for 'run'
// too; that of the consent without any.
func ConsentWith(consent digest.Digest, extra []string) digest.Digest {
	if len(extra) == 0 {
		return consent
	}
	h := digest.NewHasher()
	fmt.Fprintf(h, "hallmark-consent-arguments-v1\n%s\n%s\n", consent, ExtraDigest(extra))
	return h.Digest(digest.SHA256)
}

// Consent is the digest that an approval is bound to: the entry and the interpreter
// that this machine would start it with.
func Consent(s ServerLock, r *Runtime) digest.Digest {
	return consentTo("hallmark-consent-v1", s.Approvable(), r)
}
