package facet

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/surface"
	"github.com/hallmark-mcp/hallmark/tree"
)

// kept is the directory of a plugin that was wrapped, with files that are part of nothing that is installed.
const kept = "plugin/"

// IsPlugin reports whether a facet that was wrapped, of which these are the members, was made of a plugin.
func IsPlugin(members []string) bool {
	return slices.ContainsFunc(members, func(p string) bool { return strings.HasPrefix(p, kept) })
}

// wrapPlugin makes a facet of a client's plugin.
func (w *wrapping) wrapPlugin() error {
	doc, err := w.readManifest()
	if err != nil {
		return err
	}
	name, _ := doc["name"].(string)
	if err := w.setName(name, w.format.file); err != nil {
		return err
	}
	w.describePlugin(doc)
	if err := w.takeSkills(w.skillPaths(doc)); err != nil {
		return err
	}
	for _, member := range []string{"agents", "commands"} {
		if err := w.takePrompts(member, w.pathsOf(doc, member)); err != nil {
			return err
		}
	}
	w.takeServers(doc)
	for _, member := range sortedKeys(doc) {
		if !slices.Contains(descriptive, member) && !slices.Contains(taken, member) {
			w.note(member+" in "+w.format.file, "is kept, and not installed")
		}
	}
	others := w.findOthers()
	if w.rule == 1 {
		w.noteLoaded(others, loadedByRule1)
		err = w.keep(others)
	} else {
		loaded := w.noteLoaded(others, w.format.loads)
		w.noteDirs(others)
		err = w.keep(loaded)
	}
	if err != nil {
		return err
	}
	return w.refuseNothing()
}

// describePlugin takes what the manifest of a plugin says of the plugin as a whole.
func (w *wrapping) describePlugin(doc map[string]any) {
	version, _ := doc["version"].(string)
	w.manifest["version"] = versionOf(version)
	if text, _ := doc["description"].(string); text != "" {
		w.manifest["description"] = clipRunes(text)
	}
	author, _ := doc["author"].(string)
	if of, ok := doc["author"].(map[string]any); ok {
		author, _ = of["name"].(string)
	}
	if author != "" {
		w.manifest["author"] = clipRunes(author)
	}
}

// refuseNothing is an error for a plugin of which a facet can have nothing.
func (w *wrapping) refuseNothing() error {
	for _, member := range []string{"skills", "agents", "commands", "servers"} {
		if w.manifest[member] != nil {
			return nil
		}
	}
	var has []string
	for _, n := range w.notes[:min(len(w.notes), maxVariableNotes)] {
		has = append(has, n.What+" "+n.Why)
	}
	err := ErrNothing
	if len(has) > 0 {
		err = fmt.Errorf("%w: %s", ErrNothing, strings.Join(has, "; "))
	}
	return evidence.Errorf(evidence.Validation, "", NothingHint, err)
}

// noteLoaded says which of the files that are not installed the plugin's client loads, and returns them with the
// manifest.
func (w *wrapping) noteLoaded(files, loads []string) (loaded []string) {
	for _, what := range loads {
		var of []string
		for _, p := range files {
			if isLoaded(p, what) {
				of = append(of, p)
			}
		}
		if len(of) == 1 {
			what = of[0]
		}
		if len(of) > 0 {
			w.note(what, "is kept, and not installed")
		}
		loaded = append(loaded, of...)
	}
	return append(loaded, w.format.file)
}

// noteDirs says which other directories have files that are not installed, but for empty ones.
func (w *wrapping) noteDirs(files []string) {
	var dirs []string
	for _, p := range files {
		dir, _, ok := strings.Cut(p, "/")
		known := slices.ContainsFunc(w.format.loads, func(loaded string) bool { return isLoaded(p, loaded) })
		isManifest := slices.ContainsFunc(pluginFormats, func(f pluginFormat) bool { return f.file == p })
		isEmpty := w.files[p].size == 0 // as .gitkeep, which keeps a directory in git
		if ok && !known && !isManifest && !isEmpty && !slices.Contains(dirs, dir+"/") {
			dirs = append(dirs, dir+"/")
		}
	}
	if len(dirs) > 0 {
		slices.Sort(dirs)
		w.note(strings.Join(dirs, ", "), "has files of no skill, which are not installed")
	}
}

