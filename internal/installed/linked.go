package installed

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
)

// Reached is where links lead that lie on the way to a directory in which a client looks, or a file of it; both are
// relative to [workspace.Workspace.PlaceDir], with slashes. A project's links count only from one client's directory of
// a skill to another one's, as a checkout could point to its hooks; those in a home directory to anywhere in it but
// what is a client's own, as its owner made them. Other links are not followed: the path stays, and
// [workspace.Workspace.RefuseLink] refuses it.
func Reached(w *workspace.Workspace, dir string) string {
	root, err := filepath.EvalSymlinks(w.PlaceDir())
	if err != nil {
		return dir
	}
	rest := ""
	for at := dir; at != "."; at, rest = path.Dir(at), path.Join(path.Base(at), rest) {
		if _, err := os.Lstat(w.Place(at)); err != nil {
			continue
		}
		real, err := follow(w.Place(at))
		if err != nil {
			return dir
		}
		rel, err := filepath.Rel(root, real)
		if to := path.Join(filepath.ToSlash(rel), rest); err == nil && filepath.IsLocal(rel) && mayLead(w, dir, to) {
			return to
		}
		return dir
	}
	return dir
}

// follow is the path that a file or directory has without links. The last link may lead to what is not there yet.
func follow(name string) (string, error) {
	real, err := filepath.EvalSymlinks(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return real, err
	}
	to, err := os.Readlink(name)
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(to) {
		dir, err := filepath.EvalSymlinks(filepath.Dir(name))
		if err != nil {
			return "", err
		}
		to = filepath.Join(dir, to)
	}
	rest := ""
	for { // the last directory that is there
		dir, err := filepath.EvalSymlinks(to)
		if !errors.Is(err, fs.ErrNotExist) || to == filepath.Dir(to) {
			return filepath.Join(dir, rest), err
		}
		to, rest = filepath.Dir(to), filepath.Join(filepath.Base(to), rest)
	}
}

// mayLead reports whether links from one directory of a client to another are followed.
func mayLead(w *workspace.Workspace, dir, to string) bool {
	if w.Home != "" {
		return path.Dir(to) != "." && !isClientsOwn(w, to)
	}
	from, leads := false, false
	for _, t := range All() {
		at := t.SkillDir(path.Base(dir))
		from, leads = from || at == dir, leads || at == to
	}
	return from && leads
}

// isClientsOwn reports whether a directory of the home directory is one of a client's, and not one in which it has what
// facets deliver.
func isClientsOwn(w *workspace.Workspace, dir string) bool {
	own := false
	for _, t := range All() {
		t = placed(w, t)
		dirs := t.KindDirs()
		if _, delivers := dirs[dir]; delivers {
			return false
		}
		if _, delivers := dirs[path.Dir(dir)]; delivers {
			return false
		}
		own = own || slices.ContainsFunc(t.Marks, func(mark string) bool {
			return strings.HasPrefix(dir+"/", mark+"/")
		})
	}
	return own
}

// places finds out where the targets of a project have what facets deliver.
type places struct {
	w       *workspace.Workspace
	targets []Target
	ours    func(at string) bool // a file there is as Hallmark wrote it, and nobody else's
	reached map[string]string    // by directory
}

func newPlaces(w *workspace.Workspace, ours func(at string) bool) *places {
	return &places{w: w, targets: Adapters(w), ours: ours, reached: map[string]string{}}
}

func (p *places) reach(dir string) string {
	to, ok := p.reached[dir]
	if !ok {
		to = Reached(p.w, dir)
		p.reached[dir] = to
	}
	return to
}

// of are the files in which a target reads a deliverable, and the target that they are written for: another one where
// the client finds what that one has. But where something is in the client's own place that is not ours, that is a copy
// like others. Where links lead two clients to one directory, both get the skill as it is in the archive.
func (p *places) of(t Target, m *facet.Manifest, d facet.Deliverable) (writer Target, files []Place) {
	files = p.reachAll(t.Places(m, d))
	if other := t.Elsewhere(m, d); other != nil && !slices.ContainsFunc(files, p.lies) {
		t, files = *other, p.reachAll(other.Places(m, d))
	}
	if d.Kind != facet.KindSkill || len(files) == 0 {
		return t, files
	}
	at := files[0].Skill
	if slices.ContainsFunc(p.targets, func(o Target) bool {
		own := o.SkillDir(d.Name)
		return own != "" && o.Name != t.Name && p.reach(own) == at && own != t.SkillDir(d.Name)
	}) {
		files[0] = files[0].AsItIs()
	}
	return t, files
}

// lies reports whether something is in the place of a file, or in its skill's directory, that is not ours.
func (p *places) lies(f Place) bool {
	at := f.Path
	if f.Skill != "" {
		at = f.Skill
	}
	others := false
	err := filepath.WalkDir(p.w.Place(at), func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if who, err := leftBySystem(name, d); err == nil && who != "" && d.IsDir() {
			return fs.SkipDir
		} else if d.IsDir() || err == nil && who != "" {
			return nil
		}
		rel, err := filepath.Rel(p.w.PlaceDir(), name)
		if others = err != nil || p.ours == nil || !p.ours(filepath.ToSlash(rel)); others {
			return fs.SkipAll
		}
		return nil
	})
	return others || err != nil && !errors.Is(err, fs.ErrNotExist)
}

// reachAll are the places of files where links lead.
func (p *places) reachAll(files []Place) []Place {
	for i, f := range files {
		dir := f.Skill
		if dir == "" {
			dir = path.Dir(f.Path)
		}
		if to := p.reach(dir); to != dir {
			files[i].Path = path.Join(to, strings.TrimPrefix(f.Path, dir+"/"))
			if f.Skill != "" {
				files[i].Skill = to
			}
		}
	}
	return files
}
