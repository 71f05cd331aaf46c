package facet

import (
	"path"
	"slices"
)

// pluginFormat is how the plugins of a client, or of a standard, say what they hold.
type pluginFormat struct {
	file    string   // the manifest, by which such a plugin is known
	since   int      // the rule that reads it first
	adds    bool     // skills of the manifest are added to those of the directory skills, and do not replace it
	servers []string // files of MCP servers that the manifest need not name
	loads   []string // what else the client loads, and is kept: directories, with a slash at the end, and files
	// beside are directories of which one must have a file: without them the manifest may be that of anything.
	beside []string
}

// pluginFormats are the formats of plugins, in the order in which the first that applies decides. They follow the
// documentation of the clients in November 2026.
var pluginFormats = []pluginFormat{
	{
		file: PluginFile, since: 1, adds: true, servers: []string{".mcp.json"},
		loads: []string{
			"bin/", "hooks/", "monitors/", "output-styles/", "settings.json", "themes/", "workflows/", ".lsp.json",
		},
	},
	{
		file: ".codex-plugin/plugin.json", since: 2, adds: true, servers: []string{".mcp.json"},
		loads: []string{"commands/", "hooks/", ".app.json"},
	},
	{
		file: ".cursor-plugin/plugin.json", since: 2, servers: []string{"mcp.json"},
		loads: []string{"hooks/", "rules/"},
	},
	{
		file: ".github/plugin/plugin.json", since: 2, servers: []string{".mcp.json"},
		loads: []string{"hooks/", "hooks.json", "lsp.json"},
	},
	{
		file: "gemini-extension.json", since: 2,
		loads: []string{"commands/", "hooks/", "policies/", "GEMINI.md"},
	},
	{ // the standard Agent Plugins, which GitHub Copilot and Cursor read too
		file: "plugin.json", since: 2, servers: []string{"mcp.json", ".mcp.json"},
		loads:  []string{"hooks/", "hooks.json", "lsp.json"},
		beside: []string{"skills", "agents", "commands"},
	},
}

// loadedByRule1 is what rule 1 says of what the client loads.
var loadedByRule1 = []string{"hooks/hooks.json", ".lsp.json", "settings.json", "monitors/monitors.json"}

// descriptive are members of manifests that say of a plugin what it is, and deliver nothing.
var descriptive = []string{
	"$schema", "author", "category", "description", "displayName", "homepage", "interface", "keywords", "license",
	"logo", "minClientVersions", "name", "publisher", "repository", "tags", "version",
}

// taken are the members of manifests that a facet can say.
var taken = []string{"agents", "commands", "mcpServers", "skills"}

// layout answers which files and directories there are below a directory.
type layout struct {
	hasFile func(path string) bool
	hasDir  func(path string) bool // with a file in it, or below it
}

// layout is the layout of d.
func (d Dir) layout() layout {
	files, dirs := map[string]bool{}, map[string]bool{".": true}
	for _, f := range d.Files {
		files[f.Path] = true
		for at := path.Dir(f.Path); !dirs[at]; at = path.Dir(at) {
			dirs[at] = true
		}
	}
	return layout{func(p string) bool { return files[p] }, func(p string) bool { return dirs[p] }}
}

// in is the layout of a directory below.
func (l layout) in(dir string) layout {
	return layout{func(p string) bool { return l.hasFile(path.Join(dir, p)) },
		func(p string) bool { return l.hasDir(path.Join(dir, p)) }}
}

// form is what a directory is by a rule, and the file by which it is known. The format is nil for what is no plugin.
func (l layout) form(rule int) (form Form, file string, format *pluginFormat) {
	if l.hasFile(ManifestFile) {
		return FormFacet, ManifestFile, nil
	}
	for i, f := range pluginFormats {
		if f.since <= rule && l.hasFile(f.file) && (len(f.beside) == 0 || slices.ContainsFunc(f.beside, l.hasDir)) {
			return FormPlugin, f.file, &pluginFormats[i]
		}
	}
	if l.hasFile(SkillFile) {
		return FormSkill, SkillFile, nil
	}
	return "", "", nil
}

// Form is the form of d, and the file by which it is known: by the newest rule, "" if it has none.
func (d Dir) Form() (form Form, file string) {
	form, file, _ = d.layout().form(NewestWrapRule)
	return form, file
}
