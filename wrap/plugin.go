package wrap

import (
	"encoding/json"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/surface"
	"github.com/hallmark-mcp/hallmark/tree"
)

// kept is the directory of a wrapped plugin that has the files which are part of nothing that is installed.
const kept = "plugin/"

// notInstalled are the members of plugin.json that declare what a facet cannot say.
var notInstalled = []string{"hooks", "lspServers", "monitors", "outputStyles", "themes", "userConfig", "channels", "settings"}

// notInstalledFiles are files of a plugin that its client reads, and that no facet can say.
var notInstalledFiles = []string{"hooks/hooks.json", ".lsp.json", "settings.json", "monitors/monitors.json"}

// wrapPlugin makes a facet of a client's plugin.
func (w *wrapping) wrapPlugin() error {
	doc, err := w.readDocument(PluginFile)
	if err != nil {
		return err
	}
	name, _ := doc["name"].(string)
	if err := w.setName(name, PluginFile); err != nil {
		return err
	}
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
	if err := w.takeSkills(w.pathsOf(doc, "skills")); err != nil {
		return err
	}
	for _, member := range []string{"agents", "commands"} {
		if err := w.takePrompts(member, w.pathsOf(doc, member)); err != nil {
			return err
		}
	}
	if err := w.takeServers(doc); err != nil {
		return err
	}
	for _, member := range notInstalled {
		if _, ok := doc[member]; ok {
			w.note(member+" in "+PluginFile, "is kept, and not installed")
		}
	}
	for _, file := range notInstalledFiles {
		if _, ok := w.files[file]; ok {
			w.note(file, "is kept, and not installed")
		}
	}
	return w.keepOthers()
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

// pathsOf are the directories and files that a member of plugin.json names, or else the directory of that name. Those
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
		w.note(member+" in "+PluginFile, "is neither a path nor a list of paths, and is not installed")
	}
	var paths []string
	for _, one := range named {
		text, ok := one.(string)
		p := strings.TrimSuffix(strings.TrimPrefix(text, "./"), "/")
		if !ok || p == "." || !fs.ValidPath(p) {
			w.note(member+" in "+PluginFile, "names what is no path below the plugin, and that is not installed")
			continue
		}
		if !slices.Contains(paths, p) {
			paths = append(paths, p)
		}
	}
	return paths
}

// takeSkills takes the skills of directories: each directory itself if it has a SKILL.md, or else those in it that have one.
func (w *wrapping) takeSkills(dirs []string) error {
	skills, from := map[string]any{}, map[string]string{}
	for _, dir := range dirs {
		var found []string
		for _, p := range w.sorted() {
			rest, ok := below(p, dir)
			if ok && (rest == SkillFile || path.Base(rest) == SkillFile && strings.Count(rest, "/") == 1) {
				found = append(found, path.Dir(p))
			}
		}
		if slices.Contains(found, dir) {
			found = []string{dir}
		}
		for _, at := range found {
			name := assetName(path.Base(at))
			if other, ok := from[name]; ok && other == at {
				continue
			} else if ok {
				return invalid("%+q and %+q would both be the skill %s", other, at, name)
			}
			if name == "" {
				return invalid("%+q: of this no name of a skill can be made", at)
			}
			from[name] = at
			h, err := w.readHead(at + "/" + SkillFile)
			if err != nil {
				return err
			}
			if skills[name], err = w.takeSkill(name, at, h); err != nil {
				return err
			}
		}
	}
	if len(skills) > 0 {
		w.manifest["skills"] = skills
	}
	return nil
}

// takePrompts takes the agents or commands: each Markdown file that is named, or lies below a directory that is.
func (w *wrapping) takePrompts(member string, paths []string) error {
	prompts, from := map[string]any{}, map[string]string{}
	for _, at := range paths {
		for _, p := range w.sorted() {
			written := base(p, ".md")
			if p != at {
				rest, ok := below(p, at)
				if !ok {
					continue
				}
				written = strings.TrimSuffix(rest, ".md")
			}
			name := assetName(written)
			switch other, ok := from[name]; {
			case !strings.HasSuffix(p, ".md") || ok && other == p:
				continue
			case ok:
				return invalid("%+q and %+q would both be %s/%s.md", other, p, member, name)
			case name == "":
				return invalid("%+q: of this no name can be made", p)
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

// keepOthers keeps the files that are part of nothing that is installed, so that the fingerprint is of them too.
func (w *wrapping) keepOthers() error {
	taken := map[string]bool{}
	for _, from := range w.contents {
		taken[from] = true
	}
	var files []string
	for _, p := range w.sorted() {
		if taken[p] {
			continue
		}
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
