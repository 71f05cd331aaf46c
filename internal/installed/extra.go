package installed

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// findExtra is evidence of files in the directory of a locked skill that do not belong to it: a
// client reads what it finds there. Private are files of the user that may be there.
func findExtra(w *workspace.Workspace, files map[string]*placedFile,
	private map[string]bool) (evidence.Report, error) {
	x := &extraFinder{w: w, files: files, private: private, dirs: map[string]bool{}}
	skills := map[string]string{} // directory: facet
	for at, f := range files {
		if f.skill == "" || !f.picked {
			continue
		}
		skills[f.skill] = f.of
		for dir := path.Dir(at); len(dir) >= len(f.skill); dir = path.Dir(dir) {
			x.dirs[dir] = true
		}
	}
	for at := range private {
		for dir := path.Dir(at); dir != "."; dir = path.Dir(dir) {
			x.dirs[dir] = true
		}
	}
	for _, skill := range slices.Sorted(maps.Keys(skills)) {
		if err := x.find(skill, skills[skill]); err != nil {
			return nil, err
		}
	}
	twins, err := findTwins(w, files)
	return append(x.report, twins...), err
}

// extraFinder collects what findExtra finds.
type extraFinder struct {
	w       *workspace.Workspace
	files   map[string]*placedFile
	private map[string]bool
	dirs    map[string]bool // that hold a file
	report  evidence.Report
}

// find adds what does not belong to the facet of a skill's directory.
func (x *extraFinder) find(skill, of string) error {
	root := x.w.Place(skill)
	if err := x.w.RefuseLink(root); err != nil {
		return err
	}
	return filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) && name == root {
			return fs.SkipAll
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(x.w.PlaceDir(), name)
		if err != nil {
			return err
		}
		at := filepath.ToSlash(rel)
		if d.IsDir() && x.dirs[at] || x.files[at] != nil {
			return nil
		}
		who, err := leftBySystem(name, d)
		switch {
		case err != nil:
			return err
		case len(x.report) >= workspace.MaxExtra:
		case x.private[at] && !d.IsDir():
			x.report = append(x.report, privateEvidence(at))
		case who != "":
			x.report = append(x.report, leftoverOfSystemEvidence(at, who))
		default:
			x.report = append(x.report, extraEvidence(at, of))
		}
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
}

// findTwins is evidence of what has the name of a locked skill or file in another spelling, beside it: a client that
// reads the directory reads both, and a file system without case has one of them in the other's place.
func findTwins(w *workspace.Workspace, files map[string]*placedFile) (report evidence.Report, err error) {
	ours, of := map[string]bool{}, map[string]string{} // paths, and by folded path the facet
	for at, f := range files {
		if f.picked {
			at = cmp.Or(f.skill, at)
			ours[at], of[spelling.Fold(at)] = true, f.of
		}
	}
	dirs := map[string]bool{}
	for at := range ours {
		dirs[path.Dir(at)] = true
	}
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		entries, err := os.ReadDir(w.Place(dir))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, e := range entries {
			at := path.Join(dir, e.Name())
			if owner, twin := of[spelling.Fold(at)]; twin && !ours[at] && len(report) < workspace.MaxExtra {
				found := extraEvidence(at, owner)
				found.Reason = "has the name of a locked skill or file in another spelling, and no claim covers it; " +
					"move it away"
				report = append(report, found)
			}
		}
	}
	return report, nil
}

// extraEvidence is evidence of a file in the directory of a skill that is no file of the skill.
func extraEvidence(at, of string) evidence.Evidence {
	e := evidence.Fact(evidence.Claim{
		Subject: at, Scheme: evidence.Unhashed, Authority: evidence.Lock, Text: "nothing but the files of " + of,
		Where: project.LockFile + ", " + of,
	}, "a file that is not of it")
	e.Observed.From = at
	e.Reason = "lies in the directory of a locked skill, and no claim covers it; move it away"
	return e
}

// leftoverEvidence is evidence of a file that was installed, and that nothing has any more.
func leftoverEvidence(at string) evidence.Evidence {
	e := evidence.Fact(evidence.Claim{
		Subject: at, Scheme: evidence.Unhashed, Authority: evidence.Lock,
		Text: "nothing that is not locked for a target of " + project.ConfigFile, Where: project.LockFile,
	}, "a file that was installed on this machine")
	e.Observed.From = at
	e.Reason = "was installed here, and no entry and target has it any more; 'hallmark install' takes it away, or " +
		"leaves what was there before"
	return e
}

// keptEvidence is the evidence of an extra file for an installation that keeps it, as it keeps an
// edited file: it is about what this machine installed, and no claim of the lock.
func keptEvidence(e evidence.Evidence) evidence.Evidence {
	c := evidence.Claim{Subject: e.Subject, Scheme: evidence.Installed, Authority: evidence.Machine, Text: e.Claim.Text,
		Where: e.Where}
	out := evidence.Fact(c, e.Observed.Text)
	out.Observed.From, out.Reason = e.Observed.From, e.Reason
	return out
}
