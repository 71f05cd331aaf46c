package facets

import (
	"maps"
	"slices"

	"github.com/hallmark-mcp/hallmark/evidence"
)

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
