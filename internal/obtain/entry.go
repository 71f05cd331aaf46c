package obtain

import (
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/owed"
	"github.com/hallmark-mcp/hallmark/project"
)

// SourceClaim is the claim of the lock about where a facet comes from.
func SourceClaim(name string) evidence.Claim {
	return evidence.Claim{Subject: name, Scheme: evidence.Source, Authority: evidence.Lock, Where: project.LockFile}
}

// SourceEvidence compares how a facet is declared with how its entry says that it was.
func SourceEvidence(registry project.Registry, f project.Facet, entry project.FacetLock,
	locked bool) evidence.Evidence {
	c := SourceClaim(f.Name)
	if !locked {
		return evidence.Fact(c, "")
	}
	c.Text = entry.Source.String() + " " + entry.Version
	if entry.Covers(f, registry) {
		if entry.Places(f) {
			return evidence.Fact(c, c.Text)
		}
		c.Text = wanted(entry.Prefix, entry.Parts)
		e := evidence.Fact(c, wanted(f.Prefix, f.Parts))
		e.Observed.From = project.ConfigFile
		return e
	}
	found := f.Source(registry).String()
	if f.Kind().HasVersions() {
		found += " " + f.Requirement.String()
	} else if f.Commit != "" {
		found += " commit " + f.Commit
	}
	e := evidence.Fact(c, found)
	e.Observed.From = project.ConfigFile
	return e
}

// bindingEntry is the entry that a facet is held to; nil if it is resolved anew.
func (s *Sources) bindingEntry(r Request) *project.FacetLock {
	if r.Locked != nil && r.Locked.Covers(r.Want, s.Workspace.Config.Registry) && (s.o.Frozen || !r.Anew) {
		return r.Locked
	}
	return nil
}

// judgeEntry judges what is owed about the entry of a facet before anything is fetched: what is
// refused must not cause a request.
func (s *Sources) judgeEntry(r Request, locked *project.FacetLock, expected owed.List, q *inquiry) error {
	f, registry := r.Want, s.Workspace.Config.Registry
	if s.o.Frozen && locked == nil { // a frozen installation resolves nothing, whichever facet brings it along
		var entry project.FacetLock
		if r.Locked != nil {
			entry = *r.Locked
		}
		declared := evidence.Report{SourceEvidence(registry, f, entry, r.Locked != nil)}
		if _, err := q.judge(expected.Of(evidence.Source).Settle(declared)...); err != nil {
			return err
		}
	}
	if r.Locked == nil {
		if _, err := q.judge(expected.Of(evidence.Source).Settle(nil)...); err != nil {
			return err
		}
	}
	if f.Kind().HasRecords() {
		return nil
	}
	if err := s.settleProof(f.Name, project.FacetLock{Source: f.Source(registry)}, q); err != nil {
		return err
	}
	_, err := q.judge()
	return err
}

// expectations is what is owed about a facet. That hallmark.toml declares it is what an
// installation is for, if it may write the lock.
func (s *Sources) expectations(name string) (owed.List, error) {
	demands, err := s.Demands()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(demands.Facet(name), func(e owed.Expectation) bool {
		return e.Scheme == evidence.Source && (e.Authority != evidence.Lock || e.By == evidence.Project)
	}), nil
}

// settleProof adds what is owed about the proof of the entry that a facet is to get, and not there.
func (s *Sources) settleProof(name string, entry project.FacetLock, q *inquiry) error {
	demands, err := s.Demands()
	if err != nil {
		return err
	}
	q.settle(demands.FacetProof(name, entry))
	return nil
}

// wanted says what of a facet is installed, and how it is called.
func wanted(prefix string, parts []string) string {
	text := "all parts"
	if len(parts) > 0 {
		text = strings.Join(parts, ", ")
	}
	if prefix != "" {
		text += " with the prefix " + prefix
	}
	return text
}
