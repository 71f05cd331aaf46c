package installed

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/store"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// maxMarkdown is the largest Markdown file that is compared with what was made of it, in bytes.
const maxMarkdown = facet.MaxManifest + workspace.MaxSurface

// LockedFacets are the locked facets, whose files in the project are compared with the lock: a file
// must be what the lock says, whichever program wrote it.
type LockedFacets struct {
	Workspace *workspace.Workspace
	facets    []lockedFacet
	files     map[string]*placedFile // all of them, once they were asked for
}

// lockedFacet is a locked facet with its manifest, nil if its contents are not in the store.
type lockedFacet struct {
	name     string
	entry    project.FacetLock
	manifest *facet.Manifest
	read     func(member string) ([]byte, error) // nil without the contents
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
			f.read = func(member string) ([]byte, error) {
				return host.ReadFile(filepath.Join(slot.Dir(), filepath.FromSlash(member)), maxMarkdown)
			}
		}
	}
	l.facets = append(l.facets, f)
}

// Check compares the installed files with the lock: an edited one, one that is gone from a
// facet that is installed, and one in the directory of a skill that does not belong to it. Absent
// names the facets of which a target has no file, and never had one, for people.
func (l *LockedFacets) Check() (report evidence.Report, absent []string, err error) {
	files, err := l.expectedFiles()
	if err != nil {
		return nil, nil, err
	}
	l.files = files
	present, err := Digests(l.Workspace, slices.Collect(maps.Keys(files)))
	if err != nil {
		return nil, nil, err
	}
	receipt, err := ReadReceipt(l.Workspace)
	if err != nil {
		return nil, nil, err
	}
	ours := receipt.Receipt.Installed()
	installed := map[string]bool{} // by facet and target: some of it is there, or was
	for path, f := range files {
		f.now, f.present = present[path]
		f.written = ours[path] && !f.now.IsZero() && evidence.Same(receipt.Sums.Sum(path), f.now)
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
	extra, err := findExtra(l.Workspace, files, receipt.Receipt.Private())
	return append(report, extra...), l.findAbsent(files, installed), err
}

// findAbsent names the facets whose contents are in the store, and that were never installed for a
// target of this project.
func (l *LockedFacets) findAbsent(files map[string]*placedFile, installed map[string]bool) []string {
	stored := map[string]bool{}
	for _, f := range l.facets {
		stored[f.entry.Subject(f.name)] = f.read != nil
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
		if f := files[at]; f != nil && f.picked {
			continue
		}
		if _, err := os.Lstat(l.Workspace.Place(at)); err != nil {
			continue
		}
		if len(report) < workspace.MaxExtra {
			report = append(report, leftoverEvidence(at))
		}
	}
	return report
}

// selection is the part of a facet that those which bring it along want; nil is all of it.
func (l *LockedFacets) selection(name string) *Selection {
	if f, declared := l.Workspace.Config.Facets[name]; declared {
		return Chosen(f)
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
	files, known := map[string]*placedFile{}, newPlaces(l.Workspace, nil)
	for _, f := range l.facets {
		selection := l.selection(f.name)
		m := f.manifest
		if m == nil {
			m = f.guessManifest()
		}
		for _, d := range Placed(m, l.Workspace.Config.Facets[f.name]) {
			for _, target := range known.targets {
				writer, places := known.of(target, selection.Of(m), d)
				for _, place := range places {
					at := &placedFile{of: f.entry.Subject(f.name), target: target.Name,
						asset: f.entry.Assets[place.Member], picked: selection.Has(d), skill: place.Skill}
					var err error
					if at.sum, at.less, err = f.placedForm(writer, place, d); err != nil {
						return nil, err
					}
					if other, ok := files[place.Path]; !ok || !other.picked {
						files[place.Path] = at
					}
				}
			}
		}
	}
	return files, nil
}

// Has reports whether the files that are present in the directory of a skill are those that the lock has there. A file
// whose locked form is not known here, as its contents are not in the store, counts as equal.
func (l *LockedFacets) Has(dir string, present map[string]digest.Digest) bool {
	n := 0
	for at, f := range l.files {
		if !f.picked || !strings.HasPrefix(at, dir+"/") {
			continue
		}
		now, ok := present[at]
		if !ok || !f.sum.IsZero() && !evidence.Same(f.sum, now) {
			return false
		}
		n++
	}
	return n == len(present)
}

// HasLess reports whether the client whose directory of a skill this is gets less of a front matter than was published,
// as far as that is known.
func (l *LockedFacets) HasLess(dir string) bool {
	for at, f := range l.files {
		if strings.HasPrefix(at, dir+"/") && f.picked && f.less {
			return true
		}
	}
	return false
}

// guessManifest is the part of a manifest that follows from the paths of the facet's members: what it
// delivers.
func (f lockedFacet) guessManifest() *facet.Manifest {
	m := &facet.Manifest{Skills: map[string]facet.Skill{}, Agents: map[string]facet.Prompt{},
		Commands: map[string]facet.Prompt{}}
	for _, member := range slices.Sorted(maps.Keys(f.entry.Assets)) {
		kind, rest, ok := strings.Cut(member, "/")
		switch {
		case !ok:
		case kind == "agents":
			m.Agents[strings.TrimSuffix(rest, ".md")] = facet.Prompt{}
		case kind == "commands":
			m.Commands[strings.TrimSuffix(rest, ".md")] = facet.Prompt{}
		case kind == "skills":
			name, file, ok := strings.Cut(rest, "/")
			if !ok {
				continue
			}
			s := m.Skills[name]
			if file != "SKILL.md" {
				s.Files = append(s.Files, file)
			}
			m.Skills[name] = s
		}
	}
	return m
}

// placedForm is the digest of a file for a target, and whether its front matter lacks members; zero if that is not
// known without the contents.
func (f lockedFacet) placedForm(target Target, place Place, d facet.Deliverable) (digest.Digest, bool, error) {
	switch {
	case place.Fixed != nil:
		return digest.FromBytes(place.Fixed), false, nil
	case !place.IsRendered():
		return f.entry.Assets[place.Member], false, nil
	case f.manifest == nil:
		return digest.Digest{}, false, nil
	}
	r, err := f.render(target, place, d)
	return digest.FromBytes(r.Data), r.Less, err
}

// render writes a file as a target gets it, from a member that is what the lock says.
func (f lockedFacet) render(target Target, place Place, d facet.Deliverable) (Rendering, error) {
	data, err := f.read(place.Member)
	if err != nil {
		return Rendering{}, err
	}
	if !evidence.Same(f.entry.Assets[place.Member], digest.FromBytes(data)) {
		return Rendering{}, evidence.Errorf(evidence.Integrity,
			facet.MemberSubject(f.entry.Subject(f.name), place.Member), "",
			errors.New("changed in the store after the audit"))
	}
	return target.Render(place, f.manifest, d, data)
}
