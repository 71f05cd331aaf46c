package installed

import (
	"slices"

	"github.com/hallmark-mcp/hallmark/facet"
)

// Selection is the part of a facet that is wanted by those that bring it along. Nil is all of it.
type Selection struct {
	all   bool
	names map[facet.Kind]map[string]bool
}

// Add adds what another facet that brings this one along wants of it.
func (s *Selection) Add(c facet.Composed) {
	if s == nil || s.all {
		return // declared in hallmark.toml, which wants all of it
	}
	if c.TakesAll() {
		s.all = true
		return
	}
	if s.names == nil {
		s.names = map[facet.Kind]map[string]bool{facet.KindSkill: {}, facet.KindAgent: {}, facet.KindCommand: {}}
	}
	for kind, names := range map[facet.Kind][]string{facet.KindSkill: c.Skills, facet.KindAgent: c.Agents,
		facet.KindCommand: c.Commands} {
		for _, name := range names {
			s.names[kind][name] = true
		}
	}
}

// Has reports whether a deliverable is wanted.
func (s *Selection) Has(d facet.Deliverable) bool {
	return s == nil || s.all || s.names[d.Kind][d.Name]
}

// Lacking are the parts that are wanted and are not among the deliverables, as "KIND NAME", sorted.
func (s *Selection) Lacking(deliverables []facet.Deliverable) (lacking []string) {
	if s == nil || s.all {
		return nil
	}
	for kind, names := range s.names {
		for name := range names {
			if !slices.ContainsFunc(deliverables,
				func(d facet.Deliverable) bool { return d.Kind == kind && d.Name == name }) {
				lacking = append(lacking, string(kind)+" "+name)
			}
		}
	}
	slices.Sort(lacking)
	return lacking
}
