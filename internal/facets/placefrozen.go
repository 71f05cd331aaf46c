package facets

import (
	"path"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/facet"
	"github.com/hallmark-mcp/hallmark/internal/lockentry"
)

// An installation that may not write the lock says of the files in the project what 'check'
// says: whoever asks for exactly what is locked is not told that something else is kept.

// locked is evidence of a file that is there and not as the lock has it.
func (o output) locked(now digest.Digest) evidence.Report {
	f := &placedFile{of: o.of.of.Subject(), sum: o.sum, picked: true, present: true, now: now}
	return f.evidence(o.path)
}

// beside adds evidence of what would be left in the project and is of no locked facet: what
// lies in the directory of a skill, and what was installed once and edited since. A frozen
// installation refuses it; another keeps it, and names it.
func (a *assembly) beside(p *placement, outputs map[string]output) error {
	files := map[string]*placedFile{}
	for at, o := range outputs {
		f := &placedFile{of: o.of.of.Subject(), picked: true}
		if o.of.Kind == facet.KindSkill {
			f.skill = path.Dir(place(o.name, o.of.Deliverable, o.of.Paths[0]))
		}
		files[at] = f
	}
	for _, at := range p.deleted { // which this installation takes away
		files[at] = &placedFile{}
	}
	for _, at := range p.kept { // of which the report says so already
		if files[at] == nil && !a.o.Frozen {
			files[at] = &placedFile{}
		}
	}
	extra, err := (&PlacedFacets{Workspace: a.Workspace}).extra(files)
	if err != nil {
		return err
	}
	if !a.o.Frozen {
		for _, e := range extra {
			p.report = append(p.report, besideEvidence(e))
			p.extra = append(p.extra, e.Subject)
		}
		return nil
	}
	strays, err := lockentry.Strays(a.Workspace, nil)
	if err != nil {
		return err
	}
	p.report = append(append(p.report, extra...), strays...)
	for _, at := range p.kept {
		if files[at] == nil {
			p.report = append(p.report, leftEvidence(at))
		}
	}
	return nil
}

// besideEvidence is what an installation that may keep a file says of an extra one, as it does
// of an edited one.
func besideEvidence(e evidence.Evidence) evidence.Evidence {
	c := evidence.Claim{Subject: e.Subject, Scheme: evidence.Installed, Authority: evidence.Machine, Text: e.Claim.Text, Where: e.Where}
	out := evidence.Fact(c, e.Observed.Text)
	out.Observed.From, out.Reason = e.Observed.From, e.Reason
	return out
}
