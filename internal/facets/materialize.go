package facets

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/archive"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/facet"
	"github.com/hallmark-mcp/hallmark/internal/beneath"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/machine"
	"github.com/hallmark-mcp/hallmark/policy"
)

// placement is what is to be written into a project and deleted from it.
type placement struct {
	before  *InstalledFiles
	files   []durable.File
	receipt *machine.Receipt
	sums    *machine.Materialized
	report  evidence.Report // of files that a user edited

	written, deleted, kept, extra []string // relative to the project
}

// output is one file of a facet on its way into the project.
type output struct {
	path string // relative to the project, with slashes
	part part
	file string // in the archive
	name string // of the target
	sum  digest.Digest
	data []byte // nil as long as it is the member as it is
}

// PlanFiles finds out what has to be written and deleted, so that the project has exactly the
// chosen parts. Only what the receipt names is deleted. What a user edited is neither
// written nor deleted without force, and reported; a file that was never ours is in the way,
// and an error.
func (a *Assembly) PlanFiles(adm policy.Admitted, parts []part) (*placement, error) {
	before, err := a.readReceipt()
	if err != nil {
		return nil, err
	}
	receipt, sums := before.Receipt, before.Sums
	outputs, err := a.outputs(adm, parts)
	if err != nil {
		return nil, err
	}
	p := &placement{before: before, report: slices.Clone(before.Report), receipt: machine.NewReceipt(a.Workspace.Dir),
		sums: machine.NewMaterialized(a.Workspace.Dir)}
	ours := receipt.Files()
	var foreign []string
	present, err := AllInstalled(a.Workspace,
		slices.Concat(slices.Collect(maps.Keys(outputs)), slices.Collect(maps.Keys(ours))))
	if err != nil {
		return nil, err
	}
	for _, path := range slices.Sorted(maps.Keys(outputs)) {
		o := outputs[path]
		now, exists := present[path]
		before, known := sums.Files[path]
		known = known && ours[path]
		p.sums.Files[path] = o.sum
		switch {
		case exists && evidence.Same(now, o.sum):
			continue
		case !exists, known && evidence.Same(now, before):
		case a.o.Force:
			p.report = append(p.report, EditedEvidence(path, before, now, true))
		case ours[path]:
			if p.report = append(p.report, EditedEvidence(path, before, now, false)); a.o.Frozen {
				p.report = append(p.report, o.lockedEvidence(now)...)
			}
			p.kept = append(p.kept, path)
			if p.sums.Files[path] = before; !known {
				delete(p.sums.Files, path)
			}
			continue
		default:
			foreign = append(foreign, path)
			continue
		}
		data, err := o.bytes()
		if err != nil {
			return nil, err
		}
		p.written = append(p.written, path)
		p.files = append(p.files, durable.File{Path: a.Workspace.Path(filepath.FromSlash(path)), Data: data,
			Perm: 0o644})
	}
	if len(foreign) > 0 {
		return nil, &evidence.Error{
			Subject: a.Workspace.Dir, Kind: evidence.Refused,
			Err: errors.New(evidence.Count(len(foreign), "file") +
				" that Hallmark did not write would be overwritten"),
			Detail: "  " + strings.Join(foreign, "\n  ") + "\n", Hint: "move them, or give --force",
		}
	}
	for _, path := range slices.Sorted(maps.Keys(ours)) {
		if _, wanted := outputs[path]; wanted {
			continue
		}
		now, exists := present[path]
		before := sums.Files[path]
		edited := !evidence.Same(now, before) // also if nothing is known of it: no file has the zero digest
		switch {
		case !exists:
			continue
		case edited && a.o.Force:
			p.report = append(p.report, EditedEvidence(path, before, now, true))
		case edited:
			p.report = append(p.report, EditedEvidence(path, before, now, false))
			p.kept = append(p.kept, path)
			continue
		}
		p.deleted = append(p.deleted, path)
		p.files = append(p.files, durable.File{Path: a.Workspace.Path(filepath.FromSlash(path)), Remove: true})
	}
	a.recordReceipt(p, parts)
	return p, a.addExtraEvidence(p, outputs)
}

