package facets

import (
	"path"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/facet"
	"github.com/hallmark-mcp/hallmark/internal/lockentry"
)

// A frozen installation judges the files in the project as 'check' does: a file that differs from
// the lock is refused, where another installation keeps it and says so.

// lockedEvidence is evidence of a file that is there and not as the lock has it.
func (o output) lockedEvidence(now digest.Digest) evidence.Report {
	f := &placedFile{of: o.part.piece.Subject(), sum: o.sum, picked: true, present: true, now: now}
	return f.evidence(o.path)
}

// addExtraEvidence adds evidence of what would be left in the project and is of no locked facet: what
// lies in the directory of a skill, and what was installed once and edited since. A frozen
// installation refuses it; another keeps it, and names it.
func (a *Assembly) addExtraEvidence(p *placement, outputs map[string]output) error {
	files := map[string]*placedFile{}
	for at, o := range outputs {
		f := &placedFile{of: o.part.piece.Subject(), picked: true}
		if o.part.Kind == facet.KindSkill {
			f.skill = path.Dir(targetPath(o.name, o.part.Deliverable, o.part.Paths[0]))
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
	extra, err := (&PlacedFacets{Workspace: a.Workspace}).findExtra(files)
	if err != nil {
		return err
	}
	if !a.o.Frozen {
		for _, e := range extra {
			p.report = append(p.report, keptEvidence(e))
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
			p.report = append(p.report, leftoverEvidence(at))
		}
	}
	return nil
}

// keptEvidence is what an installation that may keep a file says of an extra one, as it does
// of an edited one.
func keptEvidence(e evidence.Evidence) evidence.Evidence {
	c := evidence.Claim{Subject: e.Subject, Scheme: evidence.Installed, Authority: evidence.Machine, Text: e.Claim.Text,
		Where: e.Where}
	out := evidence.Fact(c, e.Observed.Text)
	out.Observed.From, out.Reason = e.Observed.From, e.Reason
	return out
}
