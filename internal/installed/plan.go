// Package installed is about the files of facets in a project: which file each client reads, what has
// to be written and deleted, what this machine wrote (the receipt), whether what is there is what the
// lock says, and the entries in clients' files that start the servers of facets. It plans; the
// installation writes. What a user edited is kept unless forced.
package installed

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/lockentry"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/machine"
	"github.com/hallmark-mcp/hallmark/policy"
)

// Mode says what an installation does with files that are not as they are to be.
type Mode struct {
	Frozen bool // the lock is the only authority: what differs from it is refused
	Force  bool // what a user edited is overwritten and deleted
	// Adopted are files that were never ours and may be overwritten as long as they are so: what of them changes is
	// shown to somebody who consents to it. Zero stands for a link.
	Adopted map[string]digest.Digest
}

// adopts reports whether a file may be overwritten that is not ours, and is so now.
func (m Mode) adopts(path string, now digest.Digest) bool {
	shown, ok := m.Adopted[path]
	return ok && (evidence.Same(shown, now) || shown.IsZero() && now.IsZero())
}

// Plan is what is to be written into a project and deleted from it.
type Plan struct {
	Files  []durable.File
	Report evidence.Report // of files that are not as they were written, and of what else lies there

	Written, Deleted, Kept, Extra []string // relative to the project

	Notes []Note // what targets do not get

	w             *workspace.Workspace
	mode          Mode
	before, after *Files
}

// NewPlan finds out what has to be written and deleted, so that the project has exactly the
// chosen parts. Only what the receipt names is deleted. What a user edited is neither
// written nor deleted without force, and reported; a file that was never ours is in the way,
// and an error.
func NewPlan(w *workspace.Workspace, before *Files, adm policy.Admitted, parts []Part, mode Mode) (*Plan, error) {
	outputs, notes, err := findOutputs(w, adm, parts)
	if err != nil {
		return nil, err
	}
	ours := before.Receipt.Files()
	present, err := Digests(w, slices.Concat(slices.Collect(maps.Keys(outputs)), slices.Collect(maps.Keys(ours))))
	if err != nil {
		return nil, err
	}
	p := &Plan{w: w, mode: mode, before: before, Notes: notes, Report: slices.Clone(before.Report),
		after: &Files{Receipt: newReceipt(w, parts), Sums: machine.NewMaterialized(w.Dir)}}
	if err := p.planWrites(outputs, present); err != nil {
		return nil, err
	}
	for _, path := range slices.Sorted(maps.Keys(ours)) {
		now, exists := present[path]
		if _, wanted := outputs[path]; exists && !wanted {
			p.planDeletion(path, now)
		}
	}
	return p, p.addExtraEvidence(outputs)
}

// planWrites plans to write the files that are not there as they are to be.
func (p *Plan) planWrites(outputs map[string]output, present map[string]digest.Digest) error {
	ours := p.before.Receipt.Files()
	var foreign []string
	for _, path := range slices.Sorted(maps.Keys(outputs)) {
		o := outputs[path]
		now, exists := present[path]
		before, known := p.before.Sums.Files[path]
		known = known && ours[path]
		p.after.Sums.Files[path] = o.sum
		switch {
		case exists && evidence.Same(now, o.sum):
			if lacks, err := lacksMode(p.w, o.place); err != nil || !lacks {
				if err != nil {
					return err
				}
				continue
			}
		case !exists, known && evidence.Same(now, before), p.mode.adopts(path, now):
		case p.mode.Force:
			p.Report = append(p.Report, EditedEvidence(path, before, now, true))
		case ours[path]:
			if p.Report = append(p.Report, EditedEvidence(path, before, now, false)); p.mode.Frozen {
				p.Report = append(p.Report, o.lockedEvidence(now)...)
			}
			p.Kept = append(p.Kept, path)
			if p.after.Sums.Files[path] = before; !known {
				delete(p.after.Sums.Files, path)
			}
			continue
		default:
			foreign = append(foreign, path)
			continue
		}
		data, err := o.bytes()
		if err != nil {
			return err
		}
		p.Written = append(p.Written, path)
		p.Files = append(p.Files, durable.File{Path: p.w.Place(path), Data: data, Perm: permOf(o.place, data)})
	}
	if len(foreign) > 0 {
		return &evidence.Error{
			Subject: p.w.Dir, Kind: evidence.Refused,
			Err: errors.New(evidence.Count(len(foreign), "file") +
				" that Hallmark did not write would be overwritten"),
			Detail: "  " + strings.Join(foreign, "\n  ") + "\n", Hint: "move them, or give --force",
		}
	}
	return nil
}

// planDeletion plans to delete a file that was installed and is wanted no more, unless a user edited it.
func (p *Plan) planDeletion(path string, now digest.Digest) {
	before := p.before.Sums.Files[path]
	if !evidence.Same(now, before) { // also if nothing is known of it: no file has the zero digest
		p.Report = append(p.Report, EditedEvidence(path, before, now, p.mode.Force))
		if !p.mode.Force {
			p.Kept = append(p.Kept, path)
			return
		}
	}
	p.Deleted = append(p.Deleted, path)
	p.Files = append(p.Files, durable.File{Path: p.w.Place(path), Remove: true})
}

// addExtraEvidence adds evidence of what would be left in the project and is of no locked facet: what
// lies in the directory of a skill, and what was installed once and edited since. A frozen
// installation refuses it, as 'check' does; another keeps it, and names it.
func (p *Plan) addExtraEvidence(outputs map[string]output) error {
	files := map[string]*placedFile{}
	for at, o := range outputs {
		files[at] = &placedFile{of: o.part.Of.Subject(), picked: true, skill: o.place.Skill}
	}
	for _, at := range p.Deleted { // which this installation takes away
		files[at] = &placedFile{}
	}
	for _, at := range p.Kept { // of which the report says so already
		if files[at] == nil && !p.mode.Frozen {
			files[at] = &placedFile{}
		}
	}
	extra, err := findExtra(p.w, files)
	if err != nil {
		return err
	}
	if !p.mode.Frozen {
		for _, e := range extra {
			p.Report = append(p.Report, keptEvidence(e))
			p.Extra = append(p.Extra, e.Subject)
		}
		return nil
	}
	strays, err := lockentry.Strays(p.w, nil)
	if err != nil {
		return err
	}
	p.Report = append(append(p.Report, extra...), strays...)
	for _, at := range p.Kept {
		if files[at] == nil {
			p.Report = append(p.Report, leftoverEvidence(at))
		}
	}
	return nil
}

// Records are the receipt and the digests of installed files, encoded, each unless it stays as it is.
func (p *Plan) Records() ([]durable.File, error) {
	var files []durable.File
	sound := len(p.before.Report) == 0 // a receipt that would not change is not encoded
	if !sound || !p.after.Receipt.Same(p.before.Receipt) {
		data, err := p.after.Receipt.Encode()
		if err != nil {
			return nil, err
		}
		files = append(files, durable.File{Path: receiptPath(p.w), Data: data, Perm: 0o600})
	}
	if !sound || !p.after.Sums.Same(p.before.Sums) {
		data, err := p.after.Sums.Encode()
		if err != nil {
			return nil, err
		}
		files = append(files, durable.File{Path: materializedPath(p.w), Data: data, Perm: 0o600})
	}
	return files, nil
}
