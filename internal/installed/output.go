package installed

import (
	"errors"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/internal/machine"
	"github.com/hallmark-mcp/hallmark/internal/obtain"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/policy"
)

// Part is one deliverable that is to be installed, and the archive of the facet that it is of.
type Part struct {
	facet.Deliverable
	Of *obtain.Archive
}

// chosenManifests are the manifests of the facets of some parts, with those skills alone that are among the parts.
func chosenManifests(parts []Part) map[*obtain.Archive]*facet.Manifest {
	chosen := map[*obtain.Archive]*facet.Manifest{}
	for _, part := range parts {
		m := chosen[part.Of]
		if m == nil {
			of := *part.Of.Manifest
			of.Skills = map[string]facet.Skill{}
			m, chosen[part.Of] = &of, &of
		}
		if part.Kind == facet.KindSkill {
			m.Skills[part.MemberName()] = part.Of.Manifest.Skills[part.MemberName()]
		}
	}
	return chosen
}

// output is one file of a facet on its way into the project.
type output struct {
	part   Part
	place  Place
	target Target
	sum    digest.Digest
	data   []byte // nil as long as it is the member as it is
}

// findOutputs finds all files of the chosen parts for all targets, by path, and what targets do not get.
func findOutputs(w *workspace.Workspace, adm policy.Admitted, parts []Part,
	ours func(at string) bool) (map[string]output, []Note, error) {
	x := &outputFinder{known: newPlaces(w, ours), outputs: map[string]output{}}
	manifests := chosenManifests(parts)
	for _, part := range parts {
		if err := adm.Permits(part.Of.Subject(), part.Of.Entry.Integrity, policy.Materialize); err != nil {
			return nil, nil, err
		}
		for _, target := range x.known.targets {
			if err := x.find(manifests[part.Of], part, target); err != nil {
				return nil, nil, err
			}
		}
	}
	// Two facets, or two targets, may share a directory: paths that are safe within each archive
	// are checked again as they will be in the project.
	var names archive.Names
	for _, path := range slices.Sorted(maps.Keys(x.outputs)) {
		if err := names.Add(path); err != nil {
			return nil, nil, evidence.Errorf(evidence.Refused, w.Dir,
				"choose other targets, or leave out one of the facets", err)
		}
	}
	if len(x.collisions) > 0 {
		return nil, nil, &evidence.Error{
			Subject: w.Dir, Kind: evidence.Refused,
			Err:    errors.New(evidence.Count(len(x.collisions), "file") + " would be written twice"),
			Detail: strings.Join(x.collisions, ""), Hint: "choose targets that do not share a directory",
		}
	}
	return x.outputs, x.notes, nil
}

// outputFinder collects the files of parts by path.
type outputFinder struct {
	known      *places
	outputs    map[string]output
	collisions []string // lines about two files of one path
	notes      []Note
}

// find adds the files of a part for a target. m is the manifest of what is chosen of its facet.
func (x *outputFinder) find(m *facet.Manifest, part Part, target Target) error {
	note := func(texts []string) {
		for _, text := range texts {
			x.notes = append(x.notes, newNote(part.Of.Subject(), target, part.Deliverable, text))
		}
	}
	note(target.Notes(m, part.Deliverable))
	writer, places := x.known.of(target, m, part.Deliverable)
	for _, place := range places {
		o := output{part: part, place: place, target: writer, sum: part.Of.Entry.Assets[place.Member]}
		if place.IsRendered() {
			r, err := o.render()
			if err != nil {
				return err
			}
			o.data, o.sum = r.Data, digest.FromBytes(r.Data)
			if writer.Name != target.Name && part.Kind == facet.KindSkill {
				r, err = output{part: part, place: place, target: target}.render() // for what it says
			} else if writer.Name != target.Name {
				r.Notes = nil
			}
			if err != nil {
				return err
			}
			note(r.Notes)
		}
		if other, ok := x.outputs[place.Path]; ok && !evidence.Same(other.sum, o.sum) {
			x.collisions = append(x.collisions, "  "+place.Path+": "+other.part.Of.Subject()+" for "+other.target.Name+
				", "+o.part.Of.Subject()+" for "+o.target.Name+"\n")
		}
		x.outputs[place.Path] = o
	}
	return nil
}

// bytes are those that the target gets.
func (o output) bytes() ([]byte, error) {
	if o.data != nil {
		return o.data, nil
	}
	r, err := o.render()
	return r.Data, err
}

// render writes the file as the target gets it. Its member is read from the slot once more, and compared
// with what the audit found.
func (o output) render() (Rendering, error) {
	x := o.part.Of
	data, err := x.ReadAudited(o.place.Member)
	if err != nil {
		return Rendering{}, err
	}
	return o.target.Render(o.place, x.Manifest, o.part.Deliverable, data)
}

// lockedEvidence is evidence of a file that is there and not as the lock has it.
func (o output) lockedEvidence(now digest.Digest) evidence.Report {
	f := &placedFile{of: o.part.Of.Subject(), sum: o.sum, picked: true, present: true, now: now}
	return f.evidence(o.place.Path)
}

// newReceipt is the receipt of a project that has these parts.
func (p *Plan) newReceipt(parts []Part) *machine.Receipt {
	receipt, manifests := machine.NewReceipt(p.w.Dir), chosenManifests(parts)
	receipt.Clients = p.before.Receipt.Clients
	known := newPlaces(p.w, p.before.owns(p.w))
	for _, part := range parts {
		name := part.Of.Want.Name
		f, ok := receipt.Facets[name]
		if !ok {
			before := p.before.Receipt.Facets[name]
			f = machine.ReceiptOfFacet{Version: part.Of.Entry.Version, Assets: []machine.ReceiptAsset{},
				Adopted: before.Adopted, Copies: before.Copies}
		}
		private := f.Private
		for _, target := range known.targets {
			_, places := known.of(target, manifests[part.Of], part.Deliverable)
			takes := slices.ContainsFunc(places, func(at Place) bool {
				return p.taken[at.Path] && !p.isAdopted(at.Path)
			})
			var files, found []string
			for _, at := range places {
				if !takes && (p.found[at.Path] || p.taken[at.Path]) {
					found = append(found, at.Path)
				} else {
					files = append(files, at.Path)
				}
			}
			private = append(private, p.privateFiles(target, part)...)
			if len(places) > 0 {
				f.Assets = append(f.Assets, machine.NewAsset(target.Name, part.Kind, part.Name, files, found))
			}
		}
		slices.Sort(private)
		f.Private = slices.Compact(private)
		receipt.Facets[name] = f
	}
	return receipt
}

// privateFiles are the files of the user in the directory of a skill that are known, and still there.
func (p *Plan) privateFiles(target Target, part Part) (files []string) {
	dir := target.SkillDir(part.Name)
	if part.Kind != facet.KindSkill || dir == "" {
		return nil
	}
	for _, at := range slices.Concat(p.mode.Private, slices.Sorted(maps.Keys(p.before.Receipt.Private()))) {
		if _, err := os.Lstat(p.w.Place(at)); err == nil && strings.HasPrefix(at, dir+"/") {
			files = append(files, at)
		}
	}
	return files
}
