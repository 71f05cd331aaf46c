package check

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/machine"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// fieldChangesOf are the fields that differ: those of first in that order, then the others by name.
func fieldChangesOf(before, now map[string]string, first []string) []FieldChange {
	all := []FieldChange{}
	names := map[string]string{}
	maps.Copy(names, before)
	maps.Copy(names, now)
	add := func(what string) {
		if before[what] != now[what] {
			all = append(all, FieldChange{what, before[what], now[what]})
		}
		delete(names, what)
	}
	for _, what := range first {
		add(what)
	}
	for _, what := range slices.Sorted(maps.Keys(names)) {
		add(what)
	}
	return all
}

// memberChangesOf are the members of a list that differ, by name.
func memberChangesOf(before, now map[string]string) (all []MemberChange) {
	for _, f := range fieldChangesOf(before, now, nil) {
		_, was := before[f.What]
		_, is := now[f.What]
		all = append(all, MemberChange{f.What, changeKindOf(was, is), f.Old, f.New, ""})
	}
	return all
}

// flatten adds the values below v to fields, each by the keys that lead to it. A list is one value.
func flatten(fields map[string]string, key string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, below := range v {
			flatten(fields, strings.TrimPrefix(key+"."+name, "."), below)
		}
	case string:
		fields[key] = v
	default:
		text, err := machine.Marshal(v)
		if err != nil { // a date of TOML
			text = fmt.Append(nil, v)
		}
		fields[key] = string(text)
	}
}

// flatMembers are the members of an entry of the lock by their names in the file.
func flatMembers(entry any) (map[string]string, error) {
	text, err := json.Marshal(entry)
	if err != nil {
		return nil, err
	}
	var v map[string]any
	if err := surface.Decode(text, &v); err != nil {
		return nil, err
	}
	fields := map[string]string{}
	flatten(fields, "", v)
	for what, value := range fields {
		if value == "[]" || value == "null" {
			delete(fields, what) // a list without members is as good as none
		} else if what == "proof" || strings.HasSuffix(what, ".proof") { // of many lines, which nobody reads
			fields[what] = digest.FromBytes([]byte(value)).String()
		}
	}
	return fields, nil
}

// configTables are the tables of hallmark.toml, which was parsed before.
func configTables(config []byte) (all map[string]any, err error) {
	err = toml.Unmarshal(config, &all)
	return all, err
}

// settings are the keys of hallmark.toml that are about no server or facet.
func (s *comparedSide) settings() map[string]string {
	fields := map[string]string{}
	for name, table := range s.tree {
		if name != "facets" && name != "providers" {
			flatten(fields, name, table)
		}
	}
	return fields
}

func (c *Changes) compareFacets(before, now *comparedSide) {
	for _, name := range inEither(before, now, func(s *comparedSide) []string {
		return append(s.Lock.Facets(), s.FacetNames()...)
	}) {
		old, oldAssets, was := before.facet(name)
		new, newAssets, is := now.facet(name)
		f := FacetChange{name, changeKindOf(was, is), []FieldChange{}, nil}
		if is {
			f.Fields = fieldChangesOf(old, new, []string{"version", "declared", "source.kind", "integrity"})
			f.Assets = memberChangesOf(oldAssets, newAssets)
		}
		if !is || !was || len(f.Fields)+len(f.Assets) > 0 {
			c.Facets = append(c.Facets, f)
		}
	}
}

// facet is what a side has of a facet: its fields, and its files by their digests.
func (s *comparedSide) facet(name string) (fields, assets map[string]string, ok bool) {
	entry, locked := s.Lock.Facet(name)
	_, declared := s.Config.Facets[name]
	fields, assets = map[string]string{}, map[string]string{}
	if locked {
		for at, d := range entry.Assets {
			assets[at] = d.String()
		}
		entry.Assets = nil
		all, err := flatMembers(entry)
		if err != nil {
			all = map[string]string{"entry": err.Error()} // a value that JSON had cannot fail to be JSON
		}
		fields = all
	}
	if tree, is := s.tree["facets"].(map[string]any); is && declared {
		flatten(fields, "declared", tree[name])
	}
	return fields, assets, locked || declared
}

// packagesOf are the packages of a closure but for the root, by name, each by its versions and a mark of all that is
// known of them.
func packagesOf(c *project.Closure) (versions, marks map[string]string) {
	versions, marks = map[string]string{}, map[string]string{}
	if c == nil {
		return versions, marks
	}
	all := map[string]map[string]bool{}
	for _, p := range c.Packages {
		name, version := p.Ref.Name(), p.Ref.Version()
		if p.Ref.IsZero() {
			name = p.Path
		} else if p.Ref.Normal() == c.Root.Normal() {
			continue
		}
		if all[name] == nil {
			all[name] = map[string]bool{}
		}
		all[name][version] = true
		wheels := map[string]string{}
		for ref, d := range p.Wheels {
			wheels[ref.String()] = d.String()
		}
		marks[name] += fmt.Sprintf("%q %s %v %v %v %q %q %q %v\n", p.Path, version, p.Integrity, p.Optional, p.Scripts,
			p.OS, p.CPU, p.Marker, wheels)
	}
	for name, of := range all {
		versions[name] = strings.Join(slices.Sorted(maps.Keys(of)), ", ")
	}
	return versions, marks
}

// dependenciesOf are the packages that differ between two closures. One of the same version may have other bytes.
func dependenciesOf(before, now *project.Closure) (all []MemberChange) {
	old, oldMarks := packagesOf(before)
	new, newMarks := packagesOf(now)
	for _, n := range memberChangesOf(oldMarks, newMarks) {
		n.Old, n.New = old[n.Name], new[n.Name]
		if n.Change == WasChanged && n.Old == n.New {
			n.Note = "the same version, with other bytes or for other platforms"
		}
		all = append(all, n)
	}
	return all
}