// isLoaded reports whether a file is what a client loads: a file, or a directory with a slash at the end.
func isLoaded(p, loaded string) bool {
	return p == loaded || strings.HasSuffix(loaded, "/") && strings.HasPrefix(p, loaded)
}

// readManifest reads the manifest of a plugin, whose members name only so many paths.
func (w *wrapping) readManifest() (map[string]any, error) {
	doc, err := w.readDocument(w.format.file)
	for _, member := range taken {
		if list, ok := doc[member].([]any); ok && len(list) > maxPaths {
			return nil, invalid("%s in %s names %d paths; the limit is %d", member, w.format.file, len(list), maxPaths)
		}
	}
	return doc, err
}

// readDocument reads a JSON object of the directory.
func (w *wrapping) readDocument(at string) (map[string]any, error) {
	data, err := w.read(at, maxDocument)
	if err != nil {
		return nil, err
	}
	return parseDocument(at, data)
}

// parseDocument reads a JSON object, of whose members none is there twice.
func parseDocument(at string, data []byte) (map[string]any, error) {
	if err := surface.CheckJSON(data, surface.Limits{Size: maxDocument, Depth: 64}); err != nil {
		return nil, invalid("%s: %w", at, err)
	}
	var doc map[string]any
	if err := json.Unmarshal(data, &doc); err != nil || doc == nil {
		return nil, invalid("%s is no object", at)
	}
	return doc, nil
}

// skillPaths are the directories of skills. By rule 2 they may be the plugin itself, "."; a SKILL.md that lies beside
// the manifest is a skill also where neither the manifest nor the directory skills says of another.
func (w *wrapping) skillPaths(doc map[string]any) []string {
	named := w.pathsOf(doc, "skills")
	if w.rule == 1 {
		return named
	}
	hasDir := slices.ContainsFunc(w.sorted(), func(p string) bool { return strings.HasPrefix(p, "skills/") })
	_, isNamed := doc["skills"]
	switch {
	case isNamed && w.format.adds && !slices.Contains(named, "skills"):
		return append([]string{"skills"}, named...)
	case !isNamed && !hasDir:
		return []string{"."}
	}
	return named
}

// pathsOf are the directories and files that a member of the manifest names, or else the directory of that name. Those
// that are no clean paths of the plugin are noted and passed over.
func (w *wrapping) pathsOf(doc map[string]any, member string) []string {
	var named []any
	switch v := doc[member].(type) {
	case nil:
		return []string{member}
	case string:
		named = []any{v}
	case []any:
		named = v
	default:
		w.note(member+" in "+w.format.file, "is neither a path nor a list of paths, and is not installed")
	}
	var paths []string
	for _, one := range named {
		text, ok := one.(string)
		p := strings.TrimSuffix(strings.TrimPrefix(text, "./"), "/")
		if w.rule > 1 && member == "skills" && slices.Contains([]string{".", "./", "./.", "././"}, text) {
			p = "."
		} else if !ok || p == "." || !fs.ValidPath(p) {
			w.note(member+" in "+w.format.file, "names what is no path below the plugin, and that is not installed")
			continue
		}
		if !slices.Contains(paths, p) {
			paths = append(paths, p)
		}
	}
	return paths
}

