package installed

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/clients"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/project"
)

// maxUnmanaged is how many of what no facet put there are named.
const maxUnmanaged = 100

// Unmanaged is something in a directory in which clients look, and that neither the lock nor what this machine
// installed accounts for: a skill with all its files, or one file of agents or commands.
type Unmanaged struct {
	Path  string     // relative to [workspace.Workspace.PlaceDir], with slashes
	Kind  facet.Kind // of what clients look for there
	Link  bool       // nothing is known of what is behind it
	Adopt bool       // 'hallmark adopt' takes it
}

// Unaccounted is all that is [Unmanaged] in a project.
type Unaccounted struct {
	Found   []Unmanaged // by path; of many the first
	More    int         // how many there are besides
	Partial bool        // there are more files than are looked at
	Nested  []string    // projects of their own below this one, which were left out
}

// Unmanaged finds what no facet put where clients look for skills, agents and commands: in dir, which is w.PlaceDir()
// or a directory below it, and in all directories below that. In a home directory only the clients' own are looked at.
func (l *LockedFacets) Unmanaged(ctx context.Context, dir string) (*Unaccounted, error) {
	files := l.files
	if files == nil {
		var err error
		if files, err = l.expectedFiles(); err != nil {
			return nil, err
		}
	}
	receipt, err := ReadReceipt(l.Workspace)
	if err != nil {
		return nil, err
	}
	s := &unmanagedSearch{ctx: ctx, w: l.Workspace, files: map[string]bool{}, dirs: map[string]bool{},
		folded: map[string]string{},
		seen:   map[string]facet.Kind{}}
	for at, f := range files {
		if f.picked {
			s.account(at)
		}
	}
	for at := range receipt.Receipt.Installed() {
		if _, err := os.Lstat(s.w.Place(at)); err == nil {
			s.account(at) // what is left over of it is evidence of its own
		}
	}
	for _, at := range SkillDirs(s.w, "NAME") {
		s.adopted = append(s.adopted, path.Dir(at))
	}
	if s.w.Home == "" {
		err = s.walk(dir)
	} else {
		err = s.searchHome()
	}
	for _, t := range Adapters(s.w) {
		if strings.HasPrefix(t.Name, project.TargetDir) {
			err = errors.Join(err, s.searchDirs(t.KindDirs()))
		}
	}
	s.judgeLinks()
	slices.SortStableFunc(s.out.Found, func(a, b Unmanaged) int { return strings.Compare(a.Path, b.Path) })
	return &s.out, err
}

// unmanagedSearch is one run of [LockedFacets.Unmanaged].
type unmanagedSearch struct {
	ctx     context.Context
	w       *workspace.Workspace
	files   map[string]bool       // that are accounted for
	dirs    map[string]bool       // that hold such a file
	folded  map[string]string     // both, by their folded paths
	adopted []string              // directories whose skills can be adopted
	seen    map[string]facet.Kind // directories that were searched, and for what
	links   []foundLink
	count   int
	out     Unaccounted
}

// foundLink is a link where clients look, or in a directory of that kind.
type foundLink struct {
	at, real string
	kind     facet.Kind
	isEntry  bool // it is in such a directory, and not in the place of one
}

func (s *unmanagedSearch) account(at string) {
	s.files[at], s.folded[spelling.Fold(at)] = true, at
	for dir := path.Dir(at); dir != "." && !s.dirs[dir]; dir = path.Dir(dir) {
		s.dirs[dir], s.folded[spelling.Fold(dir)] = true, dir
	}
}

// accounts reports whether a facet has a file, or files in a directory. Another spelling counts only where the file
// system takes both for one file.
func (s *unmanagedSearch) accounts(at string) bool {
	if s.files[at] || s.dirs[at] {
		return true
	}
	ours, ok := s.folded[spelling.Fold(at)]
	return ok && host.SameFile(s.w.Place(ours), s.w.Place(at))
}

// at is the path of a file by which it is reported; "" if it is not below the directory of the clients' files.
func (s *unmanagedSearch) at(name string) string {
	rel, err := filepath.Rel(s.w.PlaceDir(), name)
	if err != nil || !filepath.IsLocal(rel) {
		return ""
	}
	return filepath.ToSlash(rel)
}

func (s *unmanagedSearch) add(u Unmanaged) {
	if len(s.out.Found) == maxUnmanaged {
		s.out.More++
		return
	}
	s.out.Found = append(s.out.Found, u)
}

