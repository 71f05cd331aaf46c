package project

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
)

// TestMergeLocks: an entry is that of the side that changed it, or one with the trees of both, or a conflict; never one
// of parts of two.
func TestMergeLocks(t *testing.T) {
	d := func(text string) digest.Digest { return digest.FromBytes([]byte(text)) }
	entry := func(changes ...func(*ServerLock)) *ServerLock {
		s, _ := sample()
		closure := *s.Closure
		s.Closure, closure.Trees = &closure, maps.Clone(closure.Trees)
		s.Surface, s.APISurface = d("surface"), d("api")
		for _, change := range changes {
			change(&s)
		}
		return &s
	}
	argument := func(text string) func(*ServerLock) {
		return func(s *ServerLock) { s.Arguments = []string{text} }
	}
	tree := func(platform, text string) func(*ServerLock) {
		return func(s *ServerLock) { s.Closure.Trees[platform] = d(text) }
	}
	old := entry()
	for name, c := range map[string]struct {
		base, ours, theirs *ServerLock
		want               *ServerLock // nil: no entry
		conflict           bool
	}{
		"nobody changed it":       {old, entry(), entry(), old, false},
		"ours":                    {old, entry(argument("a")), old, entry(argument("a")), false},
		"theirs":                  {old, old, entry(argument("a")), entry(argument("a")), false},
		"both alike":              {old, entry(argument("a")), entry(argument("a")), entry(argument("a")), false},
		"both":                    {old, entry(argument("a")), entry(argument("b")), entry(argument("a")), true},
		"parts of it":             {old, entry(argument("a")), entry(func(s *ServerLock) { s.Variables = []string{"X"} }), entry(argument("a")), true},
		"ours is new":             {nil, old, nil, old, false},
		"theirs is new":           {nil, nil, old, old, false},
		"both are new":            {nil, entry(argument("a")), entry(argument("b")), entry(argument("a")), true},
		"ours removed it":         {old, nil, old, nil, false},
		"theirs removed it":       {old, old, nil, nil, false},
		"both removed it":         {old, nil, nil, nil, false},
		"removed and changed":     {old, nil, entry(argument("a")), nil, true},
		"removed and a tree more": {old, nil, entry(tree("x", "x")), nil, true},
		"trees of both": {old, entry(tree("x", "x")), entry(tree("y", "y")),
			entry(tree("x", "x"), tree("y", "y")), false},
		"two trees for a platform": {old, entry(tree("x", "x")), entry(tree("x", "y")), entry(tree("x", "x")), true},
		"theirs beside a tree of the old one": {old, entry(tree("x", "x")), entry(argument("a")),
			entry(argument("a")), false},
		"ours beside a tree of the old one": {old, entry(argument("a")), entry(tree("x", "x")),
			entry(argument("a")), false},
	} {
		t.Run(name, func(t *testing.T) {
			lock := func(s *ServerLock) *Lock {
				l := &Lock{servers: map[string]ServerLock{}}
				if s != nil {
					l.servers["notes"] = *s
				}
				return l
			}
			is := func(l *Lock, want *ServerLock) bool { return sameEntry(entryOf(l.servers, "notes"), want) }
			merged, conflicts := MergeLocks(lock(c.base), lock(c.ours), lock(c.theirs), nil)
			if !is(merged, c.want) {
				t.Errorf("got %+v", merged.servers)
			}
			if got := slices.Equal(conflicts, []string{"notes"}); got != c.conflict || !got && len(conflicts) > 0 {
				t.Errorf("conflicts %q", conflicts)
			}
			for side, want := range map[Side]*ServerLock{Ours: c.ours, Theirs: c.theirs} {
				if !c.conflict {
					want = c.want
				}
				merged, conflicts := MergeLocks(lock(c.base), lock(c.ours), lock(c.theirs), map[string]Side{"notes": side})
				if !is(merged, want) || len(conflicts) > 0 {
					t.Errorf("%s: %+v, conflicts %q", side, merged.servers, conflicts)
				}
			}
		})
	}
}

// TestMergeFacets: the proof of one side counts for both; a facet of another version on each side is a conflict.
func TestMergeFacets(t *testing.T) {
	lock := func(change func(*FacetLock)) *Lock {
		f := facetEntry()
		change(&f)
		return &Lock{facets: map[string]FacetLock{"kit": f}}
	}
	same := func(*FacetLock) {}
	proven := func(f *FacetLock) { f.Log, f.Proof = "log.example.com", "proof" }
	version := func(v string) func(*FacetLock) { return func(f *FacetLock) { f.Version = v } }
	merged, conflicts := MergeLocks(lock(same), lock(proven), lock(version("1.3.0")), nil)
	if f := merged.facets["kit"]; f.Version != "1.3.0" || f.Proof != "" || len(conflicts) > 0 {
		t.Errorf("%+v, %q", f, conflicts)
	}
	merged, conflicts = MergeLocks(&Lock{}, lock(same), lock(proven), nil)
	if f := merged.facets["kit"]; f.Proof == "" || f.Log == "" || len(conflicts) > 0 {
		t.Errorf("%+v, %q", f, conflicts)
	}
	for _, sides := range [][2]*Lock{{lock(same), lock(proven)}, {lock(proven), lock(same)}} { // a proof that one took out
		merged, conflicts = MergeLocks(lock(proven), sides[0], sides[1], nil)
		if f := merged.facets["kit"]; f.Proof == "" || f.Log == "" || len(conflicts) > 0 {
			t.Errorf("%+v, %q", f, conflicts)
		}
	}
	if _, conflicts = MergeLocks(lock(same), lock(version("1.3.0")), lock(version("1.4.0")), nil); strings.Join(conflicts, " ") != "kit" {
		t.Errorf("%q", conflicts)
	}
}
