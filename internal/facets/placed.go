package facets

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/facet"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/lockentry"
	"github.com/hallmark-mcp/hallmark/internal/store"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// PlacedFacets are the locked facets, and where their files lie in the project: what is there
// must be what the lock says, whoever wrote it.
type PlacedFacets struct {
	Workspace *workspace.Workspace
	facets    []placedFacet
	Absent    []string // of which a target has no file, and never had one, for people
}

// placedFacet is a locked facet with its manifest, nil if its contents are not in the store.
type placedFacet struct {
	name      string
	entry     project.FacetLock
	dir       string // of the contents; "" without them
	manifest  *facet.Manifest
	selection *selection // of one that others bring along; nil is all
}

// placedFile is a file of a facet in the project, as the lock has it.
type placedFile struct {
	of      string        // the facet: "NAME@VERSION"
	target  string        //
	sum     digest.Digest // zero if it follows from the contents, which are not here
	asset   digest.Digest // of the member it comes from
	picked  bool          // whether it is to be there
	skill   string        // the directory of the skill that it is in; "" for others
	present bool
	now     digest.Digest
}

// Add takes a locked facet in. The manifest in an audited slot says what the facet delivers.
func (p *PlacedFacets) Add(name string, entry project.FacetLock, slot *store.Slot) {
	f := placedFacet{name: name, entry: entry}
	if slot != nil {
		data, err := host.ReadFile(filepath.Join(slot.Dir(), facet.ManifestFile), facet.MaxManifest)
		if err == nil {
			f.manifest, err = facet.ParseManifest(data)
		}
		if err == nil {
			f.dir = slot.Dir()
		}
	}
	p.facets = append(p.facets, f)
}

// Check compares the installed files with the lock: an edited one, one that is gone from a
// facet that is installed, and one that lies in the directory of a skill and is not of it.
func (p *PlacedFacets) Check() (evidence.Report, error) {
	p.selectParts()
	files, err := p.expectedFiles()
	if err != nil {
		return nil, err
	}
	present, err := AllInstalled(p.Workspace, slices.Collect(maps.Keys(files)))
	if err != nil {
		return nil, err
	}
	receipt, err := ReadReceipt(p.Workspace)
	if err != nil {
		return nil, err
	}
	ours := receipt.Receipt.Files()
	installed := map[string]bool{} // by facet and target: some of it is there, or was
	for path, f := range files {
		f.now, f.present = present[path]
		if f.present || ours[path] && f.picked {
			installed[f.of+" "+f.target] = true
		}
	}
	p.noteMissing(files, installed)
	var report evidence.Report
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if f := files[path]; installed[f.of+" "+f.target] {
			report = append(report, f.evidence(path)...)
		}
	}
	report = append(report, p.leftovers(ours, files)...)
	extra, err := p.findExtra(files)
	return append(report, extra...), err
}

// noteMissing notes the facets that were never installed for a target of this project. Those that are
// not in the store either are named as such.
func (p *PlacedFacets) noteMissing(files map[string]*placedFile, installed map[string]bool) {
	stored := map[string]bool{}
	for _, f := range p.facets {
		stored[f.entry.Subject(f.name)] = f.dir != ""
	}
	lacking := map[string]bool{}
	for _, f := range files {
		if stored[f.of] && f.picked && !installed[f.of+" "+f.target] {
			lacking[f.of+" (not installed here for "+f.target+")"] = true
		}
	}
	p.Absent = slices.Sorted(maps.Keys(lacking))
}

// leftovers is evidence of files that this machine installed, and that neither the lock nor a
// target in hallmark.toml has any more: whoever takes a target out of it would have them read
// by a client, and compared with nothing.
func (p *PlacedFacets) leftovers(ours map[string]bool, files map[string]*placedFile) (report evidence.Report) {
	for _, at := range slices.Sorted(maps.Keys(ours)) {
		if files[at] != nil {
			continue
		}
		if _, err := os.Lstat(p.Workspace.Path(filepath.FromSlash(at))); err != nil {
			continue
		}
		if len(report) < lockentry.MaxExtra {
			report = append(report, leftoverEvidence(at))
		}
	}
	return report
}

func leftoverEvidence(at string) evidence.Evidence {
	e := evidence.Fact(evidence.Claim{
		Subject: at, Scheme: evidence.Unhashed, Authority: evidence.Lock,
		Text: "nothing that is not locked for a target of " + project.ConfigFile, Where: project.LockFile,
	}, "a file that was installed on this machine")
	e.Observed.From = at
	e.Reason = "was installed here, and no entry and target has it any more; 'hallmark install' takes it away"
	return e
}

// selectParts finds out which part of a facet those that bring it along want.
func (p *PlacedFacets) selectParts() {
	for i := range p.facets {
		f := &p.facets[i]
		if _, declared := p.Workspace.Config.Facets[f.name]; declared {
			continue
		}
		f.selection = &selection{}
		for _, by := range p.facets {
			if _, ok := by.entry.Composes[f.name]; !ok {
				continue
			}
			if by.manifest == nil { // without the manifest the selection is unknown
				f.selection = nil
				break
			}
			for _, c := range by.manifest.Facets {
				if c.Name == f.name {
					f.selection.add(c)
				}
			}
		}
	}
}

// expectedFiles are the files of all facets for all targets, by path.
func (p *PlacedFacets) expectedFiles() (map[string]*placedFile, error) {
	files := map[string]*placedFile{}
	for _, f := range p.facets {
		for _, d := range f.deliverables() {
			for _, target := range targetNames(p.Workspace) {
				for _, member := range d.Paths {
					at := &placedFile{of: f.entry.Subject(f.name), target: target, asset: f.entry.Assets[member],
						picked: f.selection.has(d)}
					if d.Kind == facet.KindSkill {
						at.skill = path.Dir(targetPath(target, d, d.Paths[0]))
					}
					sum, err := f.targetDigest(target, d, member)
					if err != nil {
						return nil, err
					}
					at.sum = sum
					if other, ok := files[targetPath(target, d, member)]; !ok || !other.picked {
						files[targetPath(target, d, member)] = at
					}
				}
			}
		}
	}
	return files, nil
}

