package hfmcp

import (
	"context"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/engine"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/roots"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/shellglob"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/toolset"
)

type listArguments struct {
	Path string `json:"path" about:"directory to list"`
}

func (d *dialect) listDirectory(_ context.Context, sc *roots.Scope, in listArguments) (*toolset.Answer, error) {
	found, err := d.engine.List(sc, in.Path, math.MaxInt, false)
	if err != nil {
		return nil, err
	}
	var text strings.Builder
	for _, entry := range found.Entries {
		mark := "[FILE] "
		if entry.Mode.IsDir() {
			mark = "[DIR] "
		}
		text.WriteString(mark + refusal.Show(entry.Path) + "\n")
	}
	return &toolset.Answer{Text: text.String()}, nil
}

type treeArguments struct {
	Path            string   `json:"path" about:"directory to draw"`
	ExcludePatterns []string `json:"exclude_patterns,omitempty" about:"globs of paths, or names, to leave out"`
}

// Bounds of a tree.
const (
	maxWalked   = 200_000 // entries
	maxPatterns = 100
)

func (d *dialect) directoryTree(ctx context.Context, sc *roots.Scope, in treeArguments) (*toolset.Answer, error) {
	base, err := d.engine.Stat(sc, in.Path)
	if err != nil {
		return nil, err
	}
	leave, err := parseExcludes(base.Path, in.ExcludePatterns)
	if err != nil {
		return nil, err
	}
	found, more, err := d.engine.Walk(ctx, sc, in.Path, maxWalked, leave)
	if err != nil {
		return nil, err
	}
	if more {
		return nil, refusal.New(hashline.TooLarge, "%s holds more than %d files; ask for a directory further down, or "+
			"leave some out with exclude_patterns", refusal.Show(in.Path), maxWalked)
	}
	inside := map[string][]engine.Entry{}
	for _, entry := range found {
		dir := path.Dir(entry.Path)
		inside[dir] = append(inside[dir], entry)
	}
	var text strings.Builder
	text.WriteString(refusal.Show(filepath.Base(base.Path)) + "/\n")
	drawTree(&text, inside, ".", "")
	return &toolset.Answer{Text: text.String()}, nil
}

// drawTree draws what is in a directory, each line behind a prefix.
func drawTree(text *strings.Builder, inside map[string][]engine.Entry, dir, prefix string) {
	entries := inside[dir]
	for i, entry := range entries {
		branch, below := "├── ", "│   "
		if i == len(entries)-1 {
			branch, below = "└── ", "    "
		}
		text.WriteString(prefix + branch + refusal.Show(path.Base(entry.Path)))
		if entry.Mode.IsDir() {
			text.WriteByte('/')
		}
		text.WriteByte('\n')
		drawTree(text, inside, entry.Path, prefix+below)
	}
}

// parseExcludes returns what leaves out the entries of which the whole path, the path from base or the name matches one
// of the patterns.
func parseExcludes(base string, patterns []string) (engine.Leave, error) {
	if len(patterns) > maxPatterns {
		return nil, refusal.New(hashline.Invalid, "there are more than %d patterns", maxPatterns)
	}
	var globs []*shellglob.Glob
	for _, pattern := range patterns {
		glob, err := shellglob.Parse(pattern, shellglob.Globset)
		if err != nil {
			return nil, refusal.New(hashline.Invalid, "the pattern %s %s", refusal.Show(pattern), err.Error())
		}
		globs = append(globs, glob)
	}
	return func(rel string, _ bool) bool {
		whole := path.Join(filepath.ToSlash(base), rel)
		return slices.ContainsFunc(globs, func(g *shellglob.Glob) bool {
			return g.Matches(whole) || g.Matches(rel) || g.Matches(path.Base(rel))
		})
	}, nil
}
