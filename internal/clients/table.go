package clients

import (
	"cmp"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/hallmark-mcp/hallmark/archive"
)

// base is the directory that a location begins with.
type base int

const (
	home    base = iota // the user's home directory
	xdg                 // $XDG_CONFIG_HOME, else ~/.config, on every system
	config              // Linux: as xdg; macOS: ~/Library/Application Support; Windows: %APPDATA%
	project             // the project's directory
	system              // the root directory; on Windows %PROGRAMDATA%
)

// location is where a client looks for a file, on the systems named ("" for all).
type location struct {
	os    string
	base  base
	path  string // with slashes; elements may be patterns, and one of them **, which is any directories or none
	shape string // the path of keys to the servers: see entries
	env   string // a variable that names the file's directory instead

	runs  bool           // the shape leads to command lines that the client runs itself
	marks *regexp.Regexp // what a file that may be any program's has, if it is the client's
}

// client is a row of the table.
type client struct {
	id    string
	name  string
	files []location
}

// The usual key, that of each plugin in a list of plugins, and the shape of a file that is
// itself the object of servers.
const (
	usual     = "mcpServers"
	inPlugins = "plugins/*/mcpServers"
	itself    = "."
)

// vscode are the editors that keep settings as VS Code does.
var vscode = []string{"Code", "Code - Insiders", "VSCodium"}

// inVSCode locates a file in the user's directory of each of them.
func inVSCode(path, shape string) []location {
	var out []location
	for _, editor := range vscode {
		out = append(out, location{base: config, path: editor + "/User/" + path, shape: shape})
	}
	return out
}

// inContainer locates the settings of an editor in a development container.
func inContainer(shape string) []location {
	return []location{
		{base: project, path: ".devcontainer/devcontainer.json", shape: shape},
		{base: project, path: ".devcontainer/*/devcontainer.json", shape: shape},
		{base: project, path: ".devcontainer.json", shape: shape},
	}
}

// recipes locates the recipes of Goose. They are found in the directory in which it is started
// and in its own, by any name.
func recipes() []location {
	// A name that is no recipe's before it holds extensions, or may hold them in other words.
	named := regexp.MustCompile(`(?i)extensions|\\[xu]|\{[{%#]`)
	other := regexp.MustCompile(`(?s)extensions.*\b(stdio|sse|streamable_http|inline_python)\b|\b(stdio|sse|streamable_http|inline_python)\b.*extensions`)
	var out []location
	add := func(path string, marks *regexp.Regexp) {
		for _, shape := range []string{"extensions", "recipe/extensions"} {
			out = append(out, location{base: project, path: path, shape: shape, marks: marks})
		}
	}
	for _, ext := range []string{"yaml", "yml", "json"} {
		add(".goose/recipes/*."+ext, named)
		add("recipe."+ext, named)
	}
	add("*.yaml", other)
	add("*.yml", other)
	return out
}

// both locates a file that a client has in a project and in the user's home directory.
func both(path, shape string) []location {
	return []location{{base: project, path: path, shape: shape}, {base: home, path: path, shape: shape}}
}

