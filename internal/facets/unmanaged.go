package facets

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/installed"
	"github.com/hallmark-mcp/hallmark/internal/obtain"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
)

// maxFound is the most skills that are looked for in clients' directories.
const maxFound = 2000

// FoundSkill is a skill in directories in which clients look for skills. It is unmanaged if Facet is empty. Its name is
// that of its directories.
type FoundSkill struct {
	Name        string
	Dirs        []string // that have it with the same bytes, with slashes, relative to [Found.Dir]
	Called      string   // what its SKILL.md calls it, if that is another name of a facet
	Description string   // as its publisher wrote it
	Facet       string   // the locked facet that it belongs to; "" if it is unmanaged
	Edited      bool     // it belongs to a locked facet, and was changed since it was installed
	InPlace     bool     // what was edited of it can be taken into its source, which is a directory of it alone
	From        string   // the repository that another program got it from, as --git takes it; "" if it is not known
	Err         error    // why it cannot be adopted; nil if it can

	lessHere bool // its client gets less of the front matter than was published

	all     []string // directories of that name of all clients, with other bytes too
	private []string // files in all clients' directories of that name that are left out
	folder  string   // the first of the directories
	members map[string]digest.Digest
	present map[string]digest.Digest // files of that name in all clients' directories; zero for a link
}

// Found is what is in the directories in which the clients of a project look for skills.
type Found struct {
	Dir    string       // of the clients' files
	Where  []string     // directories of skills of all targets, relative to Dir
	Skills []FoundSkill // by name
	// variables that move a client's directory out of the home directory, where nothing is looked for
	Outside []string
	Linked  []string // directories that are links, or are reached through one: nothing is read or written there
}

