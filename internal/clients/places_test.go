package clients

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// write writes a file below dir.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	name = filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// Every client but our own says where its places were read, and when.
func TestSources(t *testing.T) {
	for _, c := range table {
		if c.isHallmark {
			continue
		}
		if _, err := time.Parse(time.DateOnly, c.read); err != nil || c.page == "" && c.version == "" ||
			c.page != "" && !strings.HasPrefix(c.page, "https://") {
			t.Errorf("%s: page %q, version %q, read %q", c.id, c.page, c.version, c.read)
		}
		for _, v := range c.variables {
			if !slices.ContainsFunc(c.servers, func(l location) bool { return l.base != project && strings.HasPrefix(l.path, v.stands) }) {
				t.Errorf("%s: %s stands for no place: %q", c.id, v.name, v.stands)
			}
		}
		for _, l := range c.servers {
			if l.plugin && (l.base == project || !strings.Contains(l.path, "*/")) {
				t.Errorf("%s: %s is in no directory of a plugin", c.id, l.path)
			}
		}
	}
}

// Variables of the environment move the user's places, as the clients say.
func TestVariables(t *testing.T) {
	for _, c := range []struct{ client, name, value, file string }{
		{"claude-code", "", "", "home/.claude.json"},
		{"claude-code", "CLAUDE_CONFIG_DIR", "x", "x/.claude.json"},
		{"claude-code", "CLAUDE_CONFIG_DIR", "x", "x/agents/a.md"},
		{"claude-code", "CLAUDE_CODE_PLUGIN_CACHE_DIR", "x", "x/cache/a/b/1/.mcp.json"},
		{"codex", "CODEX_HOME", "x", "x/config.toml"},
		{"codex", "CODEX_HOME", "x", "x/work.config.toml"},
		{"copilot", "COPILOT_HOME", "x", "x/mcp-config.json"},
		{"gemini", "GEMINI_CLI_HOME", "x", "x/.gemini/settings.json"},
		{"gemini", "GEMINI_CLI_SYSTEM_SETTINGS_PATH", "x/s.json", "x/s.json"},
		{"gemini", "GEMINI_CLI_SYSTEM_DEFAULTS_PATH", "x/d.json", "x/d.json"},
		{"gemini", "GEMINI_CLI_SYSTEM_SETTINGS_PATH GEMINI_CLI_HOME", "x/s.json", "x/s.json"},
		{"grok", "GROK_CONFIG_PATH", "x/grokconf", "x/grokconf"},
		{"qwen", "QWEN_HOME", "x", "x/settings.json"},
		{"kiro", "KIRO_HOME", "x", "x/settings/mcp.json"},
		{"opencode", "OPENCODE_CONFIG", "x/o.json", "x/o.json"},
		{"opencode", "OPENCODE_CONFIG", "x/o.json", "home/.config/opencode/opencode.json"},
		{"opencode", "OPENCODE_CONFIG_DIR", "x", "x/opencode.jsonc"},
		{"opencode", "XDG_CONFIG_HOME", "x", "x/opencode/opencode.json"},
		{"amp", "AMP_SETTINGS_FILE", "x/a.json", "x/a.json"},
		{"cline", "CLINE_DIR", "x", "x/data/settings/cline_mcp_settings.json"},
		{"cline", "CLINE_MCP_SETTINGS_PATH", "x/c.json", "x/c.json"},
		{"droid", "FACTORY_HOME_OVERRIDE", "x", "x/.factory/mcp.json"},
		{"goose", "GOOSE_PATH_ROOT", "x", "x/config/config.yaml"},
		{"vibe", "VIBE_HOME", "x", "x/config.toml"},
		{"vscode", "VSCODE_PORTABLE", "x", "x/user-data/User/mcp.json"},
		{"crush", "XDG_DATA_HOME", "x", "x/crush/crush.json"},
		{"jp", "JP_USER_DATA_DIR", "x", "x/workspace/w/config.toml"},
	} {
		dir := t.TempDir()
		name := write(t, dir, c.file, "")
		m := Machine{OS: "linux", Home: filepath.Join(dir, "home"), Getenv: func(name string) string {
			if slices.Contains(strings.Fields(c.name), name) && c.value != "" {
				return filepath.Join(dir, c.value)
			}
			return ""
		}}
		found, err := Find(m, c.client)
		if err != nil || !slices.ContainsFunc(found, func(f File) bool { return f.Path == name && f.User }) {
			t.Errorf("%s, %s=%s: %s is not among %v, %v", c.client, c.name, c.value, c.file, found, err)
		}
	}
}

