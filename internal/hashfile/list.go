package hashfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/roots"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/rules"
)

// Bounds of listings.
const (
	maxEntries   = 10_000  // of one answer
	maxVisited   = 200_000 // files and directories that one call looks at
	maxDepth     = 64      // directories below the one that was asked for
	maxDirectory = 200_000 // entries of one directory
)

type entry struct {
	Name string `json:"name"`
	Type string `json:"type"` // file, directory, link or other
	Size *int64 `json:"size,omitempty"`
}

func entryOf(dir *os.Root, e fs.DirEntry) entry {
	out := entry{Name: e.Name(), Type: "other"}
	switch {
	case e.IsDir():
		out.Type = "directory"
	case e.Type()&fs.ModeSymlink != 0:
		out.Type = "link"
	case e.Type().IsRegular():
		out.Type = "file"
		if info, err := dir.Lstat(e.Name()); err == nil {
			size := info.Size()
			out.Size = &size
		}
	}
	return out
}

// listEntries returns the entries of an open directory in order of their names, without those that
// rules forbid unless all is set.
func listEntries(dir *os.Root, rel string, sets rules.Sets, all bool) ([]fs.DirEntry, error) {
	d, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	var found []fs.DirEntry
	for {
		batch, err := d.ReadDir(1000)
		for _, e := range batch {
			if _, forbidden := sets.Forbids(path.Join(rel, e.Name())); all || !forbidden {
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

// openDirectory opens the directory at a place, with the rules that hold inside.
func (p *place) openDirectory() (*os.Root, rules.Sets, error) {
	if err := p.checkExists(); err != nil {
		return nil, nil, err
	}
	if !p.info.IsDir() {
		return nil, nil, refusal.New(hashline.Invalid, "%s is %s, not a directory", refusal.Show(p.asked), kindOf(p.info.Mode()))
	}
	name := p.name
	if p.rel == "." {
		name = "."
	}
	dir, err := openDir(p.parent(), name)
	if err != nil {
		return nil, nil, refusal.Of(p.asked, err)
	}
	return dir, append(slices.Clone(p.rules), rules.Read(dir, p.rel)), nil
}

type pathArguments struct {
	Path string `json:"path" jsonschema:"absolute, or relative to the only allowed directory"`
}

func (s *Server) listDirectory(_ context.Context, sc *roots.Scope, in pathArguments) (*answer, error) {
	p, err := resolve(sc, in.Path)
	if err != nil {
		return nil, err
	}
	defer p.close()
	dir, sets, err := p.openDirectory()
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	all, err := listEntries(dir, p.rel, sets, false)
	if err != nil {
		return nil, refusal.Of(in.Path, err)
	}
	out := []entry{}
	var text strings.Builder
	for i, e := range all {
		if i == maxEntries {
			break
		}
		en := entryOf(dir, e)
		out = append(out, en)
		mark := map[string]string{"file": "[FILE]", "directory": "[DIR]", "link": "[LINK]", "other": "[OTHER]"}[en.Type]
		fmt.Fprintf(&text, "%s %s\n", mark, refusal.Show(en.Name))
	}
	if len(all) > len(out) {
		fmt.Fprintf(&text, "and %d more\n", len(all)-len(out))
	}
	structure := map[string]any{"entries": out, "truncated": len(all) > len(out)}
	return &answer{text: text.String(), structure: structure}, nil
}

// visit is called for each entry of a tree with its path from the root, the directory that
// holds it, and the rules there. It ends the walk with errEnough.
type visit func(dir *os.Root, rel string, e fs.DirEntry, sets rules.Sets) error

// errEnough ends a walk.
var errEnough = errors.New("enough")

// walkTree walks below the directory at a place, which is open as dir and in which rules hold, in
// order of names, without following links, and leaves out what .gitignore and AGENTS.md
// ignore.
func walkTree(ctx context.Context, p *place, dir *os.Root, sets rules.Sets, f visit) error {
	t := &treeWalk{ctx: ctx, ignore: true, visit: f}
	return t.walkDirectory(dir, p.rel, sets, p.gitIgnores(), 0)
}

type treeWalk struct {
	ctx     context.Context
	ignore  bool // leave out what is ignored
	all     bool // show what is forbidden, too
	visit   visit
	visited int
}

func (t *treeWalk) walkDirectory(dir *os.Root, rel string, sets rules.Sets, git []rules.GitIgnore, depth int) error {
	if depth > maxDepth {
		return refusal.New(hashline.TooLarge, "directories are nested more than %d deep", maxDepth)
	}
	all, err := listEntries(dir, rel, sets, t.all)
	if err != nil {
		return err
	}
	if t.ignore {
		git = append(slices.Clone(git), rules.ReadGitIgnore(dir, rel))
	}
	for _, e := range all {
		if err := t.ctx.Err(); err != nil {
			return err
		}
		if t.visited++; t.visited > maxVisited {
			return refusal.New(hashline.TooLarge, "there are more than %d files; begin further down", maxVisited)
		}
		below := path.Join(rel, e.Name())
		if t.ignore {
			if sets.Ignores(below) || rules.GitIgnored(git, below, e.IsDir()) ||
				e.IsDir() && e.Name() == ".git" {
				continue
			}
		}
		if err := t.visit(dir, below, e, sets); err != nil {
			return err
		}
		if !e.IsDir() {
			continue
		}
		sub, err := openDir(dir, e.Name())
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

func (s *Server) directoryTree(ctx context.Context, sc *roots.Scope, in pathArguments) (*answer, error) {
	p, err := resolve(sc, in.Path)
	if err != nil {
		return nil, err
	}
	defer p.close()
	dir, sets, err := p.openDirectory()
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	paths := []string{}
	err = walkTree(ctx, p, dir, sets, func(_ *os.Root, rel string, e fs.DirEntry, _ rules.Sets) error {
		if len(paths) == maxEntries {
			return errEnough
		}
		if p.rel != "." {
			rel = strings.TrimPrefix(rel, p.rel+"/")
		}
		if e.IsDir() {
			rel += "/"
		}
		paths = append(paths, rel)
		return nil
	})
	cut := errors.Is(err, errEnough)
	if err != nil && !cut {
		return nil, refusal.Of(in.Path, err)
	}
	var text strings.Builder
	for _, path := range paths {
		text.WriteString(refusal.Show(path) + "\n")
	}
	if cut {
		text.WriteString("and more\n")
	}
	return &answer{text: text.String(), structure: map[string]any{"paths": paths, "truncated": cut}}, nil
}

func (s *Server) fileInfo(_ context.Context, sc *roots.Scope, in pathArguments) (*answer, error) {
	p, err := resolve(sc, in.Path)
	if err != nil {
		return nil, err
	}
	defer p.close()
	if err := p.checkExists(); err != nil {
		return nil, err
	}
	out := struct {
		Path     string    `json:"path"` // without links
		Type     string    `json:"type"`
		Size     int64     `json:"size"` // bytes
		Modified time.Time `json:"modified"`
		Mode     string    `json:"mode"`
		ReadOnly bool      `json:"read_only"` // by AGENTS.md or --read-only
	}{
		p.real(), strings.TrimPrefix(strings.TrimPrefix(kindOf(p.info.Mode()), "a "), "symbolic "), p.info.Size(),
		p.info.ModTime().UTC(), p.info.Mode().String(), s.c.ReadOnly || p.checkWritable() != nil,
	}
	text := fmt.Sprintf("path: %s\ntype: %s\nsize: %d\nmodified: %s\nmode: %s\nread_only: %t\n",
		refusal.Show(out.Path), out.Type, out.Size, out.Modified.Format(time.RFC3339), out.Mode, out.ReadOnly)
	return &answer{text: text, structure: out}, nil
}

type noArguments struct{}

func (s *Server) listAllowedDirectories(_ context.Context, sc *roots.Scope, _ noArguments) (*answer, error) {
	dirs := sc.Directories()
	if absent := sc.Absent(); len(dirs) == 0 && len(absent) > 0 {
		return nil, absent[0].Refusal()
	}
	if len(dirs) == 0 {
		return nil, refusal.New(refusal.OutsideRoots,
			"no directory is allowed: none of the client's roots is one of this machine, or in an allowed one")
	}
	var text strings.Builder
	for _, dir := range dirs {
		text.WriteString(refusal.Show(dir) + "\n")
	}
	return &answer{text: text.String(), structure: map[string]any{"directories": dirs}}, nil
}

// gitIgnores returns the .gitignore files of the directories above a place.
func (p *place) gitIgnores() (found []rules.GitIgnore) {
	if p.rel == "." {
		return nil
	}
	rel := "."
	for i, name := range strings.Split(p.rel, "/") {
		found = append(found, rules.ReadGitIgnore(p.chain[i], rel))
		rel = path.Join(rel, name)
	}
	return found
}