// EditedEvidence is evidence of a file that is not as it was written.
func EditedEvidence(path string, before, now digest.Digest, forced bool) evidence.Evidence {
	c := evidence.Claim{Subject: path, Scheme: evidence.Installed, Authority: evidence.Machine,
		Where: "what was installed here"}
	if !before.IsZero() {
		c.Want = []digest.Digest{before}
	}
	o := evidence.Observed{From: path}
	if now.IsZero() {
		o.Text = "no regular file"
	} else {
		o.Digests = []digest.Digest{now}
	}
	if forced {
		return evidence.Waive(c, o, "--force")
	}
	e := evidence.Compare(c, o)
	if e.Outcome != evidence.Match {
		e.Outcome, e.Cause, e.Reason = evidence.Mismatch, "", "edited since; it is kept as it is, --force replaces it"
	}
	return e
}

// outputs are all files of the chosen parts for all targets, by path.
func (a *Assembly) outputs(adm policy.Admitted, parts []part) (map[string]output, error) {
	outputs := map[string]output{}
	var collisions []string
	for _, part := range parts {
		if err := adm.Permits(part.piece.Subject(), part.piece.Entry.Integrity, policy.Materialize); err != nil {
			return nil, err
		}
		for _, name := range targetNames(a.Workspace) {
			for _, file := range part.Paths {
				o := output{path: targetPath(name, part.Deliverable, file), part: part, file: file, name: name,
					sum: part.piece.Entry.Assets[file]}
				if changesOnRender(name, part.Deliverable, file) {
					data, err := o.bytes()
					if err != nil {
						return nil, err
					}
					o.data, o.sum = data, digest.FromBytes(data)
				}
				if other, ok := outputs[o.path]; ok && !evidence.Same(other.sum, o.sum) {
					collisions = append(collisions, "  "+o.path+": "+other.part.piece.Subject()+" for "+other.name+", "+
						o.part.piece.Subject()+" for "+o.name+"\n")
				}
				outputs[o.path] = o
			}
		}
	}
	// Two facets, or two targets, may make one directory: what is safe in each archive is
	// looked at once more as it will lie in the project.
	var names archive.Names
	for _, path := range slices.Sorted(maps.Keys(outputs)) {
		if err := names.Add(path); err != nil {
			return nil, evidence.Errorf(evidence.Refused, a.Workspace.Dir,
				"choose other targets, or leave out one of the facets", err)
		}
	}
	if len(collisions) > 0 {
		return nil, &evidence.Error{
			Subject: a.Workspace.Dir, Kind: evidence.Refused,
			Err:    errors.New(evidence.Count(len(collisions), "file") + " would be written twice"),
			Detail: strings.Join(collisions, ""), Hint: "choose targets that do not share a directory",
		}
	}
	return outputs, nil
}

// bytes are those that the target gets. They are read from the slot once more, and held
// to what the audit found.
func (o output) bytes() ([]byte, error) {
	if o.data != nil {
		return o.data, nil
	}
	x := o.part.piece
	data, err := host.ReadFile(filepath.Join(x.Slot.Dir(), filepath.FromSlash(o.file)), x.Slot.Size)
	if err != nil {
		return nil, err
	}
	if !evidence.Same(x.Entry.Assets[o.file], digest.FromBytes(data)) {
		return nil, evidence.Errorf(evidence.Integrity, facet.MemberSubject(x.Subject(), o.file), "",
			errors.New("changed in the store after the audit"))
	}
	return render(o.name, x.Manifest, o.part.Deliverable, o.file, data)
}

// recordReceipt notes in the receipt all that is in the project now.
func (a *Assembly) recordReceipt(p *placement, parts []part) {
	for _, part := range parts {
		name := part.piece.Want.Name
		f, ok := p.receipt.Facets[name]
		if !ok {
			f.Version = part.piece.Entry.Version
		}
		for _, target := range targetNames(a.Workspace) {
			var files []string
			for _, file := range part.Paths {
				files = append(files, targetPath(target, part.Deliverable, file))
			}
			f.Assets = append(f.Assets, machine.NewAsset(target, part.Kind, part.Name, files))
		}
		p.receipt.Facets[name] = f
	}
}