// TestInstalled: a plugin's servers are found in the version that is installed, and none runs if it is switched off. What
// the directories look like is what Claude Code 2.1 made of a plugin of our own.
func TestInstalled(t *testing.T) {
	dir := t.TempDir()
	m := Machine{OS: "linux", Home: dir}
	at := func(version string) string { return ".claude/plugins/cache/acme/notes/" + version + "/" }
	write(t, dir, at("1.0.0")+".mcp.json", `{"old": {"command": "a"}}`)
	now := write(t, dir, at("1.1.0")+".mcp.json", `{"notes": {"command": "b"}}`)
	named := write(t, dir, at("1.1.0")+".claude-plugin/plugin.json", `{"name": "notes", "mcpServers": "./servers.json"}`)
	servers := func() (names []string, found []File) {
		found, err := Find(m, "claude-code")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			list, err := Load(f)
			if err != nil || !f.Installed || f.Root != filepath.Dir(filepath.Dir(named)) && len(found) == 2 {
				t.Errorf("%+v, %v", f, err)
			}
			for _, s := range list {
				if s.Disabled {
					s.Name += " (off)"
				}
				names = append(names, s.Name)
			}
		}
		slices.Sort(names)
		return names, found
	}
	if got, _ := servers(); !slices.Equal(got, []string{"notes", "old"}) {
		t.Errorf("without a list: %q", got)
	}
	write(t, dir, ".claude/plugins/installed_plugins.json", `{"version": 2, "plugins": {"notes@acme": [{"scope": "user",
		"installPath": "`+filepath.ToSlash(filepath.Dir(now))+`", "version": "1.1.0"}]}}`)
	got, files := servers()
	if !slices.Equal(got, []string{"notes"}) || len(files) != 2 {
		t.Errorf("listed: %q in %v", got, files)
	}
	i := slices.IndexFunc(files, func(f File) bool { return f.Path == named })
	entries, err := Inspect(files[i], []byte(`{"name": "notes", "mcpServers": "./servers.json"}`))
	if err != nil || len(entries) != 1 {
		t.Fatalf("%v, %v", entries, err)
	}
	if to, ok := NamedFile(files[i], entries[0]); !ok || to.Path != filepath.Join(filepath.Dir(now), "servers.json") || !to.User {
		t.Errorf("%+v, %t", to, ok)
	}
	write(t, dir, ".claude/settings.json", `{"enabledPlugins": {"notes@acme": false}}`)
	if got, _ := servers(); !slices.Equal(got, []string{"notes (off)"}) {
		t.Errorf("switched off: %q", got)
	}
	m.Project = filepath.Join(dir, "project")
	write(t, m.Project, ".claude/settings.local.json", `{"enabledPlugins": {"notes@acme": true}}`)
	if got, _ := servers(); !slices.Contains(got, "notes") {
		t.Errorf("switched on in the project: %q", got)
	}
	m.Project = ""

	// A link, or a list of the first version, hides nothing.
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	write(t, dir, ".claude/settings.json", `{}`)
	write(t, dir, ".claude/plugins/installed_plugins.json", `{"version": 1, "plugins": {"notes@acme": {
		"installPath": "`+filepath.ToSlash(filepath.Join(link, ".claude/plugins/cache/acme/notes/1.1.0"))+`"}}}`)
	if got, _ := servers(); !slices.Equal(got, []string{"notes"}) {
		t.Errorf("through a link: %q", got)
	}
	write(t, dir, ".claude/plugins/installed_plugins.json", `{"version": 2, "plugins": {"notes@acme": [{"installPath": "/elsewhere"}]}}`)
	if got, _ := servers(); !slices.Equal(got, []string{"notes", "old"}) {
		t.Errorf("not listed: %q", got)
	}
}

// TestFindElsewhere: what looks like servers where no client reads them is said, and nothing else is.
// A file full of what looks like servers is answered with a few places.
func TestManyElsewhere(t *testing.T) {
	text := `{"mcp": [` + strings.Repeat(`{"servers": {"a": {"command": "npx"}}}, `, 20_000) + `{}]}`
	if got := FindElsewhere([]File{FileAt("/base/.cursor/mcp.json")}, []byte(text)); len(got) != maxElsewhere {
		t.Errorf("%d places", len(got))
	}
}

