package check

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// ChangeKind says what became of something.
type ChangeKind string

// The kinds.
const (
	WasAdded   ChangeKind = "added"
	WasRemoved ChangeKind = "removed"
	WasChanged ChangeKind = "changed"
)

// changeKindOf is the kind of what was, or was not, there before and now.
func changeKindOf(before, now bool) ChangeKind {
	switch {
	case !before:
		return WasAdded
	case !now:
		return WasRemoved
	}
	return WasChanged
}

// FieldChange is one thing that differs; a side that has none of it is "".
type FieldChange struct {
	What string `json:"what"`
	Old  string `json:"old,omitempty"`
	New  string `json:"new,omitempty"`
}

// MemberChange is a member of a longer list that differs: a dependency by its versions, a file of a facet by its
// digests.
type MemberChange struct {
	Name   string     `json:"name"`
	Change ChangeKind `json:"change"`
	Old    string     `json:"old,omitempty"`
	New    string     `json:"new,omitempty"`
	Note   string     `json:"note,omitempty"`
}

// ServerChange is a server that differs. Of one that was removed only the name and the kind are said.
type ServerChange struct {
	Name         string              `json:"name"`
	Change       ChangeKind          `json:"change"`
	Fields       []FieldChange       `json:"fields"`
	Weaker       []project.Weakening `json:"weaker,omitempty"`
	Dependencies []MemberChange      `json:"dependencies,omitempty"`
	Surface      []surface.Change    `json:"surface,omitempty"`
	Warnings     []surface.Warning   `json:"warnings,omitempty"` // about what of the surface differs
	Notes        []string            `json:"notes,omitempty"`
}

// FacetChange is a facet that differs.
type FacetChange struct {
	Name   string         `json:"name"`
	Change ChangeKind     `json:"change"`
	Fields []FieldChange  `json:"fields"`
	Assets []MemberChange `json:"assets,omitempty"`
}

// Changes are what differs between a commit and the files of a project.
type Changes struct {
	Commit   string         // that the revision names
	Servers  []ServerChange // by name, as Facets
	Facets   []FacetChange
	Settings []FieldChange // of hallmark.toml, that are about no server or facet
	Notes    []string      // about files
}

// Count is the number of things that differ.
func (c *Changes) Count() int { return len(c.Servers) + len(c.Facets) + len(c.Settings) + len(c.Notes) }

// CompareCommit says what differs in the project in dir between the commit that a revision names and the files that are
// there now: in hallmark.toml, hallmark.lock and the files beside it. Where hallmark.toml is gone, all that the commit
// has was removed; it is an error if the commit has none either.
//
// It is for anyone who reads a change, and judges nothing. So no member of a file is left out because nobody thought of
// it here: what has no word of its own is named by its key. What a commit has is read through git, with the limits of
// the files, and is not trusted. Values are as they were read: who prints them escapes them.
func CompareCommit(ctx context.Context, h *host.Host, dir, revision string) (*Changes, error) {
	w, done, missing := workspace.Open(ctx, h, dir, false)
	if missing != nil {
		var err error
		if w, err = openWithoutConfig(ctx, h, dir); err != nil || w == nil {
			return nil, missing
		}
		done = func() {}
	}
	defer done()
	now, err := readWorkingTree(w)
	if err == nil && missing != nil {
		err = now.parse()
	}
	if err != nil {
		return nil, err
	}
	commit, err := w.WorkTree().Commit(ctx, revision)
	if err != nil {
		return nil, err
	}
	before, err := readCommit(ctx, w, revision, commit)
	if err != nil {
		return nil, err
	}
	if missing != nil && before.text[project.ConfigFile] == nil {
		return nil, missing
	}
	c := &Changes{Commit: commit}
	if err := c.compareServers(before, now); err != nil {
		return nil, err
	}
	c.compareFacets(before, now)
	c.Settings = fieldChangesOf(before.settings(), now.settings(), nil)
	return c, c.compareFiles(before, now)
}

// openWithoutConfig returns the project of a directory that has no hallmark.toml, and nil if it has one, or no commit.
// Nothing is locked, so that no state is begun for any directory in which somebody asks.
func openWithoutConfig(ctx context.Context, h *host.Host, dir string) (*workspace.Workspace, error) {
	w, err := workspace.Peek(h, dir)
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(w.Path(project.ConfigFile)); !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	_, err = w.WorkTree().Commit(ctx, "HEAD")
	return workspace.Empty(w.Host, w.Dir), err
}

