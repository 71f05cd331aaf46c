package engine

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
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
func (e *Engine) List(sc *place.Scope, path string, limit int) (*Listing, error) {
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
		return nil, place.RefusalOf(path, err)
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

// Tree is what is below a directory.
type Tree struct {
	Entries []Entry // each directory before what it holds, in the order of names
	More    bool    // there is more than that
	Passed  []Passed
}

// Walk visits at most limit entries below a directory. What rules or .gitignore ignore is passed over with all that is
// below it, and what cannot be read.
func (e *Engine) Walk(ctx context.Context, sc *place.Scope, path string, limit int) (*Tree, error) {
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
	out, passed := &Tree{}, passedOver{}
	err = p.Walk(ctx, dir, sets, func(_ *os.Root, rel string, entry fs.DirEntry, _ place.RuleSets) error {
		if len(out.Entries) == limit {
			return errEnough
		}
		out.Entries = append(out.Entries, Entry{Path: below(p, rel), Mode: entry.Type()})
		return nil
	}, func(rel string, dir bool, why string) { passed.add(below(p, rel), dir, why) })
	out.More, out.Passed = errors.Is(err, errEnough) || errors.Is(err, place.ErrTooMany), passed.all
	if err != nil && !out.More {
		return nil, place.RefusalOf(path, err)
	}
	return out, nil
}

// below returns rel, a path from the root, from a place at or above it.
func below(p *place.Place, rel string) string {
	if p.Rel == "." {
		return rel
	}
	return strings.TrimPrefix(rel, p.Rel+"/")
}
