package installed

import (
	"errors"
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

// LockedFacets are the locked facets, whose files in the project are compared with the lock: a file
// must be what the lock says, whichever program wrote it.
type LockedFacets struct {
	Workspace *workspace.Workspace
	facets    []lockedFacet
}

// lockedFacet is a locked facet with its manifest, nil if its contents are not in the store.
type lockedFacet struct {
	name     string
	entry    project.FacetLock
	dir      string // of the contents; "" without them
	manifest *facet.Manifest
}

// Add adds a locked facet. The manifest in its slot, which was audited, says what it delivers; without
// a slot, the paths of its members do.
func (l *LockedFacets) Add(name string, entry project.FacetLock, slot *store.Slot) {
	f := lockedFacet{name: name, entry: entry}
	if slot != nil {
		data, err := host.ReadFile(filepath.Join(slot.Dir(), facet.ManifestFile), facet.MaxManifest)
		if err == nil {
			f.manifest, err = facet.ParseManifest(data)
		}
		if err == nil {
			f.dir = slot.Dir()
		}
	}
	l.facets = append(l.facets, f)
}

// Check compares the installed files with the lock: an edited one, one that is gone from a
// facet that is installed, and one that lies in the directory of a skill and is not of it. Absent
// names the facets of which a target has no file, and never had one, for people.
func (l *LockedFacets) Check() (report evidence.Report, absent []string, err error) {
	files, err := l.expectedFiles()
	if err != nil {
		return nil, nil, err
	}
	present, err := Digests(l.Workspace, slices.Collect(maps.Keys(files)))
	if err != nil {
		return nil, nil, err
	}
	receipt, err := ReadReceipt(l.Workspace)
	if err != nil {
		return nil, nil, err
	}
	ours := receipt.Receipt.Files()
	installed := map[string]bool{} // by facet and target: some of it is there, or was
	for path, f := range files {
		f.now, f.present = present[path]
		if f.present || ours[path] && f.picked {
			installed[f.of+" "+f.target] = true
		}
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if f := files[path]; installed[f.of+" "+f.target] {
			report = append(report, f.evidence(path)...)
		}
	}
	report = append(report, l.leftovers(ours, files)...)
	extra, err := findExtra(l.Workspace, files)
	return append(report, extra...), l.findAbsent(files, installed), err
}

// findAbsent names the facets whose contents are in the store, and that were never installed for a
// target of this project.
func (l *LockedFacets) findAbsent(files map[string]*placedFile, installed map[string]bool) []string {
	stored := map[string]bool{}
	for _, f := range l.facets {
		stored[f.entry.Subject(f.name)] = f.dir != ""
	}
	absent := map[string]bool{}
	for _, f := range files {
		if stored[f.of] && f.picked && !installed[f.of+" "+f.target] {
			absent[f.of+" (not installed here for "+f.target+")"] = true
		}
	}
	return slices.Sorted(maps.Keys(absent))
}

// leftovers is evidence of files that this machine installed, and that no entry and no target in
// hallmark.toml has any more. Without it, removing a target from hallmark.toml would leave files
// that a client reads and nothing compares.
func (l *LockedFacets) leftovers(ours map[string]bool, files map[string]*placedFile) (report evidence.Report) {
	for _, at := range slices.Sorted(maps.Keys(ours)) {
		if files[at] != nil {
			continue
		}
		if _, err := os.Lstat(l.Workspace.Place(at)); err != nil {
			continue
		}
		if len(report) < lockentry.MaxExtra {
			report = append(report, leftoverEvidence(at))
		}
	}
	return report
}

// selection is the part of a facet that those which bring it along want; nil is all of it.
func (l *LockedFacets) selection(name string) *Selection {
	if _, declared := l.Workspace.Config.Facets[name]; declared {
		return nil
	}
	s := &Selection{}
	for _, by := range l.facets {
		if _, ok := by.entry.Composes[name]; !ok {
			continue
		}
		if by.manifest == nil { // without the manifest the selection is unknown
			return nil
		}
		for _, c := range by.manifest.Facets {
			if c.Name == name {
				s.Add(c)
			}
		}
	}
	return s
}

// expectedFiles are the files of all facets for all targets, by path.
func (l *LockedFacets) expectedFiles() (map[string]*placedFile, error) {
	files := map[string]*placedFile{}
	for _, f := range l.facets {
		selection := l.selection(f.name)
		for _, d := range f.deliverables() {
			for _, target := range Targets(l.Workspace) {
				for _, member := range d.Paths {
					to := targetPath(l.Workspace, target, d, member)
					if to == "" {
						continue
					}
					at := &placedFile{of: f.entry.Subject(f.name), target: target, asset: f.entry.Assets[member],
						picked: selection.Has(d)}
					if d.Kind == facet.KindSkill {
						at.skill = path.Dir(targetPath(l.Workspace, target, d, d.Paths[0]))
					}
					sum, err := f.targetDigest(target, d, member)
					if err != nil {
						return nil, err
					}
					at.sum = sum
					if other, ok := files[to]; !ok || !other.picked {
						files[to] = at
					}
				}
			}
		}
	}
	return files, nil
}

// deliverables are those of the manifest, or without one those that follow from the paths of the
// facet's members.
func (f lockedFacet) deliverables() []facet.Deliverable {
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
func (f lockedFacet) targetDigest(target string, d facet.Deliverable, member string) (digest.Digest, error) {
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