// deliverables are those of the manifest, or without one those that the paths of its members
// tell.
func (f placedFacet) deliverables() []facet.Deliverable {
	if f.manifest != nil {
		return f.manifest.Deliverables()
	}
	skills := map[string]*facet.Deliverable{}
	var out []facet.Deliverable
	for _, member := range slices.Sorted(maps.Keys(f.entry.Assets)) {
		kind, rest, ok := strings.Cut(member, "/")
		switch {
		case !ok:
		case kind == "agents" || kind == "commands":
			of := facet.KindAgent
			if kind == "commands" {
				of = facet.KindCommand
			}
			out = append(out, facet.Deliverable{Kind: of, Name: strings.TrimSuffix(rest, ".md"),
				Paths: []string{member}})
		case kind == "skills":
			name, file, ok := strings.Cut(rest, "/")
			if !ok {
				continue
			}
			if skills[name] == nil {
				skills[name] = &facet.Deliverable{Kind: facet.KindSkill, Name: name,
					Paths: []string{path.Join("skills", name, "SKILL.md")}}
			}
			if file != "SKILL.md" {
				skills[name].Paths = append(skills[name].Paths, member)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(skills)) {
		out = append(out, *skills[name])
	}
	return out
}

// targetDigest is what a target gets for a member; zero if that cannot be told without the contents.
func (f placedFacet) targetDigest(target string, d facet.Deliverable, member string) (digest.Digest, error) {
	asset := f.entry.Assets[member]
	switch {
	case !changesOnRender(target, d, member):
		return asset, nil
	case f.manifest == nil:
		return digest.Digest{}, nil
	}
	data, err := host.ReadFile(filepath.Join(f.dir, filepath.FromSlash(member)), facet.MaxManifest+workspace.MaxSurface)
	if err != nil {
		return digest.Digest{}, err
	}
	if !evidence.Same(asset, digest.FromBytes(data)) {
		return digest.Digest{}, evidence.Errorf(evidence.Integrity,
			facet.MemberSubject(f.entry.Subject(f.name), member), "",
			errors.New("changed in the store after the audit"))
	}
	text, err := render(target, f.manifest, d, member, data)
	return digest.FromBytes(text), err
}

// evidence says whether the file at a path is the locked one.
func (f *placedFile) evidence(path string) evidence.Report {
	c := evidence.Claim{Subject: path, Scheme: evidence.Installed, Authority: evidence.Lock,
		Where: project.LockFile + ", " + f.of}
	o := evidence.Observed{From: path}
	if f.now.IsZero() {
		o.Text = "no regular file"
	} else {
		o.Digests = []digest.Digest{f.now}
	}
	switch {
	case !f.present && f.picked:
		return evidence.Report{evidence.Miss(c, evidence.Lock, "the rest of "+f.of+" is installed here",
			"run 'hallmark install --frozen', which puts it back")}
	case !f.present:
		return nil
	case f.sum.IsZero() && evidence.Same(f.asset, f.now):
		c.Want = []digest.Digest{f.asset}
		return evidence.Report{evidence.Compare(c, o)}
	case f.sum.IsZero():
		return evidence.Report{evidence.CannotVerify(c, evidence.NotFound,
			"the contents that it was made from are not in this machine's store; "+
				"run 'hallmark install --frozen' first")}
	}
	c.Want = []digest.Digest{f.sum}
	e := evidence.Compare(c, o)
	if e.Outcome != evidence.Match {
		e.Outcome, e.Cause, e.Reason = evidence.Mismatch, "",
			"is not as the lock has it; 'hallmark install --force' puts it back"
	}
	return evidence.Report{e}
}

// findExtra is evidence of what lies in the directory of a locked skill and is no file of it: a
// client reads what it finds there.
func (p *PlacedFacets) findExtra(files map[string]*placedFile) (report evidence.Report, err error) {
	skills := map[string]string{} // directory: facet
	dirs := map[string]bool{}     // that hold a file
	for at, f := range files {
		if f.skill == "" || !f.picked {
			continue
		}
		skills[f.skill] = f.of
		for dir := path.Dir(at); len(dir) >= len(f.skill); dir = path.Dir(dir) {
			dirs[dir] = true
		}
	}
	for _, skill := range slices.Sorted(maps.Keys(skills)) {
		if err := p.Workspace.RefuseLink(p.Workspace.Path(filepath.FromSlash(skill))); err != nil {
			return nil, err
		}
		root := p.Workspace.Path(filepath.FromSlash(skill))
		err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
			if errors.Is(err, os.ErrNotExist) && name == root {
				return fs.SkipAll
			}
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(p.Workspace.Dir, name)
			if err != nil {
				return err
			}
			at := filepath.ToSlash(rel)
			if d.IsDir() && dirs[at] || files[at] != nil {
				return nil
			}
			if len(report) < lockentry.MaxExtra {
				report = append(report, extraEvidence(at, skills[skill]))
			}
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return report, nil
}

func extraEvidence(at, of string) evidence.Evidence {
	e := evidence.Fact(evidence.Claim{
		Subject: at, Scheme: evidence.Unhashed, Authority: evidence.Lock, Text: "nothing but the files of " + of,
		Where: project.LockFile,
	}, "a file that is not of it")
	e.Observed.From = at
	e.Reason = "lies in the directory of a locked skill, and no claim covers it; move it away"
	return e
}
