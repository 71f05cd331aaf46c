package surface

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
)

// Overlay is base with the items of seen added; an item of seen replaces the one of the same
// kind and name. Items that seen lacks stay: an approved item is not withdrawn because one
// process did not offer it. Either may be nil.
func Overlay(base, seen *Surface) (*Surface, error) {
	if base == nil {
		base = &Surface{}
	}
	if seen == nil {
		seen = &Surface{}
	}
	items := slices.Clone(seen.items)
	for _, i := range base.items {
		if _, ok := slices.BinarySearchFunc(seen.items, i, compareItems); !ok {
			items = append(items, i)
		}
	}
	if len(items) > MaxItems+1 {
		return nil, tooManyItems(len(items))
	}
	return assemble(items)
}

// Select is the surface of those items of s whose keys are given.
func (s *Surface) Select(keys ...string) (*Surface, error) {
	wanted := make(map[string]bool, len(keys))
	for _, key := range keys {
		wanted[key] = true
	}
	var items []Item
	for _, i := range s.items {
		if wanted[i.Key()] {
			items = append(items, i)
		}
	}
	return assemble(items)
}

// Without is the surface of those items of s whose keys are not given.
func (s *Surface) Without(keys ...string) (*Surface, error) {
	if len(keys) == 0 {
		return s, nil
	}
	left := s.ItemDigests()
	for _, key := range keys {
		delete(left, key)
	}
	return s.Select(slices.Collect(maps.Keys(left))...)
}

// outlineWidth is how much of a description an outline shows, in characters.
const outlineWidth = 100

// Outline is one line for each item: its key and the beginning of its description, all
// escaped. It is for an overview; the whole text is in [Surface.FormatIndented].
func (s *Surface) Outline() string {
	var b strings.Builder
	for _, i := range s.items {
		v := i.parseJSON()
		text := v.text // instructions
		for _, m := range v.members {
			if m.name == "description" {
				text = m.value.text
			}
		}
		if cut := []rune(text); len(cut) > outlineWidth {
			text = string(cut[:outlineWidth]) + "…"
		}
		fmt.Fprintf(&b, "%s", Escape(i.Key()))
		if text != "" {
			fmt.Fprintf(&b, "  %s", Escape(text))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// ItemDigests are the digests of all items by key.
func (s *Surface) ItemDigests() map[string]digest.Digest {
	out := make(map[string]digest.Digest, len(s.items))
	for _, i := range s.items {
		out[i.Key()] = i.Digest
	}
	return out
}

// Kinds are all kinds of items, the instructions included.
func Kinds() []Kind { return append([]Kind{KindInstructions}, listedKinds[:]...) }
