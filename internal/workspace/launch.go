package workspace

import (
	"fmt"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// LacksOnlyApproval reports whether the verdict refuses only because a person's approval is
// missing.
func LacksOnlyApproval(v policy.Verdict) bool {
	refused := v.Refused()
	for _, f := range refused {
		e := f.Evidence
		if e.Authority != evidence.Machine || e.Outcome != evidence.Absent ||
			e.Scheme != evidence.Approval && e.Scheme != evidence.Launch {
			return false
		}
	}
	return len(refused) > 0
}

// LaunchEvidence compares a server's declaration with its declaration when it was locked.
func LaunchEvidence(w *Workspace, s project.Server, locked *project.ServerLock) evidence.Evidence {
	c := evidence.Claim{Subject: s.Name, Scheme: evidence.Launch, Authority: evidence.Lock, Where: project.LockFile}
	if locked != nil {
		c.Want = []digest.Digest{locked.Launch.Digest()}
	}
	if s.Line == 0 && s.Facet == "" {
		return evidence.Compare(c,
			evidence.Observed{Digests: []digest.Digest{s.Launch().Digest()}, From: "the command line"})
	}
	from := fmt.Sprintf("%s line %d", project.ConfigFile, s.Line)
	if s.Line == 0 {
		from = "the facet " + s.Facet
	}
	e := evidence.Compare(c, evidence.Observed{Digests: []digest.Digest{s.Launch().Digest()}, From: from})
	if why := whyUnbound(s, locked); why != "" && e.Outcome == evidence.Match {
		e.Outcome, e.Reason = evidence.Mismatch, why
	}
	return e
}

// ApprovalEvidence says whether this machine approved the entry.
func ApprovalEvidence(w *Workspace, name string, entry project.ServerLock, trustLock bool) evidence.Evidence {
	c := evidence.Claim{Subject: name, Scheme: evidence.Approval, Authority: evidence.Machine,
		Where: "what was approved on this machine"}
	o := evidence.Observed{Digests: []digest.Digest{entry.Approvable()}, From: "the entry of " + project.LockFile}
	a, approved := w.Approvals.Servers[name]
	if approved {
		c.Want = []digest.Digest{a.Entry}
	}
	e := evidence.Compare(c, o)
	switch {
	case e.Outcome == evidence.Match:
		return e
	case trustLock:
		return evidence.Waive(c, o, "--trust-lock")
	case approved:
		e.Reason = "the entry is another one than was approved here at " + a.At.Format("2006-01-02 15:04:05Z")
	}
	e.Fix = "run 'hallmark review " + name + "', or 'hallmark review' for all that waits; or give --trust-lock where " +
		"the checkout itself is trusted"
	return e
}

// IsApprovedAs reports whether this machine approved the lock entry of s, and s is still declared
// in the same way.
func IsApprovedAs(w *Workspace, s project.Server) bool {
	entry, locked := w.Lock.Server(s.Name)
	approval, ok := w.Approvals.Servers[s.Name]
	return ok && locked && evidence.Same(approval.Entry, entry.Approvable()) &&
		evidence.Same(entry.Launch.Digest(), s.Launch().Digest())
}