func join(parts ...[]location) []location {
	var out []location
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// table has every client. A project's file of one client is listed before the user's.
var table = []client{
	{"hallmark", "Hallmark", []location{
		{base: project, path: "hallmark.toml", shape: "providers/mcp"}}},
	{"claude-desktop", "Claude Desktop", []location{
		{base: config, path: "Claude/claude_desktop_config.json", shape: usual}}},
	{"claude-code", "Claude Code", join([]location{
		{base: project, path: ".mcp.json", shape: usual},
		{base: project, path: ".mcp.json", shape: itself}, // in a plugin
		{base: project, path: ".claude-plugin/plugin.json", shape: usual},
		{base: project, path: ".claude-plugin/marketplace.json", shape: inPlugins}}, both(".claude/agents/**/*.md", usual), []location{
		{base: home, path: ".claude.json", shape: usual, env: "CLAUDE_CONFIG_DIR"},
		{base: home, path: ".claude.json", shape: "projects/*/mcpServers", env: "CLAUDE_CONFIG_DIR"},
		{os: "linux", base: system, path: "etc/claude-code/managed-mcp.json", shape: usual},
		{os: "darwin", base: system, path: "Library/Application Support/ClaudeCode/managed-mcp.json", shape: usual},
		{os: "windows", base: system, path: "ClaudeCode/managed-mcp.json", shape: usual}})},
	{"cursor", "Cursor", []location{
		{base: project, path: ".cursor/mcp.json", shape: usual},
		{base: home, path: ".cursor/mcp.json", shape: usual},
		{base: project, path: "mcp.json", shape: usual}, // in a plugin, and in a power of Kiro's
		{base: project, path: ".cursor-plugin/plugin.json", shape: usual},
		{base: project, path: ".cursor-plugin/marketplace.json", shape: inPlugins}}},
	{"vscode", "Visual Studio Code", join([]location{
		{base: project, path: ".vscode/mcp.json", shape: "servers"},
		{base: project, path: ".vscode/settings.json", shape: "mcp/servers"},
		{base: project, path: ".vscode/settings.json", shape: "mcp.servers"},
		{base: project, path: "*.code-workspace", shape: "mcp/servers"},
		{base: project, path: "*.code-workspace", shape: "settings/mcp/servers"},
		{base: project, path: "*.code-workspace", shape: "settings/mcp.servers"},
		{base: project, path: "*.code-workspace", shape: "settings/amp.mcpServers"},
		{base: project, path: ".mcp.json", shape: "servers"}, // of Visual Studio, beside a solution
		{base: project, path: ".vs/mcp.json", shape: "servers"}},
		inContainer("customizations/vscode/mcp/servers"), inContainer("customizations/vscode/settings/mcp/servers"),
		inContainer("customizations/vscode/settings/mcp.servers"), inContainer("customizations/vscode/settings/amp.mcpServers"),
		inVSCode("mcp.json", "servers"), inVSCode("settings.json", "mcp/servers"), inVSCode("settings.json", "mcp.servers"))},
	{"copilot", "GitHub Copilot", []location{
		{base: project, path: ".mcp.json", shape: usual},
		{base: project, path: ".github/mcp.json", shape: usual},
		{base: project, path: ".github/agents/**/*.md", shape: "mcp-servers"},
		{base: project, path: ".github/agents/**/*.md", shape: usual},
		{base: project, path: ".claude/agents/**/*.md", shape: "mcp-servers"},
		{base: project, path: ".github/plugin/plugin.json", shape: usual},
		{base: project, path: ".github/plugin/marketplace.json", shape: inPlugins},
		{base: home, path: ".copilot/agents/**/*.md", shape: "mcp-servers"},
		{base: home, path: ".copilot/mcp-config.json", shape: usual, env: "COPILOT_HOME"}}},
	{"windsurf", "Windsurf", []location{
		{base: home, path: ".codeium/windsurf/mcp_config.json", shape: usual}}},
	{"zed", "Zed", []location{
		{base: project, path: ".zed/settings.json", shape: "context_servers"},
		{base: xdg, path: "zed/settings.json", shape: "context_servers"},
		{os: "windows", base: config, path: "Zed/settings.json", shape: "context_servers"}}},
	{"codex", "Codex", []location{
		{base: project, path: ".codex/config.toml", shape: "mcp_servers"},
		{base: project, path: ".codex/config.toml", shape: "agents/*/" + role},
		{base: project, path: ".codex/agents/**/*.toml", shape: "mcp_servers"},
		{base: project, path: ".codex-plugin/plugin.json", shape: usual},
		{base: home, path: ".codex/agents/**/*.toml", shape: "mcp_servers"},
		{base: home, path: ".codex/config.toml", shape: "mcp_servers", env: "CODEX_HOME"}}},
	{"gemini", "Gemini CLI", []location{
		{base: project, path: ".gemini/settings.json", shape: usual},
		{base: project, path: ".gemini/settings.json", shape: "mcp/serverCommand"},
		{base: project, path: ".gemini/settings.json", shape: "mcpServerCommand"},
		{base: project, path: ".gemini/extensions/*/gemini-extension.json", shape: usual},
		{base: project, path: "gemini-extension.json", shape: usual},
		{base: project, path: ".gemini/agents/**/*.md", shape: usual},
		{base: project, path: ".gemini/agents/**/*.md", shape: "mcp_servers"},
		{base: home, path: ".gemini/agents/**/*.md", shape: usual},
		{base: home, path: ".gemini/agents/**/*.md", shape: "mcp_servers"},
		{base: home, path: ".gemini/settings.json", shape: usual},
		{os: "linux", base: system, path: "etc/gemini-cli/settings.json", shape: usual},
		{os: "darwin", base: system, path: "Library/Application Support/GeminiCli/settings.json", shape: usual},
		{os: "windows", base: system, path: "gemini-cli/settings.json", shape: usual}}},
	{"opencode", "opencode", []location{
		{base: project, path: "opencode.json", shape: "mcp"},
		{base: project, path: "opencode.jsonc", shape: "mcp"},
		{base: project, path: ".opencode/opencode.json", shape: "mcp"},
		{base: project, path: ".opencode/opencode.jsonc", shape: "mcp"},
		{base: xdg, path: "opencode/opencode.json", shape: "mcp"},
		{base: xdg, path: "opencode/opencode.jsonc", shape: "mcp"}}},
	{"kiro", "Kiro", []location{
		{base: project, path: ".kiro/settings/mcp.json", shape: usual},
		{base: project, path: ".kiro/agents/*.json", shape: usual},
		{base: project, path: ".amazonq/mcp.json", shape: usual},
		{base: project, path: ".amazonq/default.json", shape: usual},
		{base: project, path: ".amazonq/cli-agents/*.json", shape: usual},
		{base: home, path: ".kiro/settings/mcp.json", shape: usual}}},
	{"lmstudio", "LM Studio", []location{
		{base: home, path: ".lmstudio/mcp.json", shape: usual}}},
	{"cline", "Cline", join(
		inVSCode("globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json", usual), []location{
			{base: home, path: ".cline/data/settings/cline_mcp_settings.json", shape: usual}})},
	{"roo", "Roo Code", join([]location{
		{base: project, path: ".roo/mcp.json", shape: usual}},
		inVSCode("globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json", usual),
		inVSCode("globalStorage/rooveterinaryinc.roo-cline/settings/cline_mcp_settings.json", usual))},
	{"amp", "Amp", join([]location{
		{base: project, path: ".amp/settings.json", shape: "amp.mcpServers"},
		{base: project, path: ".agents/skills/*/mcp.json", shape: itself},
		{base: project, path: ".claude/skills/*/mcp.json", shape: itself},
		{base: project, path: ".vscode/settings.json", shape: "amp.mcpServers"},
		{base: xdg, path: "amp/settings.json", shape: "amp.mcpServers"}},
		inVSCode("settings.json", "amp.mcpServers"))},
	{"goose", "Goose", append(recipes(), []location{
		{base: xdg, path: "goose/config.yaml", shape: "extensions"},
		{os: "windows", base: config, path: "Block/goose/config/config.yaml", shape: "extensions"}}...)},
	{"continue", "Continue", []location{
		{base: project, path: ".continue/mcpServers/**/*.yaml", shape: usual},
		{base: project, path: ".continue/mcpServers/**/*.yml", shape: usual},
		{base: project, path: ".continue/mcpServers/**/*.json", shape: usual},
		{base: project, path: ".continue/config.yaml", shape: usual},
		{base: project, path: ".continue/config.json", shape: usual},
		{base: project, path: ".continue/agents/**/*.yaml", shape: usual},
		{base: project, path: ".continue/agents/**/*.yml", shape: usual},
		{base: project, path: ".continue/assistants/**/*.yaml", shape: usual},
		{base: project, path: ".continue/assistants/**/*.yml", shape: usual},
		{base: project, path: ".continue/config.json", shape: "experimental/modelContextProtocolServers"},
		{base: project, path: ".continuerc.json", shape: usual},
		{base: project, path: ".continuerc.json", shape: "experimental/modelContextProtocolServers"},
		{base: home, path: ".continue/config.yaml", shape: usual},
		{base: home, path: ".continue/config.json", shape: usual},
		{base: home, path: ".continue/mcpServers/**/*.yaml", shape: usual}}},
	{"qwen", "Qwen Code", append(both(".qwen/settings.json", usual), []location{
		{base: project, path: ".qwen/settings.json", shape: "mcp/serverCommand"},
		{base: project, path: ".qwen/settings.json", shape: "mcpServerCommand"},
		{base: project, path: ".qwen/extensions/*/qwen-extension.json", shape: usual},
		{base: project, path: "qwen-extension.json", shape: usual}}...)},
	{"droid", "Droid", both(".factory/mcp.json", usual)},
	{"auggie", "Auggie", append(both(".augment/settings.json", usual),
		location{base: project, path: ".augment/settings.local.json", shape: usual})},
	{"vibe", "Mistral Vibe", append(both(".vibe/config.toml", "mcp_servers"), both(".vibe/agents/**/*.toml", "mcp_servers")...)},
	{"kimi", "Kimi Code", both(".kimi-code/mcp.json", usual)},
	{"mastra", "Mastra Code", both(".mastracode/mcp.json", usual)},
	{"mcporter", "MCPorter", []location{
		{base: project, path: "config/mcporter.json", shape: usual},
		{base: home, path: ".mcporter/mcporter.json", shape: usual}}},
	{"pi", "Pi", []location{
		{base: project, path: ".pi/mcp.json", shape: usual},
		{base: home, path: ".pi/agent/mcp.json", shape: usual}}},
	{"kilo", "Kilo", []location{
		{base: project, path: "kilo.json", shape: "mcp"},
		{base: project, path: "kilo.jsonc", shape: "mcp"},
		{base: project, path: ".kilo/kilo.json", shape: "mcp"},
		{base: project, path: ".kilo/kilo.jsonc", shape: "mcp"},
		{base: project, path: ".kilo/opencode.json", shape: "mcp"},
		{base: project, path: ".kilo/opencode.jsonc", shape: "mcp"},
		{base: project, path: ".kilocode/mcp.json", shape: usual},
		{base: xdg, path: "kilo/kilo.json", shape: "mcp"},
		{base: xdg, path: "kilo/kilo.jsonc", shape: "mcp"}}},
	{"grok", "Grok", both(".grok/config.toml", "mcp_servers")},
	{"crush", "Crush", []location{
		{base: project, path: ".crush.json", shape: "mcp"},
		{base: project, path: "crush.json", shape: "mcp"},
		{base: xdg, path: "crush/crush.json", shape: "mcp"}}},
	{"trae", "Trae", []location{
		{base: project, path: ".trae/mcp.json", shape: usual}}},
	{"firebase-studio", "Firebase Studio", []location{
		{base: project, path: ".idx/mcp.json", shape: usual}}},
	{"junie", "Junie", both(".junie/mcp/mcp.json", usual)},
	{"warp", "Warp", both(".warp/.mcp.json", usual)},
	{"devin", "Devin", []location{
		{base: project, path: ".devin/config.json", shape: usual},
		{base: project, path: ".devin/config.local.json", shape: usual},
		{base: project, path: ".cognition/config.json", shape: usual}, // before it was called Devin
		{base: project, path: ".cognition/config.local.json", shape: usual},
		{os: "linux", base: xdg, path: "devin/config.json", shape: usual},
		{os: "darwin", base: xdg, path: "devin/config.json", shape: usual},
		{os: "windows", base: config, path: "devin/config.json", shape: usual}}},
	{"antigravity", "Antigravity", []location{
		{base: project, path: ".agents/mcp_config.json", shape: usual},
		{base: home, path: ".gemini/config/mcp_config.json", shape: usual}}},
	{"openhands", "OpenHands", []location{
		{base: project, path: ".openhands/microagents/**/*.md", shape: "mcp_tools/mcpServers"},
		{base: project, path: ".openhands/microagents/**/*.md", shape: "mcp_tools/stdio_servers"},
		{base: home, path: ".openhands/mcp.json", shape: usual}}},
	{"jp", "JP", []location{
		{base: project, path: ".jp/config.toml", shape: "providers/mcp"},
		{base: project, path: ".jp.toml", shape: "providers/mcp"},
		{base: project, path: ".jp/mcp/*.toml", shape: "providers/mcp"},
		{base: config, path: "jp/config.toml", shape: "providers/mcp"},
		{base: xdg, path: "jp/config.toml", shape: "providers/mcp"}}},
}

// anyShapes are tried on a file whose name says nothing.
var anyShapes = []string{usual, "servers", "mcp/servers", "mcp.servers", "context_servers", "mcp_servers", "mcp", "amp.mcpServers",
	"extensions", "recipe/extensions", "providers/mcp", "projects/*/mcpServers", inPlugins, "mcp-servers", "mcp_tools/mcpServers"}

// parts are the elements of a location's path, each a name or a pattern.
func (l location) parts() []string { return strings.Split(strings.ToLower(l.path), "/") }

// namedLike reports whether the last elements of a file's path are those of l: two of them
// tell .vscode/mcp.json from .cursor/mcp.json, and one of them is no pattern. file has them
// as spell gives them.
func (l location) namedLike(file []string) bool {
	want := l.parts()
	from := max(0, len(want)-2)
	for from > 0 && strings.ContainsRune(want[from], '*') {
		from--
	}
	return matches(want[from:], file)
}

// marked reports whether the file called name has what tells a file of l from others of its
// name. Of a large one, and of one that cannot be read, that is not known.
func (l location) marked(name string) (yes, known bool) {
	if l.marks == nil {
		return true, true
	}
	data, err := readFile(name, MaxShared)
	return err == nil && l.marks.Match(data), err == nil
}

// spell gives the elements of a path as a file system may take them: names are compared by
// their spelling, so that none is passed over that a client is given for its own.
func spell(name string) []string {
	elements := strings.Split(filepath.ToSlash(name), "/")
	for i, e := range elements {
		elements[i] = archive.Spelling(e)
	}
	return elements
}

// expand gives the files of a location on m. Too many directories to look for them in are an
// error.
func (m Machine) expand(l location) (found []string, err error) {
	if l.os != "" && l.os != m.OS {
		return nil, nil
	}
	dir := ""
	env := func(name string) string {
		if m.Getenv == nil {
			return ""
		}
		return m.Getenv(name)
	}
	name := filepath.FromSlash(l.path)
	inHome := func(parts ...string) string {
		if m.Home == "" {
			return ""
		}
		return filepath.Join(append([]string{m.Home}, parts...)...)
	}
	xdgDir := cmp.Or(env("XDG_CONFIG_HOME"), inHome(".config"))
	switch l.base {
	case home:
		dir = m.Home
	case xdg:
		dir = xdgDir
	case config:
		switch m.OS {
		case "darwin":
			dir = inHome("Library", "Application Support")
		case "windows":
			dir = cmp.Or(env("APPDATA"), inHome("AppData", "Roaming"))
		default:
			dir = xdgDir
		}
	case project:
		dir = m.Project
	case system:
		dir = string(filepath.Separator)
		if m.OS == "windows" {
			dir = env("PROGRAMDATA")
		}
	}
	if l.env != "" && env(l.env) != "" {
		dir, name = env(l.env), filepath.Base(name)
	}
	if dir == "" {
		return nil, nil
	}
	if !strings.ContainsRune(l.path, '*') {
		return []string{filepath.Join(dir, name)}, nil
	}
	head, tail, deeper := strings.Cut(name, "**"+string(filepath.Separator))
	dirs, pattern := []string{dir}, name
	if deeper {
		if dirs, err = deep(filepath.Join(dir, head), nil); err != nil {
			return nil, err
		}
		pattern = tail
	}
	for _, dir := range dirs {
		files, err := filepath.Glob(escapeGlob(dir) + string(filepath.Separator) + pattern)
		if err != nil {
			return nil, nil
		}
		found = append(found, files...)
	}
	return found, nil
}

// escapeGlob makes a directory's name match itself only.
func escapeGlob(dir string) string {
	return strings.NewReplacer(`*`, `[*]`, `?`, `[?]`, `[`, `[[]`).Replace(dir)
}