// isFull counts a file that is looked at, and reports whether it is one too many.
func (s *unmanagedSearch) isFull() bool {
	s.count++
	s.out.Partial = s.count > clients.MaxEntries
	return s.out.Partial
}

// walk searches dir and all directories below it, but for projects of their own.
func (s *unmanagedSearch) walk(dir string) error {
	return filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case s.ctx.Err() != nil:
			return s.ctx.Err()
		case s.isFull():
			return fs.SkipAll
		case err != nil || name == dir:
			return nil // nor can a client read it
		}
		kind, place := s.looksIn(name)
		switch {
		case d.Type()&fs.ModeSymlink != 0 && (place || IsHidden(d.Name())):
			s.visitLink(name, kind)
		case !d.IsDir():
		case d.Name() == ".git" || d.Name() == "node_modules":
			return fs.SkipDir
		case place:
			if err := s.search(name, kind); err != nil {
				return err
			}
			return fs.SkipDir
		case !IsHidden(d.Name()) && isProject(name) && clients.OwnerDir(s.w.Dir, name) == name:
			s.out.Nested = append(s.out.Nested, name)
			return fs.SkipDir
		}
		return nil
	})
}

// isProject reports whether a directory has files of Hallmark.
func isProject(dir string) bool {
	return exists(filepath.Join(dir, project.ConfigFile)) || exists(filepath.Join(dir, project.LockFile))
}

// looksIn reports what clients look for in a directory of the project. The project's own name counts for nothing.
func (s *unmanagedSearch) looksIn(name string) (facet.Kind, bool) {
	hidden, base := path.Split(s.at(name))
	return LooksIn(path.Base(hidden), base)
}

// visitLink notes a link in the place of a directory in which clients look, or of one above it.
func (s *unmanagedSearch) visitLink(name string, kind facet.Kind) {
	to, err := filepath.EvalSymlinks(name)
	if err != nil {
		return // it leads nowhere
	}
	if kind != "" {
		if info, err := os.Stat(to); err == nil && info.IsDir() {
			s.links = append(s.links, foundLink{s.at(name), to, kind, false})
		}
		return
	}
	entries, _ := os.ReadDir(to) // of a link to a file there are none
	for _, e := range entries {
		if kind, place := LooksIn(filepath.Base(name), e.Name()); place {
			s.links = append(s.links, foundLink{path.Join(s.at(name), e.Name()), filepath.Join(to, e.Name()), kind,
				false})
		}
	}
}

// judgeLinks names the links that do not lead to what was searched, for the same purpose and under the same name, or to
// what a facet has there.
func (s *unmanagedSearch) judgeLinks() {
	root, err := filepath.EvalSymlinks(s.w.PlaceDir())
	for _, l := range s.links {
		rel, outside := filepath.Rel(root, l.real)
		if err != nil || outside != nil || !filepath.IsLocal(rel) {
			s.add(Unmanaged{Path: l.at, Kind: l.kind, Link: true})
			continue
		}
		to, dir := filepath.ToSlash(rel), s.w.Place(filepath.ToSlash(rel))
		if l.isEntry {
			dir = filepath.Dir(dir)
		}
		isSeen := s.seen[dir] == l.kind && (!l.isEntry || path.Base(to) == path.Base(l.at))
		if !isSeen && (l.kind != facet.KindSkill || Reached(s.w, l.at) != to || !s.accounts(to)) {
			s.add(Unmanaged{Path: l.at, Kind: l.kind, Link: true})
		}
	}
}

// searchHome searches the directories in which clients look for what their user has.
func (s *unmanagedSearch) searchHome() error {
	dirs := map[string]facet.Kind{}
	for _, t := range All() {
		maps.Copy(dirs, placed(s.w, t).KindDirs())
	}
	return s.searchDirs(dirs)
}

// searchDirs searches directories that are named.
func (s *unmanagedSearch) searchDirs(dirs map[string]facet.Kind) error {
	for _, named := range slices.Sorted(maps.Keys(dirs)) {
		at := named
		if s.w.Home != "" {
			at = Reached(s.w, at)
		}
		if info, err := os.Lstat(s.w.Place(at)); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			s.visitLink(s.w.Place(at), dirs[named])
		} else if err := s.search(s.w.Place(at), dirs[named]); err != nil {
			return err
		}
	}
	return nil
}

