package installed

import (
	"path"
	"slices"

	"github.com/hallmark-mcp/hallmark/internal/facet"
)

// Share tells each of the targets of a project what it finds where another one has it, as a client would list what lies
// in two places twice. A target whose directory several read has its skills there first; it writes what all of them
// need.
func Share(targets []Target) []Target {
	shared := slices.Clone(targets)
	dirs := map[string]*Target{} // in which skills are written
	for _, common := range []bool{true, false} {
		for i := range shared {
			t := &shared[i]
			dir := path.Dir(t.SkillDir("NAME"))
			isRead := slices.ContainsFunc(shared, func(o Target) bool { return slices.Contains(o.skills.reads, dir) })
			if t.dir != "" || t.skills.path == "" || isRead != common {
				continue
			}
			if at := slices.IndexFunc(t.skills.reads, func(read string) bool { return dirs[read] != nil }); at < 0 {
				if dirs[dir] == nil {
					dirs[dir] = t
				}
			} else {
				t.skillsOf = dirs[t.skills.reads[at]]
			}
		}
	}
	for i := range shared {
		t := &shared[i]
		for _, reader := range shared {
			if of := reader.skillsOf; of != nil && of.skills.path == t.skills.path {
				t.skills.keep = union(t.skills.keep, reader.skills.keep)
				t.skills.needs = union(t.skills.needs, reader.skills.needs)
			}
		}
		at := slices.IndexFunc(shared, func(o Target) bool {
			return o.commands.asSkill && slices.Contains(t.skills.reads, path.Dir(o.SkillDir("NAME")))
		})
		if at >= 0 && t.skillsAreCommands {
			t.commandsOf = &shared[at]
		}
	}
	return shared
}

// Elsewhere is the target of the project in whose place the client reads a deliverable too, so that it needs no copy of
// its own; nil if there is none. What adapters gives to the client alone is only in its own.
func (t Target) Elsewhere(m *facet.Manifest, d facet.Deliverable) *Target {
	other, adapters := t.skillsOf, m.Skills[d.MemberName()].Adapters
	switch d.Kind {
	case facet.KindCommand:
		other, adapters = t.commandsOf, m.Commands[d.MemberName()].Adapters
	case facet.KindAgent:
		return nil
	}
	if other == nil || adapters[t.Name] != nil || other.Refusal(m, d) != "" {
		return nil
	}
	return other
}

// Notes says what of a deliverable the client does not get, or gets in another form, whatever its text is; not escaped.
func (t Target) Notes(m *facet.Manifest, d facet.Deliverable) (notes []string) {
	for _, note := range []string{t.Refusal(m, d), t.Shadows(d)} {
		if note != "" {
			notes = append(notes, note)
		}
	}
	if other := t.Elsewhere(m, d); other != nil && d.Kind == facet.KindCommand {
		notes = append(notes, "is the skill of its name for "+other.Name+", which the client offers as a command")
	}
	return notes
}

// union is one list with what another has besides.
func union(list, more []string) []string {
	list = slices.Clone(list)
	for _, s := range more {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}