// compareFiles notes which of the two files is gone, and what differs in files without a difference of what they say.
func (c *Changes) compareFiles(before, now *comparedSide) error {
	for _, file := range []string{project.ConfigFile, project.LockFile} {
		if before.text[file] != nil && now.text[file] == nil {
			c.Notes = append(c.Notes, file+" is removed")
		}
	}
	if c.Count() == 0 {
		for _, file := range []string{project.ConfigFile, project.LockFile} {
			if old, new := before.text[file], now.text[file]; !bytes.Equal(unixLines(old), unixLines(new)) {
				c.Notes = append(c.Notes, file+" is written in another way, and says the same: comments, order, spaces")
			}
		}
	}
	for _, file := range inEither(before, now, func(s *comparedSide) []string { return s.files }) {
		if now.owes(file) {
			continue // was compared with its server
		}
		old, err := before.read(file, workspace.MaxSurface)
		if err != nil {
			return err
		}
		new, err := now.read(file, workspace.MaxSurface)
		if err != nil {
			return err
		}
		switch owed := before.owes(file); {
		case owed && new == nil, !owed && bytes.Equal(unixLines(old), unixLines(new)):
		case owed:
			c.Notes = append(c.Notes, surface.Escape(file)+" is still there, and its server is not locked any more")
		default:
			c.Notes = append(c.Notes, fmt.Sprintf("%s is %s, and belongs to no server of %s", surface.Escape(file),
				changeKindOf(old != nil, new != nil), project.LockFile))
		}
	}
	return nil
}

// unixLines is a text as git stores it: a checkout on Windows may have it with other line ends.
func unixLines(text []byte) []byte { return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")) }

// comparedSide is a project as it is in one place.
type comparedSide struct {
	where string // as a person is told
	*workspace.Workspace
	text  map[string][]byte                            // of hallmark.toml and hallmark.lock; nil if there is none
	files []string                                     // in the directories beside the lock
	read  func(at string, limit int64) ([]byte, error) // a file, relative to the project; nil if there is none
	tree  map[string]any                               // hallmark.toml
}

// inEither returns the names that one of two sides has, or both, sorted.
func inEither(before, now *comparedSide, namesOf func(*comparedSide) []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(namesOf(before), namesOf(now)))))
}

// besideLock are the directories beside the lock.
var besideLock = []string{project.SurfacesDir, project.ClosuresDir}

func readWorkingTree(w *workspace.Workspace) (*comparedSide, error) {
	s := &comparedSide{where: "the working tree", Workspace: w, text: map[string][]byte{}}
	s.read = func(at string, limit int64) ([]byte, error) { return w.ReadFile(w.Path(at), limit) }
	for _, dir := range besideLock {
		if err := w.RefuseLink(w.Path(dir)); err != nil {
			return nil, err
		}
		err := fs.WalkDir(os.DirFS(w.Dir), dir, func(at string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				s.files = append(s.files, at)
			}
			return err
		})
		if err != nil && !os.IsNotExist(err) {
			return nil, err
		}
	}
	if err := s.readTexts(); err != nil {
		return nil, err
	}
	var err error
	s.tree, err = configTables(orEmpty(s.text[project.ConfigFile]))
	return s, err
}

func readCommit(ctx context.Context, w *workspace.Workspace, revision, commit string) (*comparedSide, error) {
	tree := w.WorkTree()
	versions, err := tree.At(ctx, commit, append([]string{project.ConfigFile, project.LockFile}, besideLock...)...)
	if err != nil {
		return nil, err
	}
	s := &comparedSide{where: surface.Escape(revision), Workspace: workspace.Empty(w.Host, w.Dir),
		text: map[string][]byte{}}
	s.read = func(at string, limit int64) ([]byte, error) {
		v, ok := versions[at]
		if !ok {
			return nil, nil
		}
		data, err := tree.ReadAtMost(ctx, v, int(limit))
		if err == nil && data == nil {
			data = []byte{} // there is a file, and it is empty
		}
		return data, err
	}
	for at := range versions {
		if path.Dir(at) != "." {
			s.files = append(s.files, at)
		}
	}
	return s, s.explain(s.parse())
}

// readTexts reads hallmark.toml and hallmark.lock.
func (s *comparedSide) readTexts() (err error) {
	if s.text[project.ConfigFile], err = s.read(project.ConfigFile, project.MaxConfig); err == nil {
		s.text[project.LockFile], err = s.read(project.LockFile, project.MaxLock)
	}
	return err
}

// parse reads hallmark.toml and hallmark.lock as values.
func (s *comparedSide) parse() (err error) {
	if err := s.readTexts(); err != nil {
		return err
	}
	config := orEmpty(s.text[project.ConfigFile])
	if s.Config, err = project.ParseConfig(config); err != nil {
		return err
	}
	if lock := s.text[project.LockFile]; lock != nil {
		if s.Lock, err = project.ParseLock(lock); err != nil {
			return err
		}
	}
	s.tree, err = configTables(config)
	return err
}

func orEmpty(config []byte) []byte {
	if config == nil {
		return []byte(project.EmptyConfig)
	}
	return config
}

// explain says in which place a file is wrong, and what leads on: a commit cannot be mended.
func (s *comparedSide) explain(err error) error {
	var problem *evidence.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &problem):
		named := *problem
		named.Subject = s.where + ": " + named.Subject
		named.Hint = cmp.Or(named.Hint, "name a commit whose hallmark.toml and hallmark.lock can be read")
		return &named
	}
	return fmt.Errorf("%s: %w", s.where, err)
}

// owes reports whether a file beside the lock is one of a server that is locked.
func (s *comparedSide) owes(file string) bool {
	name := strings.TrimSuffix(path.Base(file), ".json")
	entry, ok := s.Lock.Server(name)
	return ok && (file == project.SurfaceFile(name) || file == project.ClosureSubject(name) && entry.Closure != nil)
}
