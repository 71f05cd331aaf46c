package engine

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/roots"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/rules"
)

// Entry is one of a directory, or of what is below it.
type Entry struct {
	Path string      // from the directory that was listed, with slashes
	Mode fs.FileMode // its kind, without permissions
}

// Listing is what a directory holds, by name.
type Listing struct {
	Entries []Entry
	More    int // entries that were left out
}

// List returns at most limit entries of a directory.
func (e *Engine) List(sc *roots.Scope, path string, limit int) (*Listing, error) {
	p, err := place.Resolve(sc, path)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	dir, sets, err := p.OpenDirectory()
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	all, err := place.ListEntries(dir, p.Rel, sets)
	if err != nil {
		return nil, refusal.Of(path, err)
	}
	out := &Listing{}
	for i, found := range all {
		if i == limit {
			out.More = len(all) - limit
			break
		}
		out.Entries = append(out.Entries, Entry{Path: found.Name(), Mode: found.Type()})
	}
	return out, nil
}

// errEnough ends a walk when the answer is full.
var errEnough = errors.New("enough")

// Walk visits at most limit entries below a directory, each directory before what it holds, in the order of names.
// What rules or .gitignore ignore is passed over with all that is below it. More reports that there is more than that.
func (e *Engine) Walk(
	ctx context.Context, sc *roots.Scope, path string, limit int,
) (found []Entry, more bool, err error) {
	p, err := place.Resolve(sc, path)
	if err != nil {
		return nil, false, err
	}
	defer p.Close()
	dir, sets, err := p.OpenDirectory()
	if err != nil {
		return nil, false, err
	}
	defer dir.Close()
	err = p.Walk(ctx, dir, sets, func(_ *os.Root, rel string, entry fs.DirEntry, _ rules.Sets) error {
		if len(found) == limit {
			return errEnough
		}
		found = append(found, Entry{Path: below(p, rel), Mode: entry.Type()})
		return nil
	})
	if more = errors.Is(err, errEnough); more || err == nil {
		return found, more, nil
	}
	return nil, false, refusal.Of(path, err)
}

// below returns rel, a path from the root, from a place at or above it.
func below(p *place.Place, rel string) string {
	if p.Rel == "." {
		return rel
	}
	return strings.TrimPrefix(rel, p.Rel+"/")
}