// search names what is in a directory in which clients look and that no facet put there.
func (s *unmanagedSearch) search(dir string, kind facet.Kind) error {
	if s.seen[dir] != "" || s.ctx.Err() != nil {
		return s.ctx.Err()
	}
	s.seen[dir] = kind
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // nor can a client read it
	}
	for _, e := range entries {
		if s.isFull() {
			return nil
		}
		name := filepath.Join(dir, e.Name())
		at := s.at(name)
		switch who, _ := leftBySystem(name, e); {
		case kind != facet.KindSkill && e.IsDir():
			if err := s.search(name, kind); err != nil {
				return err
			}
		case s.accounts(at) || who != "" && !e.IsDir() || saysNothing(name):
		case e.Type()&fs.ModeSymlink != 0:
			if to, err := filepath.EvalSymlinks(name); err == nil {
				s.links = append(s.links, foundLink{at, to, kind, true})
			}
		default:
			s.add(Unmanaged{Path: at, Kind: kind, Adopt: s.isAdoptable(at, kind)})
		}
	}
	return nil
}

// saysNothing reports whether there is no byte in a file, or in all that is in a directory: it holds a place in version
// control, and no client can load anything of it.
func saysNothing(name string) bool {
	empty := true
	err := filepath.WalkDir(name, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil || !info.Mode().IsRegular() || info.Size() > 0 {
			empty = false
			return fs.SkipAll
		}
		return nil
	})
	return empty && err == nil
}

// isAdoptable reports whether 'hallmark adopt' takes what is at a path.
func (s *unmanagedSearch) isAdoptable(at string, kind facet.Kind) bool {
	info, err := os.Lstat(filepath.Join(s.w.Place(at), facet.SkillFile))
	return kind == facet.KindSkill && err == nil && info.Mode().IsRegular() && s.w.RefuseLink(s.w.Place(at)) == nil &&
		(slices.Contains(s.adopted, path.Dir(at)) || slices.Contains(SkillDirs(s.w, path.Base(at)), at))
}

// Evidence is the finding about u, with what leads on. Flags are those with which other commands find its project.
func (u Unmanaged) Evidence(w *workspace.Workspace, flags ...string) evidence.Evidence {
	e := unmanagedEvidence(u.Path)
	e.Place = evidence.Place{File: u.Path}
	what := map[facet.Kind]string{facet.KindSkill: "skills", facet.KindAgent: "agents",
		facet.KindCommand: "commands"}[u.Kind]
	e.Reason = "is where clients look for " + what + ", and no locked facet put it there"
	if w.Home != "" {
		flags = append(flags, "--global")
	}
	switch {
	case u.Link:
		e.Reason += "; it is a link, and what it leads to was not looked at"
		e.Fix = "remove the link, or put there what it leads to"
	case u.Adopt:
		adopt := append([]string{"hallmark", "adopt", u.Path}, flags...)
		e.Fix = "'" + host.QuoteArguments(adopt) + "' takes it under the lock; else remove it"
	case u.Kind == facet.KindSkill:
		e.Fix = "remove it, or move it to a directory that no client reads and give that to 'hallmark add --path'"
	default:
		e.Fix = "'hallmark adopt' takes skills only: remove it, or move it into a facet of your own and give that to " +
			"'hallmark add --path'"
	}
	return e
}

// Rest is the findings about what is not named.
func (u *Unaccounted) Rest() (report evidence.Report) {
	if u.More > 0 {
		e := unmanagedEvidence(fmt.Sprintf("%d more", u.More))
		e.Reason = "are where clients look for skills, agents and commands, and no locked facet put them there"
		report = append(report, e)
	}
	if u.Partial {
		e := unmanagedEvidence("the project")
		e.Reason = fmt.Sprintf("holds more than %d files; not all were looked at", clients.MaxEntries)
		report = append(report, e)
	}
	return report
}

// unmanagedEvidence is evidence that no entry of the lock is about something that clients read.
func unmanagedEvidence(at string) evidence.Evidence {
	e := evidence.Fact(evidence.Claim{
		Subject: at, Scheme: evidence.Unhashed, Authority: evidence.Lock, Where: project.LockFile,
	}, "")
	e.Rule = launcher.RuleUnlocked
	return e
}

// IsWhereClientsLook reports whether a path of a project is in a directory in which clients look for skills, agents or
// commands.
func IsWhereClientsLook(at string) bool {
	elements := strings.Split(at, "/")
	for i := 1; i < len(elements); i++ {
		if _, place := LooksIn(elements[i-1], elements[i]); place {
			return true
		}
	}
	return false
}
