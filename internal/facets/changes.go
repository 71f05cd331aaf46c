package facets

import (
	"maps"
	"slices"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/wrap"
)

// Change is one facet before and after. Its outcome is "installed", "updated",
// "repaired" (the store's copy was bad, and fetched again), "unchanged" or "removed".
type Change struct {
	Name    string
	Outcome string
	By      []string // the facets that bring it along
	Before  *project.FacetLock
	After   *project.FacetLock
	Assets  []AssetChange
	Runs    []wrap.Run  // of what was wrapped and is locked now: what runs once it is installed
	Notes   []wrap.Note // of what was wrapped now: what is not installed
}

// AssetChange is one member of a facet that differs.
type AssetChange struct {
	Path   string
	Before digest.Digest // zero if it is new
	After  digest.Digest // zero if it is gone
}

// changes compares what was gathered with the lock as it was.
func (a *Assembly) changes() (all []Change, err error) {
	w := a.Workspace
	names := slices.Concat(slices.Collect(maps.Keys(a.Pieces)), w.Lock.Facets())
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		c := Change{Name: name, Outcome: "removed"}
		if before, ok := w.Lock.Facet(name); ok {
			c.Before = &before
		}
		if x, ok := a.Pieces[name]; ok {
			after := x.Entry
			c.After, c.By = &after, x.by
			switch {
			case c.Before == nil:
				c.Outcome = "installed"
			case c.Before.Version != after.Version || c.Before.Source != after.Source ||
				!evidence.Same(c.Before.Integrity, after.Integrity):
				c.Outcome = "updated"
			case x.Repaired:
				c.Outcome = "repaired"
			default:
				c.Outcome = "unchanged"
			}
		}
		c.Assets = assetChanges(c.Before, c.After)
		if c.Outcome == "installed" || c.Outcome == "updated" {
			if c.Runs, c.Notes, err = a.Pieces[name].runs(); err != nil {
				return nil, err
			}
		}
		all = append(all, c)
	}
	return all, nil
}

// assetChanges are the members that differ between two entries of a facet, either of which may be nil.
func assetChanges(before, after *project.FacetLock) (out []AssetChange) {
	var old, new map[string]digest.Digest
	if before != nil {
		old = before.Assets
	}
	if after != nil {
		new = after.Assets
	}
	paths := slices.Concat(slices.Collect(maps.Keys(old)), slices.Collect(maps.Keys(new)))
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		if o, n := old[path], new[path]; o.IsZero() || n.IsZero() || !evidence.Same(o, n) {
			out = append(out, AssetChange{path, o, n})
		}
	}
	return out
}
