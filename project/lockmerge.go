package project

import (
	"bytes"
	"maps"
	"slices"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/machine"
)

// Side is whose entry is taken where two branches changed one.
type Side string

// The two sides, called as git calls them.
const (
	Ours   Side = "ours"
	Theirs Side = "theirs"
)

// MergeLocks returns the lock with what both branches changed since base, their common ancestor, and the names of the
// servers and facets in conflict: those that both changed in another way, of which the lock has the entry of ours, or
// that of the side that take names. An entry is never mixed of two: what nobody ever saw start is nothing that anybody
// accepted. Only trees for other platforms and a newer proof, which say nothing of what is started, are united.
func MergeLocks(base, ours, theirs *Lock, take map[string]Side) (merged *Lock, conflicts []string) {
	servers, one := mergeEntries(base.servers, ours.servers, theirs.servers, take, ServerLock.unite)
	facets, two := mergeEntries(base.facets, ours.facets, theirs.facets, take, FacetLock.unite)
	conflicts = slices.Concat(one, two)
	slices.Sort(conflicts)
	return &Lock{servers: servers, facets: facets}, slices.Compact(conflicts)
}

// mergeEntries merges the entries of one kind. For two of them unite says whether they are alike in all that a person
// approves, and whether both then fit into one, which it returns.
func mergeEntries[E any](base, ours, theirs map[string]E, take map[string]Side,
	unite func(one, other E) (united E, alike, ok bool)) (merged map[string]E, conflicts []string) {
	merged = map[string]E{}
	names := map[string]E{}
	maps.Copy(names, ours)
	maps.Copy(names, theirs)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		b, o, t := entryOf(base, name), entryOf(ours, name), entryOf(theirs, name)
		result := o
		switch {
		case sameEntry(o, t):
		case sameEntry(b, t):
			result = addAlike(o, t, unite)
		case sameEntry(b, o):
			result = addAlike(t, o, unite)
		default:
			united, ok := uniteChanges(b, o, t, unite)
			if ok {
				result = united
				break
			}
			if take[name] == "" {
				conflicts = append(conflicts, name)
			}
			if take[name] == Theirs {
				result = t
			}
		}
		if result != nil {
			merged[name] = *result
		}
	}
	return merged, conflicts
}

// addAlike returns the entry of the side that changed it, with what the other has of an entry that is alike: anyone who
// takes out a proof, or a tree, changes nothing that is started, and it is not missed in silence.
func addAlike[E any](changed, other *E, unite func(one, other E) (united E, alike, ok bool)) *E {
	if changed == nil || other == nil {
		return changed
	}
	if united, _, ok := unite(*changed, *other); ok {
		return &united
	}
	return changed
}

// uniteChanges returns the entry that both sides changed, if one of them changed no more than what can be united.
func uniteChanges[E any](b, o, t *E, unite func(one, other E) (united E, alike, ok bool)) (*E, bool) {
	if o == nil || t == nil {
		return nil, false
	}
	if united, alike, ok := unite(*o, *t); alike || b == nil {
		return &united, ok
	}
	if _, alike, _ := unite(*o, *b); alike {
		return t, true
	}
	_, alike, _ := unite(*t, *b)
	return o, alike
}

func entryOf[E any](entries map[string]E, name string) *E {
	e, ok := entries[name]
	if !ok {
		return nil
	}
	return &e
}

// sameEntry reports whether two entries are written alike, or neither exists.
func sameEntry[E any](a, b *E) bool {
	if a == nil || b == nil {
		return a == b
	}
	one, err := machine.Marshal(a)
	other, err2 := machine.Marshal(b)
	return err == nil && err2 == nil && bytes.Equal(one, other)
}

// unite returns s with the trees that o has for other platforms, if a person who approved the one approved the other,
// and no platform has two trees.
func (s ServerLock) unite(o ServerLock) (united ServerLock, alike, ok bool) {
	if !evidence.Same(s.Approvable(), o.Approvable()) {
		return s, false, false
	}
	if s.Record != nil && s.Record.Proof == "" {
		s.Record = o.Record
	}
	if s.Closure == nil {
		return s, true, true
	}
	closure := *s.Closure
	closure.Trees = maps.Clone(closure.Trees)
	for platform, tree := range o.Closure.Trees {
		if mine := closure.Trees[platform]; !mine.IsZero() && !evidence.Same(mine, tree) {
			return s, true, false
		}
		closure.Trees[platform] = tree
	}
	s.Closure = &closure
	return s, true, true
}

// unite returns f, with the proof that o has if f has none, if they are the same otherwise.
func (f FacetLock) unite(o FacetLock) (united FacetLock, alike, ok bool) {
	if f.Proof == "" {
		f.Log, f.Proof = o.Log, o.Proof
	}
	o.Log, o.Proof = f.Log, f.Proof
	alike = sameEntry(&f, &o)
	return f, alike, alike
}
