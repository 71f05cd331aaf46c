package facets

import (
	"maps"
	"slices"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/internal/installed"
	"github.com/hallmark-mcp/hallmark/internal/machine"
	"github.com/hallmark-mcp/hallmark/project"
)

// changes compares what was gathered with the lock as it was. What runs comes from what is locked otherwise than
// before, and for clients that did not have it here.
func (a *Assembly) changes() (all []Change, err error) {
	w := a.Workspace
	known, err := a.readReceipt()
	if err != nil {
		return nil, err
	}
	targets := installed.Adapters(w)
	names := slices.Concat(slices.Collect(maps.Keys(a.Pieces)), w.Lock.Facets())
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		c := a.compareLocked(name)
		x, wanted := a.Pieces[name]
		here, wasHere := known.Receipt.Facets[name]
		_, accepted := w.Approvals.Facets[name]
		more := newTargets(here, targets)
		switch {
		case !wanted:
		case c.Outcome == "installed" || c.Outcome == "updated":
			c.Notes = x.Notes
			if c.Runs, err = x.runs(c.Before, targets); c.Before == nil && x.Entry.Source.Wrapped != 0 {
				c.Parts, c.Size = x.parts(), x.Slot.Size
			}
		case len(more) > 0 && (wasHere || accepted) && c.Before != nil:
			if c.Runs, err = x.runs(c.Before, more); err == nil {
				// as for the others
				c.Runs = slices.DeleteFunc(c.Runs, func(r facet.Run) bool { return !r.Kind.IsLive() })
				c.MoreTargets = len(c.Runs) > 0
			}
		}
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// compareLocked compares what was gathered of one facet with its lock entry.
func (a *Assembly) compareLocked(name string) Change {
	c := Change{Name: name, Outcome: "removed"}
	if before, ok := a.Workspace.Lock.Facet(name); ok {
		c.Before = &before
	}
	if x, ok := a.Pieces[name]; ok {
		after := x.Entry
		c.After, c.By = &after, x.by
		switch {
		case c.Before == nil:
			c.Outcome = "installed"
		case c.Before.Version != after.Version || !sameSource(c.Before.Source, after.Source) ||
			!evidence.Same(c.Before.Integrity, after.Integrity):
			c.Outcome = "updated"
		case x.Repaired:
			c.Outcome = "repaired"
		default:
			c.Outcome = "unchanged"
		}
	}
	c.Assets = assetChanges(c.Before, c.After)
	return c
}

// newTargets are the targets for which a facet that is installed here was not installed yet.
func newTargets(here machine.ReceiptOfFacet, targets []installed.Target) (more []installed.Target) {
	for _, t := range targets {
		has := func(a machine.ReceiptAsset) bool { return a.Target == t.Name }
		if !slices.ContainsFunc(here.Assets, has) {
			more = append(more, t)
		}
	}
	return more
}

// parts are the deliverables of a facet that are wanted, as they are called where they are installed.
func (x *piece) parts() (parts []string) {
	for _, d := range installed.Placed(x.Manifest, x.want) {
		if x.selection.Has(d) {
			parts = append(parts, string(d.Kind)+" "+d.Name)
		}
	}
	return parts
}

// partsOf are the deliverables and servers of a facet, as "skill NAME".
func partsOf(m *facet.Manifest) (parts []string) {
	for _, d := range m.Deliverables() {
		parts = append(parts, string(d.Kind)+" "+d.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Servers)) {
		parts = append(parts, "server "+name)
	}
	return parts
}

// sameSource reports whether two sources are one, or differ in nothing but the commit of a branch: with the same
// contents that is a change elsewhere in the repository. The rule of wrapping is none of the source. A tag is a
// promise, and never moves without a word.
func sameSource(a, b project.SourceLock) bool {
	if a.Tag == "" {
		b.Commit = a.Commit
	}
	if a.Wrapped != 0 && b.Wrapped != 0 {
		b.Wrapped = a.Wrapped // by another rule, with the same result
	}
	return a == b
}
