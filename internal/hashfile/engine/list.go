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
	Mode fs.FileMode // its kind; permissions only with Info
	Info fs.FileInfo // nil unless it was asked for, or if the entry vanished meanwhile
}

// Listing is what a directory holds, by name.
type Listing struct {
	Entries []Entry
	More    int // entries that were left out
}

// List returns at most limit entries of a directory, with their Info if withInfo is set.
func (e *Engine) List(sc *roots.Scope, path string, limit int, withInfo bool) (*Listing, error) {
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
		entry := Entry{Path: found.Name(), Mode: found.Type()}
		if withInfo {
			if info, err := dir.Lstat(found.Name()); err == nil {
				entry.Mode, entry.Info = info.Mode(), info
			}
		}
		out.Entries = append(out.Entries, entry)
	}
	return out, nil
}

// errEnough ends a walk when the answer is full.
var errEnough = errors.New("enough")

// Leave says, of an entry of a walk by its path from the directory that was asked for, that it is left out.
type Leave func(rel string, dir bool) bool

// Walk visits at most limit entries below a directory, each directory before what it holds, in the order of names.
// What rules or .gitignore ignore and what leave leaves out, if that is not nil, is passed over with all that is below
// it. More reports that there is more than that.
func (e *Engine) Walk(
	ctx context.Context, sc *roots.Scope, path string, limit int, leave Leave,
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
		rel = below(p, rel)
		if leave != nil && leave(rel, entry.IsDir()) {
			return place.ErrSkip
		}
		if len(found) == limit {
			return errEnough
		}
		found = append(found, Entry{Path: rel, Mode: entry.Type()})
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
