// Package installed is about the files of facets in a project: which file each client reads, what has
// to be written and deleted, what this machine wrote (the receipt), whether what is there is what the
// lock says, and the entries in clients' files that start the servers of facets. It plans; the
// installation writes. What a user edited is kept unless forced.
//
// # Clients
//
// One table of targets says where each client reads the deliverables of facets in a project; a file for
// each client writes them as that client reads them, without I/O.
//
// # Front matter
//
// The body of a Markdown file is never changed. Its front matter is read in the words of Claude Code, of
// which the members of the standard for skills are a part, and each client gets of it what means the same
// to that client: spec/facet.md has the rule. What adapters of facet.json says for a target replaces that
// or is added. If nothing has to change, the bytes stay as they are.
//
// Whatever a client does not get is said: [Rendering] and [Target.Refusal] have it for people.
package installed

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/machine"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/policy"
)

// Mode says what an installation does with files that are not as they are to be.
type Mode struct {
	Frozen bool // the lock is the only authority: what differs from it is refused
	Force  bool // what a user edited is overwritten and deleted
	Keep   bool // nothing is deleted: what is of no facet any more is forgotten, and stays
	// Sources are directories of this machine from which facets come, or came until now: nothing below them is deleted.
	Sources []string
	// Adopted are files that were never ours and may be overwritten as long as they are so: what changes in them is
	// shown to somebody who consents to it. Zero stands for a link.
	Adopted map[string]digest.Digest
	// files in directories of skills that are the user's own from now on, as in [machine.ReceiptOfFacet]
	Private []string
}

// adopts reports whether a file may be overwritten that is not ours, and is so now.
func (m Mode) adopts(path string, now digest.Digest) bool {
	shown, ok := m.Adopted[path]
	return ok && (evidence.Same(shown, now) || shown.IsZero() && now.IsZero())
}

// Plan is what is to be written into a project and deleted from it.
type Plan struct {
	Files  []durable.File
	Report evidence.Report // of files that are not as they were written, and of what else is there

	Written, Deleted, Kept, Extra []string // relative to the project
	// is of no facet any more, and stays: it was there before, or is somebody's source
	Left []string
	// those of Kept that are not to be installed any more
	Unwanted []string

	Notes []Note // what targets do not get

	w             *workspace.Workspace
	mode          Mode
	before, after *Files
	found         map[string]bool          // files that are not Hallmark's, and are as they are to be, or put back
	taken         map[string]bool          // files that are not Hallmark's, and that this plan overwrites
	sums          map[string]digest.Digest // files of the parts, as they are to be; one that is kept as it was
}

// NewPlan finds out what has to be written and deleted, so that the project has exactly the
// chosen parts. Only what Hallmark wrote, as the receipt says, is deleted, and nothing in the directory that is
// the source of a facet: it may be the only copy. What a user edited is neither written nor deleted without force,
// and reported; a file that was never ours is in the way, and an error.
//
// A file that is there already as it is to be is not Hallmark's. It becomes so, with the rest of its deliverable,
// when Hallmark changes one of them, but for what was adopted and what it only puts back: that stays the user's.
func NewPlan(w *workspace.Workspace, before *Files, adm policy.Admitted, parts []Part, mode Mode) (*Plan, error) {
	outputs, notes, err := findOutputs(w, adm, parts, before.owns(w))
	if err != nil {
		return nil, err
	}
	was := before.Receipt.Installed()
	present, err := Digests(w, slices.Concat(slices.Collect(maps.Keys(outputs)), slices.Collect(maps.Keys(was))))
	if err != nil {
		return nil, err
	}
	p := newPlan(w, before, mode)
	p.Notes = notes
	if err := p.planWrites(outputs, present); err != nil {
		return nil, err
	}
	p.after.Receipt = p.newReceipt(parts)
	found := p.after.Receipt.Found()
	for path, sum := range p.sums {
		if found[path] {
			p.after.Sums.Found[path] = sum
		} else {
			p.after.Sums.Files[path] = sum
		}
	}
	p.planDeletions(outputs, present)
	return p, p.addExtraEvidence(outputs)
}

// newPlan is a plan that changes nothing yet.
func newPlan(w *workspace.Workspace, before *Files, mode Mode) *Plan {
	return &Plan{w: w, mode: mode, before: before, Report: slices.Clone(before.Report), found: map[string]bool{},
		taken: map[string]bool{}, sums: map[string]digest.Digest{},
		after: &Files{Sums: machine.NewMaterialized(w.Dir)}}
}

