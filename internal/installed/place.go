package installed

import (
	"path"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/facet"
)

// Place is a file of a deliverable for one target.
type Place struct {
	Path   string // relative to the project, with slashes
	Member string // of the archive, from which it is made
	Skill  string // the directory of the skill that it is in; "" for others
	Fixed  []byte // its bytes, if they are the same for every deliverable; nil for others

	primary bool // it is the deliverable's Markdown file, and a client reads it
}

// IsRendered reports whether the file may differ from the member that it is made from.
func (p Place) IsRendered() bool { return p.primary || p.Fixed != nil }

// AsItIs is the place of a file that is not written anew for the client, but has the bytes of its member.
func (p Place) AsItIs() Place {
	p.primary = false
	return p
}

// Places are the files of a deliverable of a facet for the target; none if the target cannot have it.
// Of the manifest only the names of skills count.
func (t Target) Places(m *facet.Manifest, d facet.Deliverable) (places []Place) {
	if t.dir != "" {
		return t.copies(d)
	}
	if t.Refusal(m, d) != "" {
		return nil
	}
	n := t.noun(d.Kind)
	at := n.placeOf(d.Name)
	skill := ""
	switch {
	case d.Kind == facet.KindSkill:
		skill = at
	case n.asSkill:
		skill = path.Dir(at)
	}
	for _, member := range d.Paths {
		p := Place{Path: at, Member: member, Skill: skill, primary: member == d.Paths[0]}
		if d.Kind == facet.KindSkill {
			p.Path = path.Join(at, strings.TrimPrefix(member, "skills/"+d.MemberName()+"/"))
		}
		places = append(places, p)
	}
	for _, b := range n.beside {
		places = append(places, Place{Path: strings.ReplaceAll(b.path, "NAME", d.Name), Member: d.Paths[0],
			Skill: skill, Fixed: []byte(b.text)})
	}
	return places
}

// copies are the files of a deliverable as they are in the archive, below a directory.
func (t Target) copies(d facet.Deliverable) (places []Place) {
	skill := ""
	if d.Kind == facet.KindSkill {
		skill = t.SkillDir(d.Name)
	}
	for _, member := range d.Paths {
		at := path.Join(t.dir, placedMember(d, member))
		places = append(places, Place{Path: at, Member: member, Skill: skill})
	}
	return places
}

// placedMember is the path of a member as it is where the archive is copied: under the name of the deliverable there.
func placedMember(d facet.Deliverable, member string) string {
	own := string(d.Kind) + "s/" + d.MemberName()
	return string(d.Kind) + "s/" + d.Name + strings.TrimPrefix(member, own)
}

// SkillDir is the directory of a skill of a name, relative to the project, with slashes; "" if the target has no
// skills.
func (t Target) SkillDir(name string) string {
	if t.dir != "" {
		return path.Join(t.dir, "skills", name)
	}
	return t.skills.placeOf(name)
}

// Dirs are the directories in which the target looks for deliverables, relative to the project, with slashes.
func (t Target) Dirs() (dirs []string) {
	if t.dir != "" {
		return []string{t.dir}
	}
	for _, n := range []noun{t.skills, t.agents, t.commands} {
		if dir, _, ok := strings.Cut(n.path, "/NAME"); ok {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// placeOf is where a deliverable of a name is; "" if the client has none of its kind.
func (n noun) placeOf(name string) string { return strings.ReplaceAll(n.path, "NAME", name) }

// Refusal says why the target cannot have a deliverable; "" if it can.
func (t Target) Refusal(m *facet.Manifest, d facet.Deliverable) string {
	if t.dir != "" {
		return ""
	}
	n := t.noun(d.Kind)
	if n.path == "" && t.outside != "" {
		return "is not installed, as " + t.outside + " names a directory outside of the home directory"
	}
	if n.path == "" && t.home {
		return "is not installed, as no place is known where the client has the " + string(d.Kind) + "s of its user"
	}
	if n.path == "" {
		return "is not installed, as the client has no " + string(d.Kind) + "s in a project"
	}
	if _, taken := m.Skills[d.MemberName()]; taken && n.asSkill {
		return "is not installed, as it would be a skill there, and a skill of the facet has its name"
	}
	return ""
}
