package pin

import (
	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/document"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/kind"
	"github.com/hallmark-mcp/hallmark/project"
)

// ConsentEvidence returns evidence of a person's answer. It is bound to the digest of what was
// shown.
func ConsentEvidence(name string, answer host.Consent, shown digest.Digest) evidence.Evidence {
	c := evidence.Claim{Subject: name, Scheme: evidence.Approval, Authority: evidence.Machine}
	switch answer {
	case host.StandingConsent:
		c.Want, c.Where = []digest.Digest{shown}, "--yes"
	case host.InformedConsent:
		c.Want, c.Where = []digest.Digest{shown}, "the person at this machine"
	}
	return evidence.Compare(c, evidence.Observed{Digests: []digest.Digest{shown}, From: "what is to be approved"})
}

// claimedToolsEvidence compares the tools that a server shows here with its publisher's claim. A
// person who was shown the difference may accept it.
func claimedToolsEvidence(name string, claimed, shown digest.Digest, answer host.Consent) evidence.Evidence {
	c := evidence.Claim{Subject: project.SurfaceSubject(name), Scheme: evidence.APISurface, Authority: evidence.Record,
		Where: "the registry's record, api_surface"}
	if !claimed.IsZero() {
		c.Want = []digest.Digest{claimed}
	}
	o := evidence.Observed{Digests: []digest.Digest{shown}, From: "the server's answers"}
	e := evidence.Compare(c, o)
	if e.Outcome != evidence.Mismatch {
		return e
	}
	const why = "it shows other tools here than its publisher says"
	if answer == host.InformedConsent {
		return evidence.Waive(c, o, why+", which was accepted")
	}
	e.Reason = why
	return e
}

// takenBack says who took a locked version back, and why.
func takenBack(old fetch.Release) string {
	if old.Gone {
		return old.Ref.Version() + ", which is locked, is not in the registry any more"
	}
	return old.Ref.Version() + ", which is locked, was taken back by its publisher: " +
		document.Clip(old.Withdrawn, document.MaxReason)
}

// addRollback adds evidence if the pinned version is older than the locked one: a registry that
// hides newer versions can cause that. If the older version is refused for its status, the reason
// of that refusal names the rollback too.
func (p *Pinning) addRollback() {
	if p.Result.Before == nil {
		return
	}
	was, is := kind.VersionOf(*p.Result.Before), kind.VersionOf(p.Result.Entry)
	if was.Name != is.Name || was.Order != is.Order || !artifact.IsOlder(is.Order, is.Version, was.Version) {
		return
	}
	back := evidence.Fact(evidence.Claim{
		Subject: is.Name, Scheme: evidence.Pin, Authority: evidence.Lock, Text: was.Version, Where: project.LockFile,
	}, is.Version)
	back.Reason = "rollback: " + is.Version + " is older than " + was.Version + ", which is locked"
	if old := p.Result.Replaced; old != nil && old.TakenBack() {
		back.Reason = takenBack(*old) + "; " + is.Version + " is older"
	}
	for i, e := range p.report {
		if e.Scheme == evidence.Status && e.Outcome == evidence.Mismatch {
			p.report[i].Reason = back.Reason
		}
	}
	p.report = append(p.report, back)
}
