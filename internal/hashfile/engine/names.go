package engine

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/roots"
)

// FoundNames are the files that a search by name found, by their real paths.
type FoundNames struct {
	Entries []Entry
	Cut     bool // there may be more
}

// maxWalked is how many entries a search by name looks at.
const maxWalked = 200_000

// FindNames searches for files, not directories, by the glob in.Only alone.
func (e *Engine) FindNames(ctx context.Context, sc *roots.Scope, in SearchRequest) (*FoundNames, error) {
	ctx, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	out := &FoundNames{}
	for _, path := range searchPaths(sc, in.Path) {
		base, err := e.Stat(sc, path)
		if err != nil {
			return nil, err
		}
		found, more, err := e.Walk(ctx, sc, path, maxWalked)
		if errors.Is(err, context.DeadlineExceeded) {
			out.Cut = true
			break
		}
		if err != nil {
			return nil, refusal.Of(in.Path, err)
		}
		out.Cut = out.Cut || more
		for _, entry := range found {
			if entry.Mode.IsDir() || !in.Only.Matches(entry.Path, false) {
				continue
			}
			if len(out.Entries) == in.Limit {
				out.Cut = true
				return out, nil
			}
			entry.Path = filepath.Join(base.Path, filepath.FromSlash(entry.Path))
			out.Entries = append(out.Entries, entry)
		}
	}
	return out, nil
}

// searchPaths returns the paths that are searched for one that a caller gave: that one or, if it is "", the allowed
// directories but for those that lie in another one.
func searchPaths(sc *roots.Scope, path string) []string {
	if path != "" {
		return []string{path}
	}
	all := sc.Directories()
	return slices.DeleteFunc(slices.Clone(all), func(dir string) bool {
		return slices.ContainsFunc(all, func(other string) bool {
			_, ok := roots.CutDir(other, dir)
			return ok && other != dir
		})
	})
}
