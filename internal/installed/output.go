package installed

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/archive"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/facet"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/obtain"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/machine"
	"github.com/hallmark-mcp/hallmark/policy"
)

// Part is one deliverable that is to be installed, and the archive of the facet that it is of.
type Part struct {
	facet.Deliverable
	Of *obtain.Archive
}

// output is one file of a facet on its way into the project.
type output struct {
	path   string // relative to the project, with slashes
	part   Part
	file   string // in the archive
	target string
	sum    digest.Digest
	data   []byte // nil as long as it is the member as it is
}

// findOutputs finds all files of the chosen parts for all targets, by path.
func findOutputs(w *workspace.Workspace, adm policy.Admitted, parts []Part) (map[string]output, error) {
	outputs := map[string]output{}
	var collisions []string
	for _, part := range parts {
		if err := adm.Permits(part.Of.Subject(), part.Of.Entry.Integrity, policy.Materialize); err != nil {
			return nil, err
		}
		for _, target := range Targets(w) {
			for _, file := range part.Paths {
				to := targetPath(w, target, part.Deliverable, file)
				if to == "" {
					continue
				}
				o := output{path: to, part: part, file: file, target: target,
					sum: part.Of.Entry.Assets[file]}
				if changesOnRender(target, part.Deliverable, file) {
					data, err := o.bytes()
					if err != nil {
						return nil, err
					}
					o.data, o.sum = data, digest.FromBytes(data)
				}
				if other, ok := outputs[o.path]; ok && !evidence.Same(other.sum, o.sum) {
					collisions = append(collisions, "  "+o.path+": "+other.part.Of.Subject()+" for "+other.target+", "+
						o.part.Of.Subject()+" for "+o.target+"\n")
				}
				outputs[o.path] = o
			}
		}
	}
	// Two facets, or two targets, may share a directory: paths that are safe within each archive
	// are checked again as they will be in the project.
	var names archive.Names
	for _, path := range slices.Sorted(maps.Keys(outputs)) {
		if err := names.Add(path); err != nil {
			return nil, evidence.Errorf(evidence.Refused, w.Dir,
				"choose other targets, or leave out one of the facets", err)
		}
	}
	if len(collisions) > 0 {
		return nil, &evidence.Error{
			Subject: w.Dir, Kind: evidence.Refused,
			Err:    errors.New(evidence.Count(len(collisions), "file") + " would be written twice"),
			Detail: strings.Join(collisions, ""), Hint: "choose targets that do not share a directory",
		}
	}
	return outputs, nil
}

// bytes are those that the target gets. They are read from the slot once more, and compared with
// what the audit found.
func (o output) bytes() ([]byte, error) {
	if o.data != nil {
		return o.data, nil
	}
	x := o.part.Of
	data, err := host.ReadFile(filepath.Join(x.Slot.Dir(), filepath.FromSlash(o.file)), x.Slot.Size)
	if err != nil {
		return nil, err
	}
	if !evidence.Same(x.Entry.Assets[o.file], digest.FromBytes(data)) {
		return nil, evidence.Errorf(evidence.Integrity, facet.MemberSubject(x.Subject(), o.file), "",
			errors.New("changed in the store after the audit"))
	}
	return render(o.target, x.Manifest, o.part.Deliverable, o.file, data)
}

// lockedEvidence is evidence of a file that is there and not as the lock has it.
func (o output) lockedEvidence(now digest.Digest) evidence.Report {
	f := &placedFile{of: o.part.Of.Subject(), sum: o.sum, picked: true, present: true, now: now}
	return f.evidence(o.path)
}

// newReceipt is the receipt of a project that has these parts.
func newReceipt(w *workspace.Workspace, parts []Part) *machine.Receipt {
	receipt := machine.NewReceipt(w.Dir)
	for _, part := range parts {
		name := part.Of.Want.Name
		f, ok := receipt.Facets[name]
		if !ok {
			f.Version = part.Of.Entry.Version
		}
		for _, target := range Targets(w) {
			var files []string
			for _, file := range part.Paths {
				if to := targetPath(w, target, part.Deliverable, file); to != "" {
					files = append(files, to)
				}
			}
			if len(files) == 0 {
				continue
			}
			f.Assets = append(f.Assets, machine.NewAsset(target, part.Kind, part.Name, files))
		}
		receipt.Facets[name] = f
	}
	return receipt
}