// FindUnmanaged finds the skills in the directories of the project's targets, those that the lock manages too, which
// have a [FoundSkill.Facet]. With private it reads their private files as well. Nothing is written.
func FindUnmanaged(ctx context.Context, h *host.Host, dir string, private bool) (*Found, error) {
	w, done, err := workspace.OpenOrBegin(ctx, h, dir, false, true)
	if err != nil {
		return nil, err
	}
	defer done()
	receipt, err := installed.ReadReceipt(w)
	if err != nil {
		return nil, err
	}
	out := &Found{Dir: w.PlaceDir()}
	for _, t := range installed.All() {
		if variable := installed.OutsideVariable(w, t); variable != "" {
			out.Outside = append(out.Outside, variable)
		}
	}
	locked, err := installed.ReadLocked(w)
	if err != nil {
		return nil, err
	}
	x := &skillFinder{Found: out, w: w, private: private, receipt: receipt, locked: locked, owners: skillOwners(w),
		from: readSkillsLock(w), seen: map[string]bool{}}
	for _, place := range installed.SkillDirs(w, "NAME") {
		if err := x.find(path.Dir(place)); err != nil {
			return nil, err
		}
	}
	out.shareFiles()
	slices.SortStableFunc(out.Skills, func(a, b FoundSkill) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// skillFinder adds skills to what was found.
type skillFinder struct {
	*Found
	w       *workspace.Workspace
	private bool // read private files, too
	receipt *installed.Files
	locked  *installed.LockedFacets
	owners  map[string]string // facets by the names of their skills
	from    map[string]string
	seen    map[string]bool // directories of skills
}

// find adds the skills in a directory of a client.
func (x *skillFinder) find(place string) error {
	x.Where = append(x.Where, place)
	if x.w.RefuseLink(x.w.Place(place)) != nil {
		x.Linked = append(x.Linked, place)
		return nil
	}
	entries, err := os.ReadDir(x.w.Place(place))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		at := path.Join(place, e.Name())
		if _, err := os.Stat(filepath.Join(x.w.Place(at), facet.SkillFile)); err != nil {
			continue
		}
		if to := installed.Reached(x.w, at); to != at && path.Base(to) != e.Name() || to == at && !e.IsDir() {
			x.Linked = append(x.Linked, at)
			continue
		} else if at = to; x.seen[at] {
			continue
		}
		x.seen[at] = true
		if len(x.Skills) == maxFound {
			return evidence.Errorf(evidence.Refused, x.w.PlaceDir(), "name some of them: 'hallmark adopt PATH'",
				fmt.Errorf("has more than %d skills", maxFound))
		}
		x.add(x.read(at))
	}
	return nil
}

// read reads the skill in a directory, and says which facet it belongs to.
func (x *skillFinder) read(at string) FoundSkill {
	s := readSkill(x.w, at, x.private || x.w.Config.Facets[x.owners[path.Base(at)]].Private)
	s.From = x.from[s.Name]
	if s.Facet = x.owners[s.Name]; s.Facet == "" && x.receipt.Receipt.Files()[path.Join(at, facet.SkillFile)] {
		s.Facet = "that was installed here"
	}
	if s.Err == nil && x.owners[s.Name] != "" {
		s.Edited = !isInstalled(x.receipt, x.locked, at, s.present)
		s.lessHere = x.locked.HasLess(at)
		s.InPlace = isOwnSource(x.w, s) && !s.lessHere
	}
	return s
}

// isInstalled reports whether the files in the directory of a skill are those that were installed there, or else what
// the lock has there, as in a clone.
func isInstalled(known *installed.Files, locked *installed.LockedFacets, at string,
	present map[string]digest.Digest) bool {
	was := map[string]digest.Digest{}
	for file := range known.Receipt.Installed() {
		if strings.HasPrefix(file, at+"/") {
			was[file] = known.Sums.Sum(file)
		}
	}
	if len(was) == 0 {
		return locked.Has(at, present)
	}
	return maps.EqualFunc(was, present, evidence.Same)
}

// isOwnSource reports whether the source of a locked skill is the directory of that skill alone.
func isOwnSource(w *workspace.Workspace, s FoundSkill) bool {
	f, declared := w.Config.Facets[s.Facet]
	entry, locked := w.Lock.Facet(s.Facet)
	return declared && locked && f.Path != "" && f.Name == s.Name && entry.Source.Wrapped != 0
}

// skillOwners are the locked facets by the names of their skills.
func skillOwners(w *workspace.Workspace) map[string]string {
	owners := map[string]string{}
	for _, name := range w.Lock.Facets() {
		entry, _ := w.Lock.Facet(name)
		for member := range entry.Assets {
			if rest, ok := strings.CutPrefix(member, "skills/"); ok {
				skill, _, _ := strings.Cut(rest, "/")
				if prefix := w.Config.Facets[name].Prefix; prefix != "" {
					skill = prefix + "-" + skill
				}
				owners[skill] = name
			}
		}
	}
	return owners
}

// readSkill reads the skill in a directory of a client.
func readSkill(w *workspace.Workspace, at string, private bool) FoundSkill {
	s := FoundSkill{Name: path.Base(at), Dirs: []string{at}, folder: w.Place(at), present: map[string]digest.Digest{}}
	if !facet.CheckName(s.Name) {
		s.Err = evidence.Errorf(evidence.Validation, at, "rename the directory: 2 to 64 of a to z, 0 to 9 and hyphens",
			errors.New("no facet can be called as its directory is"))
		return s
	}
	f, err := obtain.ReadFolder(w.PlaceDir(), s.folder, s.Name, private)
	if err != nil {
		s.Err = err
		return s
	}
	s.members, s.Description = f.Members, f.Description
	if f.Name != s.Name {
		s.Called = f.Name
	}
	for rest, sum := range f.Members {
		s.present[path.Join(at, rest)] = sum
	}
	for _, rest := range f.Links {
		s.present[path.Join(at, rest)] = digest.Digest{}
	}
	for _, rest := range f.Private {
		s.private = append(s.private, path.Join(at, rest))
	}
	return s
}

// add adds a skill, or its directory to that which has the same bytes.
func (f *Found) add(s FoundSkill) {
	for i := range f.Skills {
		o := &f.Skills[i]
		if o.Name == s.Name && o.Err == nil && s.Err == nil && o.Facet == s.Facet &&
			maps.EqualFunc(o.members, s.members, evidence.Same) {
			o.Dirs = append(o.Dirs, s.Dirs...)
			maps.Copy(o.present, s.present)
			o.private = append(o.private, s.private...)
			return
		}
	}
	f.Skills = append(f.Skills, s)
}

// shareFiles gives each skill the files of all directories of its name: if several have other bytes, the one that is
// chosen replaces the others.
func (f *Found) shareFiles() {
	all, private, dirs := map[string]map[string]digest.Digest{}, map[string][]string{}, map[string][]string{}
	for _, s := range f.Skills {
		if all[s.Name] == nil {
			all[s.Name] = map[string]digest.Digest{}
		}
		maps.Copy(all[s.Name], s.present)
		private[s.Name] = append(private[s.Name], s.private...)
		dirs[s.Name] = append(dirs[s.Name], s.Dirs...)
	}
	for i := range f.Skills {
		s := &f.Skills[i]
		s.present, s.private, s.all = all[s.Name], private[s.Name], dirs[s.Name]
	}
}
