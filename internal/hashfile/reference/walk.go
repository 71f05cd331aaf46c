package reference

import (
	"bytes"
	"context"
	"encoding/json"
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

// Bounds of a walk.
const (
	maxWalked   = 200_000 // entries
	maxPatterns = 100
)

type treeArguments struct {
	Path            string   `json:"path"`
	ExcludePatterns []string `json:"excludePatterns,omitempty" about:"globs of paths to leave out"`
}

// node is an entry of a tree. Children is nil of what is no directory.
type node struct {
	Name     string   `json:"name"`
	Type     string   `json:"type"`
	Children *[]*node `json:"children,omitempty"`
}

func (d *dialect) directoryTree(ctx context.Context, sc *roots.Scope, in treeArguments) (*toolset.Answer, error) {
	var patterns []string
	for _, pattern := range in.ExcludePatterns {
		patterns = append(patterns, pattern)
		if !strings.Contains(pattern, "*") { // a name is one at any depth
			patterns = append(patterns, "**/"+pattern, "**/"+pattern+"/**")
		}
	}
	leave, err := parseExcludes(patterns)
	if err != nil {
		return nil, err
	}
	found, err := d.walk(ctx, sc, in.Path, leave)
	if err != nil {
		return nil, err
	}
	top := []*node{}
	inside := map[string]*[]*node{".": &top}
	for _, entry := range found {
		n := &node{Name: refusal.Show(path.Base(entry.Path)), Type: "file"}
		if entry.Mode.IsDir() {
			n.Type, n.Children = "directory", &[]*node{}
			inside[entry.Path] = n.Children
		}
		all := inside[path.Dir(entry.Path)]
		*all = append(*all, n)
	}
	var text bytes.Buffer
	out := json.NewEncoder(&text)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	if err := out.Encode(top); err != nil {
		return nil, err
	}
	return answer(strings.TrimSuffix(text.String(), "\n")), nil
}

type searchArguments struct {
	Path            string   `json:"path"`
	Pattern         string   `json:"pattern"`
	ExcludePatterns []string `json:"excludePatterns,omitempty" about:"globs of paths to leave out"`
}

func (d *dialect) searchFiles(ctx context.Context, sc *roots.Scope, in searchArguments) (*toolset.Answer, error) {
	wanted, err := parseGlob(in.Pattern)
	if err != nil {
		return nil, err
	}
	leave, err := parseExcludes(in.ExcludePatterns)
	if err != nil {
		return nil, err
	}
	base, err := d.engine.Stat(sc, in.Path)
	if err != nil {
		return nil, err
	}
	found, err := d.walk(ctx, sc, in.Path, leave)
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, entry := range found {
		if wanted.Matches(entry.Path) {
			lines = append(lines, refusal.Show(filepath.Join(base.Path, filepath.FromSlash(entry.Path))))
		}
	}
	if len(lines) == 0 {
		return answer("No matches found"), nil
	}
	return answer(strings.Join(lines, "\n")), nil
}

// walk returns all that is below a directory but for what is left out.
func (d *dialect) walk(
	ctx context.Context, sc *roots.Scope, path string, leave engine.Leave,
) ([]engine.Entry, error) {
	found, more, err := d.engine.Walk(ctx, sc, path, maxWalked, leave)
	if err != nil {
		return nil, err
	}
	if more {
		return nil, refusal.New(hashline.TooLarge, "%s holds more than %d files; ask for a directory further down, or "+
			"leave some out with excludePatterns", refusal.Show(path), maxWalked)
	}
	return found, nil
}

// parseExcludes returns what leaves out the paths that one of the patterns matches.
func parseExcludes(patterns []string) (engine.Leave, error) {
	if len(patterns) > 3*maxPatterns {
		return nil, refusal.New(hashline.Invalid, "there are more than %d patterns", maxPatterns)
	}
	var globs []*shellglob.Glob
	for _, pattern := range patterns {
		glob, err := parseGlob(pattern)
		if err != nil {
			return nil, err
		}
		globs = append(globs, glob)
	}
	return func(rel string, _ bool) bool {
		return slices.ContainsFunc(globs, func(g *shellglob.Glob) bool { return g.Matches(rel) })
	}, nil
}

func parseGlob(pattern string) (*shellglob.Glob, error) {
	glob, err := shellglob.Parse(pattern, shellglob.Minimatch)
	if err != nil {
		return nil, refusal.New(hashline.Invalid, "the pattern %s %s", refusal.Show(pattern), err.Error())
	}
	return glob, nil
}
