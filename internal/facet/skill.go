package facet

import (
	"slices"

	"github.com/hallmark-mcp/hallmark/tree"
)

// wrapSkill makes a facet with one skill of a folder.
func (w *wrapping) wrapSkill() error {
	h, err := w.readHead(SkillFile)
	if err != nil {
		return err
	}
	if err := w.setName(h.Members["name"], SkillFile); err != nil {
		return err
	}
	name := ownName(w.name) // so that of two that call themselves alike one can have another name
	w.manifest["version"] = h.version()
	skill, err := w.takeSkill(name, ".", nil, h)
	w.manifest["skills"] = map[string]any{name: skill}
	return err
}

// takeSkill puts all files of a folder into the facet as those of a skill, and returns the skill's value in facet.json.
// A plugin that is a skill itself does not have the files of its other skills.
func (w *wrapping) takeSkill(name, dir string, skills []string, h Head) (map[string]any, error) {
	value := map[string]any{"description": h.description(name)}
	var files []string
	for _, p := range w.sorted() {
		rest, ok := below(p, dir)
		isOther := func(other string) bool {
			_, ok := below(p, other)
			return ok && other != "."
		}
		if !ok || dir == "." && slices.ContainsFunc(skills, isOther) {
			continue
		}
		if err := w.put("skills/"+name+"/"+rest, p); err != nil {
			return nil, err
		}
		if rest != SkillFile {
			files = append(files, rest)
		}
	}
	if len(files) > 0 {
		slices.SortFunc(files, tree.CompareUTF16)
		value["files"] = files
	}
	return value, nil
}
