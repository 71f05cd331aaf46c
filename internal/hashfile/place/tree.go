package place

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/hashline"
)

// Bounds of a walk.
const (
	maxVisited   = 200_000 // files and directories that one walk looks at
	maxDepth     = 64      // directories below the first
	maxDirectory = 200_000 // entries of one directory
)

// ListEntries returns the entries of an open directory, rel from the root, in the order of their names, without those
// that its rules forbid.
func ListEntries(dir *os.Root, rel string, sets RuleSets) ([]fs.DirEntry, error) {
	t := &treeWalk{pass: func(string, bool, string) {}}
	return t.read(dir, rel, sets)
}

// OpenDirectory opens the directory at a place, and returns it with the rules that apply to what it holds.
func (p *Place) OpenDirectory() (*os.Root, RuleSets, error) {
	if err := p.CheckExists(); err != nil {
		return nil, nil, err
	}
	if !p.Info.IsDir() {
		return nil, nil,
			Refuse(hashline.Invalid, "%s is %s, not a directory%s", Show(p.Asked), Kind(p.Info.Mode()),
				readable(p.Info.Mode()))
	}
	name := p.Name
	if p.Rel == "." {
		name = "."
	}
	dir, err := OpenDir(p.Parent(), name)
	if err != nil {
		return nil, nil, RefusalOf(p.Asked, err)
	}
	return dir, p.Rules.Enter(dir, p.Rel), nil
}

// readable says how a file is read.
func readable(m fs.FileMode) string {
	if m.IsRegular() {
		return "; read_text_file reads it"
	}
	return ""
}

// Visit is called for each entry of a tree with the directory that holds the entry, its path from the root, and the
// rules of the directory. An error ends the walk, which returns it; after [fs.SkipDir] for a directory the walk goes on
// behind what is below it.
type Visit func(dir *os.Root, rel string, e fs.DirEntry, sets RuleSets) error

// Pass is called for what a walk passes over, with its path from the root, "" if that is not to be told.
type Pass func(rel string, dir bool, why string)

// ErrTooMany ends a walk that has visited as much as one may.
var ErrTooMany = Refuse(hashline.TooLarge, "there are more than %d files; begin further down", maxVisited)

// Walk visits what is below the directory at a place, in the order of names and without following links. Dir is the
// open directory and sets its rules, as OpenDirectory returns them. What the rules forbid, what .gitignore and
// AGENTS.md ignore, and what cannot be read is passed over, and pass is told; of .git it is not told.
func (p *Place) Walk(ctx context.Context, dir *os.Root, sets RuleSets, visit Visit, pass Pass) error {
	t := &treeWalk{ctx: ctx, visit: visit, pass: pass}
	return t.walk(dir, p.Rel, sets, p.gitIgnores())
}

// WalkAll is Walk without passing over anything: what it cannot visit is an error.
func (p *Place) WalkAll(ctx context.Context, dir *os.Root, sets RuleSets, visit Visit) error {
	t := &treeWalk{ctx: ctx, visit: visit}
	return t.walk(dir, p.Rel, sets, nil)
}

type treeWalk struct {
	ctx     context.Context
	visit   Visit
	pass    Pass // nil visits also what is forbidden or ignored
	visited int
}

// walk visits what is in the first directory.
func (t *treeWalk) walk(dir *os.Root, rel string, sets RuleSets, git []gitIgnore) error {
	entries, err := t.read(dir, rel, sets)
	if err != nil {
		return err
	}
	return t.visitAll(dir, rel, entries, sets, git, 0)
}

// read returns the entries of a directory that the walk may visit, in the order of their names. What can be read before
// the directory fails is not taken for all.
func (t *treeWalk) read(dir *os.Root, rel string, sets RuleSets) (found []fs.DirEntry, err error) {
	d, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	for err == nil {
		var batch []fs.DirEntry
		batch, err = d.ReadDir(1000)
		for _, e := range batch {
			if t.pass != nil {
				if _, forbidden := sets.Forbids(path.Join(rel, e.Name())); forbidden {
					t.pass("", false, "forbidden by AGENTS.md")
					continue
				}
			}
			found = append(found, e)
		}
		if len(found) > maxDirectory {
			return nil, Refuse(hashline.TooLarge, "a directory has more than %d entries", maxDirectory)
		}
	}
	if err != io.EOF {
		return nil, err
	}
	slices.SortFunc(found, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return found, nil
}

// visitAll visits the entries of an open directory and what is below them. Sets are its rules, git the .gitignore files
// above it, and depth is how far it lies below the first directory.
func (t *treeWalk) visitAll(
	dir *os.Root, rel string, entries []fs.DirEntry, sets RuleSets, git []gitIgnore, depth int,
) error {
	if t.pass != nil {
		git = append(slices.Clone(git), readGitIgnore(dir, rel))
	}
	for _, e := range entries {
		if err := t.ctx.Err(); err != nil {
			return err
		}
		if t.visited++; t.visited > maxVisited {
			return ErrTooMany
		}
		below := path.Join(rel, e.Name())
		if t.pass != nil && t.isIgnored(below, e, sets, git) {
			continue
		}
		if err := t.visit(dir, below, e, sets); err != nil && (err != fs.SkipDir || !e.IsDir()) {
			return err
		} else if err != nil || !e.IsDir() {
			continue
		}
		if err := t.descend(dir, below, sets, git, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// isIgnored reports whether an entry is passed over.
func (t *treeWalk) isIgnored(rel string, e fs.DirEntry, sets RuleSets, git []gitIgnore) bool {
	switch {
	case e.IsDir() && e.Name() == ".git":
	case sets.Ignores(rel):
		t.pass(rel, e.IsDir(), "ignored by AGENTS.md")
	case gitIgnored(git, rel, e.IsDir()):
		t.pass(rel, e.IsDir(), "ignored by .gitignore")
	default:
		return false
	}
	return true
}

// descend visits what is in the directory rel, an entry of dir. One that cannot be read is passed over.
func (t *treeWalk) descend(dir *os.Root, rel string, sets RuleSets, git []gitIgnore, depth int) error {
	sub, err := OpenDir(dir, path.Base(rel))
	if err != nil {
		return t.fail(rel, err)
	}
	defer sub.Close()
	if depth > maxDepth {
		return t.fail(rel, Refuse(hashline.TooLarge, "directories are nested more than %d deep", maxDepth))
	}
	sets = sets.Enter(sub, rel)
	entries, err := t.read(sub, rel, sets)
	if err != nil {
		return t.fail(rel, err)
	}
	return t.visitAll(sub, rel, entries, sets, git, depth)
}

// fail passes over a directory that cannot be walked, or returns why it cannot.
func (t *treeWalk) fail(rel string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist): // removed meanwhile
		return nil
	case t.pass == nil:
		return err
	}
	t.pass(rel, true, Cause(err).Error())
	return nil
}

// gitIgnores returns the .gitignore files of the directories above a place, those above its root included.
func (p *Place) gitIgnores() []gitIgnore {
	found := gitIgnoresAbove(p.Root.Path)
	if p.Rel == "." {
		return found
	}
	rel := "."
	for i, name := range strings.Split(p.Rel, "/") {
		found = append(found, readGitIgnore(p.chain[i], rel))
		rel = path.Join(rel, name)
	}
	return found
}