// A holder of servers that looks like a server itself hides none of them.
func TestHolderAndServer(t *testing.T) {
	for _, c := range []struct{ file, text, want string }{
		{".vscode/settings.json", `{"mcp":{"servers":{"url":"http:","evil":{"command":"npx"}}}}`, "evil url?"},
		{".claude-plugin/marketplace.json", `{"plugins":[{"mcpServers":{"command":"x","args":[],"evil":{"command":"npx"}}}]}`, "args? command? evil"},
		{".kiro/settings/mcp.json", `{"powers":{"mcpServers":{"url":"http://x","evil":{"command":"npx"}}}}`, "evil url?"},
		{"opencode.json", `{"mcp":{"servers":{"url":"https://x","evil":{"command":["npx"]}}}}`, "evil servers"},
		{"opencode.json", `{"mcp":{"servers":{"url":"https://x","evil":{"command":{"path":"npx"}},"headers":{"A":"b"}}}}`, "evil servers"},
		{"opencode.json", `{"mcp":{"servers":{"url":"https://x","headers":{"command":["npx"]}}}}`, "headers servers"},
		{"opencode.json", `{"mcp":{"servers":{"type":"local","command":["x"],"environment":{"A":"b"}}}}`, "servers"},
		{"opencode.json", `{"mcp":{"servers":{"a":{"command":["x"]}},"b":{"command":["y"]}}}`, "a b"},
		{"Claude/Claude Extensions/a/manifest.json",
			`{"name":"a","server":{"mcp_config":{"command":"node","args":["x.js"],"platform_overrides":{"linux":{"command":"npx"},"win32":{"args":["y.js"]}}}}}`,
			"a on linux=npx x.js a on win32=node y.js a=node x.js"},
	} {
		found, err := Inspect(FileAt("/base/"+c.file), []byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
		}
		var got []string
		for _, s := range found {
			switch {
			case s.Problem != "":
				s.Name += "?"
			case strings.Contains(c.want, "="):
				s.Name += "=" + strings.Join(append([]string{s.Command}, s.Args...), " ")
			}
			got = append(got, s.Name)
		}
		slices.Sort(got)
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s %s: got %q, want %q", c.file, c.text, got, c.want)
		}
	}
}

func TestFindElsewhere(t *testing.T) {
	for _, c := range []struct{ file, text, want string }{
		{".vscode/settings.json", `{"mcpServers": {"a": {"command": "npx", "args": ["a"]}}}`, "mcpServers 1:17"},
		{".aws/amazonq/default.json", `{"servers": {"a": {"command": "npx", "args": ["a"]}}}`, "servers 1:14"},
		{"Code/User/settings.json", `{"lsp": {"servers": {"a": {"command": "a", "args": []}}}}`, ""},
		{".vscode/mcp.json", `{"servers": {"a": {"command": "npx", "args": ["a"]}}, "inputs": []}`, ""},
		{".cursor/mcp.json", `{"mcp": {"servers": [{"name": "a", "url": "https://a.example.com"}]}}`, "mcp/servers 1:22"},
		{".cursor/mcp.json", `{"mcpServers": {"a": {"command": "npx"}}}`, ""},
		{".cursor/mcp.json", `{"a": {"command": "npx", "args": []}}`, " 1:2"},
		{".kiro/settings/mcp.json", `{"powers": {"mcpServers": {"a": {"command": "npx"}}}}`, ""},
		{".continue/mcpServers/a.json", `{"command": "npx", "args": ["a"]}`, " 1:1"},
		{"Code/User/settings.json", `{"cody.mcpServers": {"a": {"command": "npx", "args": []}}, "mcp": {"servers": {"b": {"command": "b"}}}}`,
			"cody.mcpServers 1:22"},
		{"Code/User/settings.json", `{"terminal.profiles": {"sh": {"command": "sh", "args": []}}, "chat.mcp.discovery": {"x": true}}`, ""},
		{".codex/config.toml", "[mcpServers.a]\ncommand = \"a\"\nargs = []\n", "mcpServers 1:13"},
		{"goose/config.yaml", "mcp:\n  a:\n    cmd: a\n    args: []\n", "mcp 2:3"},
		{"opencode/opencode.json", `{"mcp": {"servers": {"command": ["a"]}}}`, ""},
		{".vscode/mcp.json", `{"servers": {}, "inputs": [{"type": "command", "id": "t", "command": "x", "args": {}}]}`, ""},
		{".claude/settings.json", `{"allowedMcpServers": [{"serverUrl": "https://x.example.com/*"}]}`, ""},
		{"opencode/opencode.json", `{"provider": {"mcp-gateway": {"options": {"url": "https://x.example.com"}}}}`, ""},
		{"hallmark.toml", "[mcp.a]\ncommand = \"a\"\n", ""},
		{".mcp.json", `{"mcpServers": {}, "x": {"command": "npx", "args": []}}`, ""}, // the second is one of a plugin
	} {
		f := FileAt("/base/" + c.file)
		var got []string
		for _, e := range FindElsewhere([]File{f}, []byte(c.text)) {
			got = append(got, fmt.Sprintf("%s %d:%d", e.Key, e.Line, e.Column))
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s %s: got %q, want %q", c.file, c.text, got, c.want)
		}
	}
}
