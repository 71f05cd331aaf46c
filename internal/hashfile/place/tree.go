package place

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/rules"
)

// Bounds of a walk.
const (
	maxVisited   = 200_000 // files and directories that one walk looks at
	maxDepth     = 64      // directories below the first
	maxDirectory = 200_000 // entries of one directory
)

// ListEntries returns the entries of an open directory, rel from the root, in the order of their names, without those
// that its rules forbid.
func ListEntries(dir *os.Root, rel string, sets rules.Sets) ([]fs.DirEntry, error) {
	return readEntries(dir, func(name string) bool {
		_, forbidden := sets.Forbids(path.Join(rel, name))
		return !forbidden
	})
}

// readEntries returns the entries of an open directory whose names are wanted, in the order of their names.
func readEntries(dir *os.Root, wanted func(name string) bool) ([]fs.DirEntry, error) {
	d, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	var found []fs.DirEntry
	for {
		batch, err := d.ReadDir(1000)
		for _, e := range batch {
			if wanted(e.Name()) {
				found = append(found, e)
			}
		}
		if len(found) > maxDirectory {
			return nil, refusal.New(hashline.TooLarge, "a directory has more than %d entries", maxDirectory)
		}
		if err != nil { // io.EOF, or as much as there is
			break
		}
	}
	slices.SortFunc(found, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return found, nil
}

// OpenDirectory opens the directory at a place, and returns it with the rules that apply to what it holds.
func (p *Place) OpenDirectory() (*os.Root, rules.Sets, error) {
	if err := p.CheckExists(); err != nil {
		return nil, nil, err
	}
	if !p.Info.IsDir() {
		return nil, nil,
			refusal.New(hashline.Invalid, "%s is %s, not a directory%s", refusal.Show(p.Asked), Kind(p.Info.Mode()),
				readable(p.Info.Mode()))
	}
	name := p.Name
	if p.Rel == "." {
		name = "."
	}
	dir, err := OpenDir(p.Parent(), name)
	if err != nil {
		return nil, nil, refusal.Of(p.Asked, err)
	}
	return dir, append(slices.Clone(p.Rules), rules.Read(dir, p.Rel)), nil
}

// readable says how a file is read.
func readable(m fs.FileMode) string {
	if m.IsRegular() {
		return "; read_text_file reads it"
	}
	return ""
}

// Visit is called for each entry of a tree with the directory that holds the entry, its path from the root, and the
// rules of the directory. An error ends the walk, which returns it; ErrSkip only passes over what is below the entry.
type Visit func(dir *os.Root, rel string, e fs.DirEntry, sets rules.Sets) error

// ErrSkip is returned by a visit of a directory whose entries are not visited.
var ErrSkip = errors.New("skip")

// Walk visits what is below the directory at a place, in the order of names and without following links. Dir is the
// open directory and sets its rules, as OpenDirectory returns them. What the rules forbid, and what .gitignore and
// AGENTS.md ignore, is left out.
func (p *Place) Walk(ctx context.Context, dir *os.Root, sets rules.Sets, visit Visit) error {
	t := &treeWalk{ctx: ctx, visit: visit}
	return t.walkDirectory(dir, p.Rel, sets, p.gitIgnores(), 0)
}

// WalkAll is Walk without leaving anything out.
func (p *Place) WalkAll(ctx context.Context, dir *os.Root, sets rules.Sets, visit Visit) error {
	t := &treeWalk{ctx: ctx, all: true, visit: visit}
	return t.walkDirectory(dir, p.Rel, sets, nil, 0)
}

type treeWalk struct {
	ctx     context.Context
	all     bool // visit also what is forbidden or ignored
	visit   Visit
	visited int
}

// walkDirectory visits what an open directory holds. Sets are its rules, git the .gitignore files above it, and depth
// is how far it lies below the first directory.
func (t *treeWalk) walkDirectory(dir *os.Root, rel string, sets rules.Sets, git []rules.GitIgnore, depth int) error {
	if depth > maxDepth {
		return refusal.New(hashline.TooLarge, "directories are nested more than %d deep", maxDepth)
	}
	entries, err := t.list(dir, rel, sets)
	if err != nil {
		return err
	}
	if !t.all {
		git = append(slices.Clone(git), rules.ReadGitIgnore(dir, rel))
	}
	for _, e := range entries {
		if err := t.ctx.Err(); err != nil {
			return err
		}
		if t.visited++; t.visited > maxVisited {
			return refusal.New(hashline.TooLarge, "there are more than %d files; begin further down", maxVisited)
		}
		below := path.Join(rel, e.Name())
		if !t.all && (sets.Ignores(below) || rules.GitIgnored(git, below, e.IsDir()) ||
			e.IsDir() && e.Name() == ".git") {
			continue
		}
		if err := t.visit(dir, below, e, sets); err == ErrSkip {
			continue
		} else if err != nil {
			return err
		}
		if !e.IsDir() {
			continue
		}
		sub, err := OpenDir(dir, e.Name())
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			return err
		}
		err = t.walkDirectory(sub, below, append(slices.Clone(sets), rules.Read(sub, below)), git, depth+1)
		sub.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// list returns the entries of a directory that the walk may visit.
func (t *treeWalk) list(dir *os.Root, rel string, sets rules.Sets) ([]fs.DirEntry, error) {
	if t.all {
		return readEntries(dir, func(string) bool { return true })
	}
	return ListEntries(dir, rel, sets)
}

// gitIgnores returns the .gitignore files of the directories above a place.
func (p *Place) gitIgnores() (found []rules.GitIgnore) {
	if p.Rel == "." {
		return nil
	}
	rel := "."
	for i, name := range strings.Split(p.Rel, "/") {
		found = append(found, rules.ReadGitIgnore(p.chain[i], rel))
		rel = path.Join(rel, name)
	}
	return found
}