// planWrites plans to write the files that are not there as they are to be.
func (p *Plan) planWrites(outputs map[string]output, present map[string]digest.Digest) error {
	x := &fileComparer{Plan: p, ours: p.before.Receipt.Files(), there: p.before.Receipt.Found()}
	var foreign []string
	for _, path := range slices.Sorted(maps.Keys(outputs)) {
		o := outputs[path]
		now, exists := present[path]
		what, err := x.compare(path, o, now, exists)
		if err != nil {
			return err
		}
		if what == isForeign {
			foreign = append(foreign, path)
		}
		if what != isWritten {
			continue
		}
		data, err := o.bytes()
		if err != nil {
			return err
		}
		p.taken[path] = exists && !x.ours[path]
		p.found[path] = !exists && x.there[path]
		p.Written = append(p.Written, path)
		p.Files = append(p.Files, durable.File{Path: p.w.Place(path), Data: data, Perm: p.permOf(o, data)})
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

// fate is what a plan does about a file.
type fate int

const (
	isWritten fate = iota
	isLeft         // it is there as it is to be, or was edited
	isForeign      // Hallmark did not write what is there
)

// fileComparer compares files with those that are there.
type fileComparer struct {
	*Plan
	ours, there map[string]bool // files that Hallmark wrote before, and those that were there before it came
}

// compare says what is done about the file of a path, of which now is there if it exists, and reports what that shows.
func (p *fileComparer) compare(path string, o output, now digest.Digest, exists bool) (fate, error) {
	before := p.before.Sums.Sum(path)
	known := !before.IsZero() && (p.ours[path] || p.there[path])
	if !p.there[path] && evidence.Same(now, o.sum) && evidence.Same(now, p.before.Sums.Files[path]) {
		p.ours[path] = true // Hallmark wrote it, and the receipt was lost
	}
	p.sums[path] = o.sum
	switch {
	case exists && evidence.Same(now, o.sum) && !p.ours[path]:
		p.found[path] = true
		return isLeft, nil
	case exists && evidence.Same(now, o.sum):
		if lacks, err := lacksMode(p.w, o.place); err != nil || !lacks {
			return isLeft, err
		}
	case !exists, known && evidence.Same(now, before), p.mode.adopts(path, now):
	case p.mode.Force:
		p.Report = append(p.Report, EditedEvidence(path, before, now, true))
	case p.ours[path], p.there[path]:
		p.found[path] = !p.ours[path]
		if p.Report = append(p.Report, EditedEvidence(path, before, now, false)); p.mode.Frozen {
			p.Report = append(p.Report, o.lockedEvidence(now)...)
		}
		p.Kept = append(p.Kept, path)
		if p.sums[path] = before; !known {
			delete(p.sums, path)
		}
		return isLeft, nil
	case p.mode.Frozen: // as in a clone, of which the lock says what is there
		p.Report = append(p.Report, o.lockedEvidence(now)...)
		return isLeft, nil
	default:
		return isForeign, nil
	}
	return isWritten, nil
}

// isAdopted reports whether a file is of a skill that lay in a directory of the user's own, and was adopted there.
func (p *Plan) isAdopted(path string) bool {
	if _, now := p.mode.Adopted[path]; now {
		return true
	}
	for _, f := range p.before.Receipt.Facets {
		if slices.ContainsFunc(f.Adopted, func(dir string) bool { return strings.HasPrefix(path, dir+"/") }) {
			return true
		}
	}
	return false
}

// planDeletions plans to delete what was installed and is wanted no more. What was there before is left, and so is all
// of a skill where it was adopted, unless it lies in the directory of a skill that stays: there it would be of nothing.
func (p *Plan) planDeletions(outputs map[string]output, present map[string]digest.Digest) {
	found := p.before.Receipt.Found()
	var skills []string
	for _, o := range outputs {
		if o.place.Skill != "" {
			skills = append(skills, o.place.Skill)
		}
	}
	sources := slices.Concat(p.mode.Sources, SourceDirs(p.w))
	for _, at := range slices.Sorted(maps.Keys(p.before.Receipt.Installed())) {
		now, exists := present[at]
		if _, wanted := outputs[at]; !exists || wanted {
			continue
		}
		stays := slices.ContainsFunc(skills, func(dir string) bool { return strings.HasPrefix(at, dir+"/") })
		isSource := slices.ContainsFunc(sources, func(dir string) bool { return isWithin(p.w.Place(at), dir) })
		if p.mode.Keep || isSource || !stays && (found[at] || p.isAdopted(at)) {
			p.Left = append(p.Left, at)
			continue
		}
		p.planDeletion(at, now)
	}
}

// planDeletion plans to delete a file that was installed and is wanted no more, unless a user edited it.
func (p *Plan) planDeletion(path string, now digest.Digest) {
	before := p.before.Sums.Sum(path)
	if !evidence.Same(now, before) { // also if nothing is known of it: no file has the zero digest
		p.Report = append(p.Report, EditedEvidence(path, before, now, p.mode.Force))
		if !p.mode.Force {
			p.Kept, p.Unwanted = append(p.Kept, path), append(p.Unwanted, path)
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
	for _, at := range slices.Concat(p.Deleted, p.Left) { // which this installation takes away, or knows of
		files[at] = &placedFile{}
	}
	for _, at := range p.Kept { // of which the report says so already
		if files[at] == nil && !p.mode.Frozen {
			files[at] = &placedFile{}
		}
	}
	extra, err := findExtra(p.w, files, p.after.Receipt.Private())
	if err != nil {
		return err
	}
	if !p.mode.Frozen {
		for _, e := range extra {
			if e.Scheme == evidence.Unhashed { // what else is there stops nothing
				e = keptEvidence(e)
				p.Extra = append(p.Extra, e.Subject)
			}
			p.Report = append(p.Report, e)
		}
		return nil
	}
	leftovers, err := workspace.LeftoverFiles(p.w, nil)
	if err != nil {
		return err
	}
	p.Report = append(append(p.Report, extra...), leftovers...)
	for _, at := range p.Kept {
		if files[at] == nil {
			p.Report = append(p.Report, leftoverEvidence(at))
		}
	}
	return nil
}

// Adopt remembers that the skill of a facet lay in directories before, none if it is known already, and which files of
// its source were copied from there.
func (p *Plan) Adopt(name string, dirs, copies []string) {
	f := p.after.Receipt.Facets[name]
	if len(dirs) > 0 {
		f.Adopted = slices.Sorted(slices.Values(dirs))
	}
	copies = slices.Concat(f.Copies, copies)
	slices.Sort(copies)
	f.Copies = slices.Compact(copies)
	p.after.Receipt.Facets[name] = f
}

// NoteClients puts the files of the user's own clients that have entries of servers into the receipt.
func (p *Plan) NoteClients(noted map[string]string) { p.after.Receipt.Clients = noted }

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
