package facets

import (
	"maps"
	"slices"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/project"
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
	// BeforeUnknown says that the store does not have the former contents, so that all of a member's
	// text counts as new. Like the text itself it is known of changes that somebody is to consent to.
	BeforeUnknown bool
	Runs          []facet.Run  // of what was wrapped and is locked now: what runs once it is installed
	MoreTargets   bool         // it is for clients that did not have the facet here, and nothing else of it changes
	Notes         []facet.Note // of what was wrapped now: what is not installed
	Parts         []string     // of what was wrapped and was not locked: what it delivers, as "skill NAME"
	Size          int64        // of its files, in bytes; 0 where Parts is empty
	// Placed are the files that clients get of a skill that is adopted, where they are not as they lie there; paths are
	// relative to the directory of the clients' files.
	Placed []AssetChange
}

// AssetChange is one member of a facet that differs.
type AssetChange struct {
	Path   string
	Before digest.Digest // zero if it is new
	After  digest.Digest // zero if it is gone
	Diff   string        // of its text, unified, not escaped; of a change that needs consent
	Unread string        // why the text is not compared, or not with the former one; else ""
}

// differs reports whether a facet is locked otherwise than before, or no more.
func (c Change) differs() bool { return c.Outcome != "unchanged" && c.Outcome != "repaired" }

// changesRuns reports whether a member of which something runs is new, or differs from the one that was
// locked.
func (c Change) changesRuns() bool {
	return c.MoreTargets || slices.ContainsFunc(c.Runs, func(r facet.Run) bool {
		return slices.ContainsFunc(c.Assets, func(x AssetChange) bool { return x.Path == r.Path })
	})
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
			out = append(out, AssetChange{Path: path, Before: o, After: n})
		}
	}
	return out
}
