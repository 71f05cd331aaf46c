package installed

import (
	"maps"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/project"
)

// Selection is the part of a facet that is wanted by those that bring it along, or by hallmark.toml. Nil is all of it.
type Selection struct {
	all    bool
	names  map[facet.Kind]map[string]bool
	chosen bool // by hallmark.toml
}

// Chosen is what hallmark.toml wants of a facet that it declares.
func Chosen(f project.Facet) *Selection {
	if len(f.Parts) == 0 {
		return nil
	}
	s := &Selection{chosen: true, names: map[facet.Kind]map[string]bool{}}
	for _, part := range f.Parts {
		kind, name, _ := strings.Cut(part, " ")
		if kind == "server" { // which is no file: see [project.Facet.WantsServer]
			continue
		}
		if s.names[facet.Kind(kind)] == nil {
			s.names[facet.Kind(kind)] = map[string]bool{}
		}
		s.names[facet.Kind(kind)][name] = true
	}
	return s
}

// Placed are the deliverables of a facet as they are called where it is installed.
func Placed(m *facet.Manifest, declared project.Facet) []facet.Deliverable {
	all := m.Deliverables()
	for i := range all {
		if declared.Prefix != "" {
			all[i].Name = declared.Prefix + "-" + all[i].Name
		}
	}
	return all
}

// Add adds what another facet that brings this one along wants of it.
func (s *Selection) Add(c facet.Composed) {
	if s == nil || s.all || s.chosen {
		return // declared in hallmark.toml, which says what it wants of it
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
	return s == nil || s.all || s.names[d.Kind][d.MemberName()]
}

// Of is the manifest of a facet with those skills alone that are wanted.
func (s *Selection) Of(m *facet.Manifest) *facet.Manifest {
	if s == nil || s.all {
		return m
	}
	chosen := *m
	chosen.Skills = maps.Clone(m.Skills)
	maps.DeleteFunc(chosen.Skills, func(name string, _ facet.Skill) bool { return !s.names[facet.KindSkill][name] })
	return &chosen
}

// Lacking are the parts that are wanted and are not in the facet, as "KIND NAME", sorted.
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