// AllInstalled are the digests of those of the files that are there, by path.
func AllInstalled(w *workspace.Workspace, paths []string) (map[string]digest.Digest, error) {
	slices.Sort(paths)
	paths, dir := slices.Compact(paths), ""
	for _, p := range paths {
		if d := path.Dir(p); d != dir { // those of one directory mostly follow each other
			dir = d
			if err := w.RefuseLink(w.Path(filepath.FromSlash(d))); err != nil {
				return nil, err
			}
		}
	}
	sums, exist := make([]digest.Digest, len(paths)), make([]bool, len(paths))
	if err := host.ForEach(runtime.GOMAXPROCS(0), len(paths), func(i int) (err error) {
		sums[i], exist[i], err = hashInstalled(w.Path(filepath.FromSlash(paths[i])))
		return err
	}); err != nil {
		return nil, err
	}
	found := make(map[string]digest.Digest, len(paths))
	for i, path := range paths {
		if exist[i] {
			found[path] = sums[i]
		}
	}
	return found, nil
}

// hashInProject is the digest of a file of the project; zero for what is no regular file.
func hashInProject(w *workspace.Workspace, path string) (d digest.Digest, exists bool, err error) {
	name := w.Path(filepath.FromSlash(path))
	if err := w.RefuseLink(filepath.Dir(name)); err != nil {
		return d, false, err
	}
	return hashInstalled(name)
}

// hashInstalled is the digest of a file whose directory was found to be plain.
func hashInstalled(name string) (d digest.Digest, exists bool, err error) {
	info, err := os.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return d, false, nil
	case err != nil:
		return d, false, err
	case info.IsDir():
		return d, true, evidence.Errorf(evidence.Refused, name, "move it away",
			errors.New("is a directory, where a file is to be"))
	case !info.Mode().IsRegular():
		return d, true, nil
	}
	f, err := beneath.Open(name)
	if err != nil {
		return d, true, err
	}
	defer f.Close()
	d, _, err = digest.FromReader(f)
	return d, true, err
}

// unusual is what a receipt's file name cannot hold everywhere.
var unusual = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

func receiptPath(w *workspace.Workspace) string {
	sum := sha256.Sum256([]byte(w.Dir))
	name := unusual.ReplaceAllString(filepath.Base(w.Dir), "_")
	return filepath.Join(w.Host.Places.State, "receipts", name[:min(64, len(name))]+"-"+hex.EncodeToString(sum[:])[:12]+
		".json")
}

func materializedPath(w *workspace.Workspace) string {
	return filepath.Join(w.Host.Places.State, "materialized", filepath.Base(w.State)+".json")
}

// InstalledFiles is what this machine knows of what was installed into a project.
type InstalledFiles struct {
	Receipt *machine.Receipt
	Sums    *machine.Materialized
	Report  evidence.Report // of files that are not used
}

// ReadReceipt reads what was installed into the project. What was written for another
// project, or is damaged, witnesses nothing: then nothing is deleted, files that were
// installed count as edited, and the report says so.
func ReadReceipt(w *workspace.Workspace) (*InstalledFiles, error) {
	var (
		out         = &InstalledFiles{}
		receipt     *machine.Receipt
		sums        *machine.Materialized
		bad, badSum error
	)
	err := host.ForEach(2, 2, func(i int) error { // which takes half as long as one after the other
		data, err := host.ReadFile([]string{receiptPath(w), materializedPath(w)}[i], machine.MaxReceipt)
		switch {
		case err != nil:
			return err
		case i == 0:
			receipt, bad = machine.ParseReceipt(data, w.Dir)
		default:
			sums, badSum = machine.ParseMaterialized(data, w.Dir)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	unusable := func(file, means string, err error) {
		out.Report = append(out.Report, evidence.CannotVerify(evidence.Claim{
			Subject: file, Scheme: evidence.Installed, Authority: evidence.Machine, Where: "what was installed here",
		}, evidence.Malformed, "is not used: "+err.Error()+"; "+means))
	}
	if out.Receipt = receipt; bad != nil {
		unusable(receiptPath(w), "what it names stays where it is", bad)
		out.Receipt = machine.NewReceipt(w.Dir)
	}
	if out.Sums = sums; badSum != nil {
		unusable(materializedPath(w), "each installed file counts as edited", badSum)
		out.Sums = machine.NewMaterialized(w.Dir)
	}
	return out, nil
}