// takeSkills takes the skills of directories: each directory itself if it has a SKILL.md, or else those in it that have
// one.
func (w *wrapping) takeSkills(dirs []string) error {
	var found []string
	for _, dir := range dirs {
		for _, at := range w.findSkills(dir) {
			if !slices.Contains(found, at) {
				found = append(found, at)
			}
		}
	}
	skills, from := map[string]any{}, map[string]string{}
	for _, at := range found {
		h, err := w.readHead(path.Join(at, SkillFile))
		if err != nil {
			return err
		}
		name := w.skillName(at, h)
		other, isTaken := from[name]
		switch {
		case isTaken && w.rule == 1:
			return invalid("%+q and %+q would both be the skill %s", other, at, name)
		case name == "" && w.rule == 1:
			return invalid("%+q: of this no name of a skill can be made", at)
		case isTaken:
			w.note(at, "is not installed: %s is the skill %s already", other, name)
			continue
		case name == "":
			w.note(at, "is not installed: of its name none can be made that a skill can have")
			continue
		}
		from[name] = at
		if err := w.refuseUnsound(at); err != nil {
			return err
		}
		if skills[name], err = w.takeSkill(name, at, found, h); err != nil {
			return err
		}
	}
	if len(skills) > 0 {
		w.manifest["skills"] = skills
	}
	return nil
}

// findSkills are the directories of skills that a directory has: itself, or else those in it.
func (w *wrapping) findSkills(dir string) (found []string) {
	if _, ok := w.files[path.Join(dir, SkillFile)]; ok {
		return []string{dir}
	}
	for _, p := range w.sorted() {
		rest, ok := below(p, dir)
		if ok && path.Base(rest) == SkillFile && strings.Count(rest, "/") == 1 {
			found = append(found, path.Dir(p))
		}
	}
	return found
}

// skillName is what a skill of a plugin is called: as its directory. The plugin itself, which has any, is called as the
// skill calls itself, or else as the facet is.
func (w *wrapping) skillName(at string, h Head) string {
	if at != "." {
		return assetName(path.Base(at))
	}
	return cmp.Or(assetName(h.Members["name"]), ownName(w.name))
}

// takePrompts takes the agents or commands: each Markdown file that is named, or lies below a directory that is. By
// rule 2 the end .agent.md is one of agents.
func (w *wrapping) takePrompts(member string, paths []string) error {
	prompts, from := map[string]any{}, map[string]string{}
	for _, at := range paths {
		for _, p := range w.sorted() {
			rest, ok := below(p, at)
			if p == at {
				rest, ok = path.Base(p), true
			}
			written, isText := strings.CutSuffix(rest, ".md")
			if !ok || !isText {
				continue
			}
			if w.rule > 1 && member == "agents" {
				written = strings.TrimSuffix(written, ".agent")
			}
			name := assetName(written)
			other, isTaken := from[name]
			switch {
			case isTaken && other == p:
				continue
			case isTaken && w.rule == 1:
				return invalid("%+q and %+q would both be %s/%s.md", other, p, member, name)
			case name == "" && w.rule == 1:
				return invalid("%+q: of this no name can be made", p)
			case isTaken:
				w.note(p, "is not installed: %s is %s/%s.md already", other, member, name)
				continue
			case name == "":
				w.note(p, "is not installed: of its name none can be made")
				continue
			}
			from[name] = p
			h, err := w.readHead(p)
			if err != nil {
				return err
			}
			prompts[name] = map[string]any{"description": h.description(name)}
			if err := w.put(member+"/"+name+".md", p); err != nil {
				return err
			}
		}
	}
	if len(prompts) > 0 {
		w.manifest[member] = prompts
	}
	return nil
}

// findOthers are the files that are part of nothing that is installed.
func (w *wrapping) findOthers() (others []string) {
	taken := map[string]bool{}
	for _, from := range w.contents {
		taken[from] = true
	}
	for _, p := range w.sorted() {
		if !taken[p] {
			others = append(others, p)
		}
	}
	return others
}

// keep puts files into the facet that are part of nothing that is installed, so that the fingerprint is of them too.
// Rule 1 keeps all; rule 2 what the plugin's client loads, and no document with a long name elsewhere in a repository.
func (w *wrapping) keep(others []string) error {
	var files []string
	for _, p := range others {
		if err := w.put(kept+p, p); err != nil {
			return err
		}
		files = append(files, kept+p)
	}
	if len(files) > 0 {
		slices.SortFunc(files, tree.CompareUTF16)
		w.manifest["files"] = files
	}
	return nil
}
