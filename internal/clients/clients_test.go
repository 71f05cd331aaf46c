package clients

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// shape is a file as a client writes it, with what its server is.
type fixture struct {
	client string
	path   string // below the home or project directory
	text   string
	want   Server
}

var fixtures = []fixture{
	{"claude-desktop", "Claude/claude_desktop_config.json", `{
  "globalShortcut": "",
  "mcpServers": {
    "kagi": {
      "command": "uvx",
      "args": ["kagimcp"],
      "env": { "KAGI_API_KEY": "secret" }
    }
  }
}
`, Server{Line: 4, Column: 5, Command: "uvx", Args: []string{"kagimcp"}, Variables: []string{"KAGI_API_KEY"}}},
	{"claude-code", ".mcp.json", `{"mcpServers":{"kagi":{"type":"stdio","command":"uvx","args":["kagimcp"],"env":{}}}}`,
		Server{Line: 1, Column: 16, Command: "uvx", Args: []string{"kagimcp"}}},
	{"claude-code", ".claude.json", `{"numStartups": 3, "projects": {"/src/a": {"mcpServers": {
  "kagi": {"command": "uvx", "args": ["kagimcp"]}}}}}`,
		Server{Line: 2, Column: 3, Scope: "/src/a", Command: "uvx", Args: []string{"kagimcp"}}},
	{"cursor", ".cursor/mcp.json", "{\r\n\t\"mcpServers\": {\r\n\t\t\"kagi\": {\r\n\t\t\t\"command\": \"uvx\" // no arguments\r\n\t\t}\r\n\t}\r\n}\r\n",
		Server{Line: 3, Column: 3, Command: "uvx"}},
	{"vscode", ".vscode/mcp.json", `{
	// servers of this workspace
	"inputs": [{ "id": "key", "type": "promptString", "password": true }],
	"servers": {
		"kagi": { /* a */ "type": "stdio", /* b */ "command": "uvx" /* c */, "args": [
			"kagimcp", // the package
		], "env": {"KEY": "${input:key}"}, },
	},
}
`, Server{Line: 5, Column: 3, Command: "uvx", Args: []string{"kagimcp"}, Variables: []string{"KEY"}}},
	{"vscode", ".vscode/settings.json", `{ "editor.tabSize": 2, "mcp": { "servers": { "kagi": { "command": "uvx", "args": ["kagimcp"] } } } }`,
		Server{Line: 1, Column: 46, Command: "uvx", Args: []string{"kagimcp"}}},
	{"copilot", ".copilot/mcp-config.json", `{"mcpServers": {"kagi": {"type": "local", "command": "uvx", "args": ["kagimcp"], "tools": ["*"]}}}`,
		Server{Line: 1, Column: 17, Command: "uvx", Args: []string{"kagimcp"}}},
	{"windsurf", ".codeium/windsurf/mcp_config.json",
		`{"mcpServers": {"kagi": {"serverUrl": "https://kagi.example.com/mcp", "headers": {"Authorization": "Bearer x"}}}}`,
		Server{Line: 1, Column: 17, URL: "https://kagi.example.com/mcp", Headers: []string{"Authorization"}}},
	{"zed", "zed/settings.json", `{
  "theme": "One Dark", // mine
  "context_servers": {
    "kagi": { "source": "custom", "command": "uvx", "args": ["kagimcp"], "env": null },
    "extension": { "settings": {} }
  }
}`, Server{Line: 4, Column: 5, Command: "uvx", Args: []string{"kagimcp"}}},
	{"zed", ".zed/settings.json", `{"context_servers": {"kagi": {"command": {"path": "uvx", "args": ["kagimcp"], "env": {"A": "b"}}}}}`,
		Server{Line: 1, Column: 22, Command: "uvx", Args: []string{"kagimcp"}, Variables: []string{"A"}}},
	{"codex", ".codex/config.toml", `model = "m" # mine

[mcp_servers.kagi]
command = "uvx"   # the launcher
args = [
  "kagimcp", # the package
]

[mcp_servers.kagi.env]
KAGI_API_KEY = "secret"
`, Server{Line: 3, Column: 14, Command: "uvx", Args: []string{"kagimcp"}, Variables: []string{"KAGI_API_KEY"}}},
	{"codex", "codex-inline/.codex/config.toml", "mcp_servers.kagi = { command = \"uvx\", env = {A = \"b\"} } # c\n",
		Server{Line: 1, Column: 13, Command: "uvx", Variables: []string{"A"}}},
	{"codex", "codex-url/.codex/config.toml", "[mcp_servers.\"kagi\"]\n  command = 'uvx'   # c\n  enabled = false\n",
		Server{Line: 1, Column: 14, Command: "uvx", Disabled: true}},
	{"gemini", ".gemini/settings.json", `{"mcpServers": {"kagi": {"httpUrl": "http://kagi.example.com/mcp", "timeout": 5000, "trust": true}}}`,
		Server{Line: 1, Column: 17, URL: "http://kagi.example.com/mcp"}},
	{"opencode", "opencode.jsonc", `{ "mcp": { "kagi": { "type": "local", "command": ["uvx", "kagimcp"], "enabled": false, "environment": {"K": "v"} } } }`,
		Server{Line: 1, Column: 12, Command: "uvx", Args: []string{"kagimcp"}, Variables: []string{"K"},
			Disabled: true}},
	{"kiro", ".kiro/settings/mcp.json", `{"mcpServers": {"kagi": {"command": "uvx", "args": ["kagimcp"], "disabled": true, "autoApprove": []}}}`,
		Server{Line: 1, Column: 17, Command: "uvx", Args: []string{"kagimcp"}, Disabled: true}},
	{"lmstudio", ".lmstudio/mcp.json", `{"mcpServers": {"kagi": {"command": "uvx", "args": ["kagimcp"]}}}`,
		Server{Line: 1, Column: 17, Command: "uvx", Args: []string{"kagimcp"}}},
	{"cline", "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
		`{mcpServers: {kagi: {args: ['kagimcp'], command: 'u\u0076x', disabled: false}}}`,
		Server{Line: 1, Column: 15, Command: "uvx", Args: []string{"kagimcp"}}},
	{"roo", ".roo/mcp.json", "\uFEFF{\"mcpServers\": {\"kagi\": {\"command\": \"uvx\", \"args\": [\"kagimcp\"]}}}",
		Server{Line: 1, Column: 18, Command: "uvx", Args: []string{"kagimcp"}}},
	{"amp", "amp/settings.json", `{"amp.mcpServers": {"kagi": {"command": "uvx", "args": ["kagimcp"]}}}`,
		Server{Line: 1, Column: 21, Command: "uvx", Args: []string{"kagimcp"}}},
	{"amp", "amp-in-code/.vscode/settings.json", `{"amp.mcpServers": {"kagi": {"command": "uvx", "args": ["kagimcp"], "env": ["A=secret", "B"]}}}`,
		Server{Line: 1, Column: 21, Command: "uvx", Args: []string{"kagimcp"}, Variables: []string{"A", "B"}}},
	{"goose", "goose/config.yaml", `GOOSE_MODEL: m
extensions:
  # search
  kagi:
    args:
    - kagimcp # the package
    bundled: null
    cmd: uvx # the launcher
    enabled: true
    env_keys: [KAGI_API_KEY]
    type: stdio
  developer:
    type: builtin
`, Server{Line: 4, Column: 3, Command: "uvx", Args: []string{"kagimcp"}, Variables: []string{"KAGI_API_KEY"}}},
	{"continue", ".continue/config.yaml", `name: mine
mcpServers:
  - name: kagi
    command: "uvx"
    args:
      - kagimcp
      - 'it''s'
    env:
      KAGI_API_KEY: ${{ secrets.KAGI }}
`, Server{Line: 3, Column: 5, Command: "uvx", Args: []string{"kagimcp", "it's"}, Variables: []string{"KAGI_API_KEY"}}},
	{"continue", ".continue/mcpServers/kagi.yaml",
		"mcpServers:\n  - {name: kagi, command: uvx, args: [\"kagimcp\"] } # flow\n",
		Server{Line: 2, Column: 5, Command: "uvx", Args: []string{"kagimcp"}}},
	{"continue", ".continue/mcpServers/bare.yaml", "mcpServers:\n- name: kagi\n  command: uvx   # bare\n  cwd: /é\n",
		Server{Line: 2, Column: 3, Command: "uvx"}},
	{"jp", ".jp/config.toml", `[providers.mcp.kagi]
command = "/Users/jean/.cargo/bin/uvx"
arguments = ["kagimcp"]
checksum.algorithm = "sha1"
checksum.value = "8ff70dc528c434469b43a1b05f752f46d8abe41c"
type = "stdio"
variables = ["KAGI_API_KEY"]
`, Server{Line: 1, Column: 16, Command: "/Users/jean/.cargo/bin/uvx", Args: []string{"kagimcp"},
		Variables: []string{"KAGI_API_KEY"}, Verify: "checksum", Algorithm: "sha1"}},
	{"cline", ".cline/data/settings/cline_mcp_settings.json",
		`{"mcpServers":{"kagi":{"transport":{"type":"stdio","command":"uvx","args":["kagimcp"],"env":{"K":"v"}},"disabled":false}}}`,
		Server{Line: 1, Column: 16, Command: "uvx", Args: []string{"kagimcp"}, Variables: []string{"K"}}},
	{"cline", "cline-url/.cline/data/settings/cline_mcp_settings.json",
		`{"mcpServers":{"kagi":{"transport":{"type":"streamableHttp","url":"https://kagi.example.com/mcp"}}}}`,
		Server{Line: 1, Column: 16, URL: "https://kagi.example.com/mcp"}},
	{"copilot", ".github/mcp.json", `{"mcpServers":{"kagi":{"command":"uvx"}}}`,
		Server{Line: 1, Column: 16, Command: "uvx"}},
	{"vscode", "acme.code-workspace", `{"folders": [], "settings": {"mcp": {"servers": {"kagi": {"command": "uvx"}}}}}`, Server{Line: 1, Column: 50, Command: "uvx"}},
	{"vscode", ".devcontainer/go/devcontainer.json",
		`{"customizations": {"vscode": {"mcp": {"servers": {"kagi": {"command": "uvx"}}}}}}`,
		Server{Line: 1, Column: 52, Command: "uvx"}},
	{"claude-code", ".claude-plugin/plugin.json", `{"name": "p", "mcpServers": {"kagi": {"command": "uvx"}}}`,
		Server{Line: 1, Column: 30, Command: "uvx"}},
	{"claude-code", "plugin/.mcp.json", `{"kagi": {"command": "uvx"}}`, Server{Line: 1, Column: 2, Command: "uvx"}},
	{"qwen", ".qwen/settings.json", `{"mcpServers":{"kagi":{"command":"uvx"}}}`,
		Server{Line: 1, Column: 16, Command: "uvx"}},
	{"droid", ".factory/mcp.json", `{"mcpServers":{"kagi":{"command":"uvx"}}}`,
		Server{Line: 1, Column: 16, Command: "uvx"}},
	{"auggie", ".augment/settings.local.json", `{"mcpServers":{"kagi":{"command":"uvx"}}}`,
		Server{Line: 1, Column: 16, Command: "uvx"}},
	{"vibe", ".vibe/config.toml", "[[mcp_servers]]\nname = \"kagi\"\ntransport = \"stdio\"\ncommand = \"uvx\"\nargs = [\"kagimcp\"]\n",
		Server{Line: 1, Column: 3, Command: "uvx", Args: []string{"kagimcp"}}},
	{"kimi", ".kimi-code/mcp.json", `{"mcpServers":{"kagi":{"command":"uvx"}}}`,
		Server{Line: 1, Column: 16, Command: "uvx"}},
	{"mastra", ".mastracode/mcp.json", `{"mcpServers":{"kagi":{"command":"uvx"}}}`,
		Server{Line: 1, Column: 16, Command: "uvx"}},
	{"mcporter", "config/mcporter.json", `{"mcpServers":{"kagi":{"command":"uvx"}}}`,
		Server{Line: 1, Column: 16, Command: "uvx"}},
	{"pi", ".pi/mcp.json", `{"mcpServers":{"kagi":{"command":"uvx"}}}`, Server{Line: 1, Column: 16, Command: "uvx"}},
	// Oh My Pi 18.3, its mcp-schema.json.
	{"omp", ".omp/mcp.json", `{"mcpServers":{"kagi":{"type":"stdio","command":"uvx","args":["kagimcp"],"enabled":true}}}`,
		Server{Line: 1, Column: 16, Command: "uvx", Args: []string{"kagimcp"}}},
	{"omp", ".claude/mcp.json", `{"mcpServers":{"kagi":{"command":"uvx"}}}`, Server{Line: 1, Column: 16, Command: "uvx"}},
	{"kilo", "kilo.json", `{"mcp":{"kagi":{"type":"local","command":["uvx","kagimcp"]}}}`,
		Server{Line: 1, Column: 9, Command: "uvx", Args: []string{"kagimcp"}}},
	{"grok", ".grok/config.toml", "[mcp_servers.kagi]\ncommand = \"uvx\"\n",
		Server{Line: 1, Column: 14, Command: "uvx"}},
	{"junie", ".junie/mcp/mcp.json", `{"mcpServers":{"kagi":{"command":"uvx"}}}`,
		Server{Line: 1, Column: 16, Command: "uvx"}},
	// Crush 0.85, docs/config/README.md of its repository; JSON is what it calls legacy.
	{"crush", ".crush.json", `{"$schema":"https://charm.land/crush.json","mcp":{"kagi":{"type":"stdio","command":"uvx","args":["kagimcp"],"timeout":120,"disabled":false,"env":{"K":"$K"}}}}`,
		Server{Line: 1, Column: 51, Command: "uvx", Args: []string{"kagimcp"}, Variables: []string{"K"}}},
	{"crush", "crush/crush.json", `{"mcp":{"kagi":{"type":"http","url":"https://kagi.example.com/mcp","headers":{"Authorization":"Bearer $K"}}}}`,
		Server{Line: 1, Column: 9, URL: "https://kagi.example.com/mcp", Headers: []string{"Authorization"}}},
	// Trae 1.3, its notes of that version: also as a list, with a list of words.
	{"trae", ".trae/mcp.json", `{"mcpServers":[{"name":"kagi","command":["uvx","kagimcp"],"env":{"K":"v"}}]}`,
		Server{Line: 1, Column: 16, Command: "uvx", Args: []string{"kagimcp"}, Variables: []string{"K"}}},
	// Firebase Studio, "Connect to MCP servers", as of 2025-11.
	{"firebase-studio", ".idx/mcp.json", `{"mcpServers":{"kagi":{"command":"uvx","args":["kagimcp"]}}}`,
		Server{Line: 1, Column: 16, Command: "uvx", Args: []string{"kagimcp"}}},
	// Claude Code 2.1, "Create custom subagents": names of servers, and servers.
	{"claude-code", ".claude/agents/search.md", "---\nname: search\ndescription: é\nmcpServers:\n  - github\n  - kagi:\n      type: stdio\n      command: uvx\n      args: [kagimcp]\n---\n\nmcpServers: none\n",
		Server{Line: 6, Column: 5, Command: "uvx", Args: []string{"kagimcp"}}},
	// Copilot CLI 1.0, "Custom agents configuration".
	{"copilot", ".github/agents/search.agent.md", "---\r\ndescription: Searches\r\nmcp-servers:\r\n  kagi:\r\n    type: local\r\n    command: uvx\r\n    args: ['kagimcp']\r\n    tools: ['*']\r\n    env:\r\n      K: ${{ secrets.K }}\r\n---\r\nSearch.\r\n",
		Server{Line: 4, Column: 3, Command: "uvx", Args: []string{"kagimcp"}, Variables: []string{"K"}}},
	// Gemini CLI 0.61, docs/core/subagents.md.
	{"gemini", ".gemini/agents/search.md", "---\nname: search\nmcp_servers:\n  kagi:\n    command: uvx\n---\n",
		Server{Line: 4, Column: 3, Command: "uvx"}},
	// Claude Code 2.1, "Plugins reference" and "Plugin marketplaces"; Cursor and Copilot have the same two files.
	{"claude-code", ".claude-plugin/marketplace.json",
		`{"name":"m","plugins":[{"name":"a","source":"./a"},{"name":"b","source":"./b","strict":false,"mcpServers":{"kagi":{"command":"uvx"}}}]}`,
		Server{Line: 1, Column: 108, Command: "uvx"}},
	{"claude-code", "list/.claude-plugin/plugin.json", `{"name":"p","mcpServers":[{"kagi":{"command":"uvx"}}]}`,
		Server{Line: 1, Column: 28, Command: "uvx"}},
	// Amp, "Lazy-load MCP with Skills" of its news; read in 2026-11.
	{"amp", ".agents/skills/ui/mcp.json", `{"kagi": {"command": "uvx", "args": ["kagimcp"], "includeTools": [
		// names or patterns
		"search"]}}`, Server{Line: 1, Column: 2, Command: "uvx", Args: []string{"kagimcp"}}},
	{"amp", ".claude/skills/ui/mcp.json", `{"kagi": {"command": "uvx"}}`, Server{Line: 1, Column: 2, Command: "uvx"}},
	// Codex, "Subagents" and "Build plugins" of its documentation, as of 2026-05.
	{"codex", ".codex/agents/docs.toml", "name = \"docs\"\ndeveloper_instructions = \"\"\"\nSearch.\n\"\"\"\n[mcp_servers.kagi]\ncommand = \"uvx\"\n",
		Server{Line: 5, Column: 14, Command: "uvx"}},
	{"codex", ".codex-plugin/plugin.json", `{"name": "p", "mcpServers": {"kagi": {"command": "uvx"}}}`,
		Server{Line: 1, Column: 30, Command: "uvx"}},
	// Cursor, "Plugins reference" (mcp.json beside .cursor-plugin), read in 2026-11; a power of
	// Kiro's has the same beside its POWER.md ("Power Builder", 2025-12).
	{"cursor", "plugin/mcp.json", `{"mcpServers": {"kagi": {"command": "uvx"}}}`,
		Server{Line: 1, Column: 17, Command: "uvx"}},
	// Goose, "Recipe Reference Guide": in the current directory under any name, and what its
	// desktop saves in .goose/recipes of a project, there below "recipe". Read in 2026-11.
	{"goose", "recipe.yaml", "version: 1.0.0\ntitle: Search\nextensions:\n  - type: stdio\n    name: kagi\n    cmd: uvx\n    args: [kagimcp]\n    env_keys: [K]\n",
		Server{Line: 4, Column: 5, Command: "uvx", Args: []string{"kagimcp"}, Variables: []string{"K"}}},
	{"goose", ".goose/recipes/search.yaml", "name: Search\nrecipe:\n  title: Search\n  extensions:\n  - {type: stdio, name: kagi, cmd: uvx}\nisGlobal: false\n",
		Server{Line: 5, Column: 5, Command: "uvx"}},
	{"goose", "recipe.json", `{"title": "Search", "extensions": [{"type": "stdio", "name": "kagi", "cmd": "uvx"}]}`,
		Server{Line: 1, Column: 36, Command: "uvx"}},
	// Continue, "config.yaml Reference" (assistants, which agents are called since) and, of
	// config.json and .continuerc.json, "Configuration"; read in 2026-11.
	{"continue", ".continue/assistants/mine.yaml", "name: mine\nmcpServers:\n  - name: kagi\n    command: uvx\n",
		Server{Line: 3, Column: 5, Command: "uvx"}},
	{"continue", ".continuerc.json", `{"experimental": {"modelContextProtocolServers": [{"name": "kagi", "transport": {"type": "stdio", "command": "uvx"}}]}}`,
		Server{Line: 1, Column: 51, Command: "uvx"}},
	// Qwen Code, "Extensions"; read in 2026-11.
	{"qwen", ".qwen/extensions/search/qwen-extension.json",
		`{"name": "search", "version": "1.0.0", "mcpServers": {"kagi": {"command": "uvx"}}}`,
		Server{Line: 1, Column: 55, Command: "uvx"}},
	// Kilo, "Using MCP in Kilo Code"; read in 2026-11.
	{"kilo", ".kilo/kilo.jsonc", `{"mcp":{"kagi":{"type":"local","command":["uvx","kagimcp"]}}}`,
		Server{Line: 1, Column: 9, Command: "uvx", Args: []string{"kagimcp"}}},
	// Warp, "Model Context Protocol", as of 2026-05.
	{"warp", ".warp/.mcp.json", `{"mcpServers": {"kagi": {"command": "uvx"}}}`,
		Server{Line: 1, Column: 17, Command: "uvx"}},
	// Devin for Terminal, "Config file", read in 2026-11; JSON with comments.
	{"devin", ".devin/config.json", `{
  // of this project
  "mcpServers": {"kagi": {"command": "uvx", "args": ["kagimcp"], "env": {"K": "v"}}}}`,
		Server{Line: 3, Column: 18, Command: "uvx", Args: []string{"kagimcp"}, Variables: []string{"K"}}},
	// Antigravity: the page of chrome-devtools-mcp about it, read in 2026-11.
	{"antigravity", ".agents/mcp_config.json", `{"mcpServers": {"kagi": {"command": "uvx"}}}`,
		Server{Line: 1, Column: 17, Command: "uvx"}},
	// OpenHands, issue 153 of its software-agent-sdk, 2025-09; and the form before that.
	{"openhands", ".openhands/microagents/repo.md",
		"---\nname: default-tools\ntype: repo\nmcp_tools: {\n  \"mcpServers\": {\n    \"kagi\": {\n      \"command\": \"uvx\"\n    }\n  }\n}\n---\n",
		Server{Line: 6, Column: 5, Command: "uvx"}},
	{"openhands", ".openhands/microagents/old.md",
		"---\nname: old\nmcp_tools:\n  stdio_servers:\n  - name: kagi\n    command: uvx\n---\n",
		Server{Line: 5, Column: 5, Command: "uvx"}},
	// The pages in the table, read on 2026-11-29.
	{"amazon-q", ".aws/amazonq/default.json", `{"mcpServers":{"kagi":{"command":"uvx"}}}`,
		Server{Line: 1, Column: 16, Command: "uvx"}},
	{"jetbrains", ".ai/mcp/mcp.json", `{"mcpServers":{"kagi":{"command":"uvx"}}}`,
		Server{Line: 1, Column: 16, Command: "uvx"}},
	{"codebuddy", ".codebuddy/.mcp.json", `{"mcpServers":{"kagi":{"command":"uvx"}}}`,
		Server{Line: 1, Column: 16, Command: "uvx"}},
	{"forge", ".forge/.mcp.json", `{"mcpServers":{"kagi":{"command":"uvx"}}}`,
		Server{Line: 1, Column: 16, Command: "uvx"}},
	{"zcode", ".zcode/config.json", `{"mcpServers":{"kagi":{"command":"uvx"}}}`,
		Server{Line: 1, Column: 16, Command: "uvx"}},
	{"iflow", ".iflow/settings.json", `{"mcpServers":{"kagi":{"command":"uvx"}}}`,
		Server{Line: 1, Column: 16, Command: "uvx"}},
	{"comate", ".comate/mcp.local.json", `{"mcpServers":{"kagi":{"command":"uvx"}}}`,
		Server{Line: 1, Column: 16, Command: "uvx"}},
	{"tabnine", ".tabnine/mcp_servers.json", `{"mcpServers":{"kagi":{"command":"uvx"}}}`,
		Server{Line: 1, Column: 16, Command: "uvx"}},
	{"antigravity", ".gemini/antigravity/mcp_config.json", `{"mcpServers":{"kagi":{"command":"uvx"}}}`,
		Server{Line: 1, Column: 16, Command: "uvx"}},
	{"windsurf", ".codeium/mcp_config.json", `{"mcpServers":{"kagi":{"command":"uvx"}}}`,
		Server{Line: 1, Column: 16, Command: "uvx"}},
	{"claude-code", ".claude/plugins/cache/acme/notes/1.0.0/.claude-plugin/plugin.json", `{"mcpServers":{"kagi":{"command":"uvx"}}}`,
		Server{Line: 1, Column: 16, Command: "uvx"}},
	{"gemini", ".gemini/extensions/notes/gemini-extension.json", `{"mcpServers":{"kagi":{"command":"uvx"}}}`,
		Server{Line: 1, Column: 16, Command: "uvx"}},
	{"claude-code", ".claude/plugins/cache/acme/notes/1.0.0/.mcp.json", `{"kagi":{"command":"uvx"}}`,
		Server{Line: 1, Column: 2, Command: "uvx"}},
	{"claude-desktop", "Claude/Claude Extensions/acme.kagi/manifest.json",
		`{"manifest_version":"0.3","name":"kagi","server":{"type":"node","mcp_config":{"command":"node","args":["${__dirname}/x.js"]}}}`,
		Server{Line: 1, Column: 78, Command: "node", Args: []string{"${__dirname}/x.js"}}},
	{"auggie", "augment/.vscode/settings.json", `{"augment.advanced":{"mcpServers":[{"name":"kagi","command":"uvx"}]}}`,
		Server{Line: 1, Column: 36, Command: "uvx"}},
	{"copilot", "github-copilot/intellij/mcp.json", `{"servers":{"kagi":{"command":"uvx"}}}`,
		Server{Line: 1, Column: 13, Command: "uvx"}},
	{"vscode", "Code/User/profiles/-1a2b/mcp.json", `{"servers":{"kagi":{"command":"uvx"}}}`,
		Server{Line: 1, Column: 13, Command: "uvx"}},
	{"fx", ".fx/mcp.json", `{"mcp":{"kagi":{"type":"local","command":["uvx","kagimcp"]}}}`,
		Server{Line: 1, Column: 9, Command: "uvx", Args: []string{"kagimcp"}}},
	{"hermes", ".hermes/config.yaml", "mcp_servers:\n  kagi:\n    command: uvx\n",
		Server{Line: 2, Column: 3, Command: "uvx"}},
	{"opencode", ".opencode/opencode.json", `{"mcp":{"servers":{"kagi":{"command":["uvx"]}}}}`,
		Server{Line: 1, Column: 20, Command: "uvx"}},
	{"kiro", ".kiro/settings/mcp.json", `{"mcpServers":{},"powers":{"mcpServers":{"kagi":{"command":"uvx"}}}}`,
		Server{Line: 1, Column: 42, Command: "uvx"}},
	{"hallmark", "hallmark.toml", "manifest_version = 1\n[providers.mcp.kagi]\ncommand = \"uvx\"\nvariables = []\nverify = {type = \"command\", value = \"x\"}\n",
		Server{Line: 2, Column: 16, Command: "uvx", Verify: "command", Algorithm: "sha256"}},
}

func TestShapes(t *testing.T) {
	covered := map[string]bool{}
	for _, f := range fixtures {
		covered[f.client] = true
		t.Run(f.path, func(t *testing.T) {
			dir := t.TempDir()
			name := filepath.Join(dir, f.path)
			got, err := Parse(FileAt(name), []byte(f.text))
			if err != nil || len(got) != 1 {
				t.Fatalf("%d servers: %v", len(got), err)
			}
			want := f.want
			want.Name, want.File, want.Client = "kagi", name, got[0].Client
			s := got[0]
			s.entry = entry{}
			if !reflect.DeepEqual(s, want) {
				t.Errorf("got\n%+v\nwant\n%+v", s, want)
			}
		})
	}
	for _, id := range Names() {
		if !covered[id] {
			t.Errorf("no file of %s", id)
		}
	}
}

// Whatever is written into an entry, everything else stays byte for byte, it reads back
// as it was meant, and Restore gives the very bytes that were there.
func TestRewriteAndRestore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.SampledFrom(fixtures).Draw(t, "file")
		name := "/base/" + f.path
		data := []byte(f.text)
		servers, err := Parse(FileAt(name), data)
		if err != nil {
			t.Fatal(err)
		}
		s := servers[0]
		word := rapid.StringMatching(`[ -~é😀\n\t"'\\#]{1,12}`)
		command := word.Draw(t, "command")
		least := 0
		if FormatOf(f.path) == YAML {
			least = 1 // no list of a block is empty
		}
		args := rapid.SliceOfN(word, least, 4).Draw(t, "args")
		out, change, err := Rewrite(data, s, command, args)
		if s.URL != "" {
			if err == nil {
				t.Fatal("a URL was rewritten")
			}
			return
		}
		if err != nil {
			t.Fatalf("%s: %v", f.path, err)
		}
		at := strings.Index(f.text, change.Was)
		if at < 0 || string(out) != f.text[:at]+change.Now+f.text[at+len(change.Was):] {
			t.Fatalf("more than %q became %q:\n%s", change.Was, change.Now, out)
		}
		for _, comment := range []string{"secret", "// mine", "inputs", "# mine", "KAGI_API_KEY"} {
			if strings.Count(f.text, comment) != strings.Count(string(out), comment) {
				t.Fatalf("%q is lost:\n%s", comment, out)
			}
		}
		back, err := Restore(out, change)
		if err != nil || string(back) != f.text {
			t.Fatalf("restored (%v)\n%s", err, back)
		}
		if _, err := Restore(data, change); command != s.Command && !errors.Is(err, ErrChanged) {
			t.Fatalf("an entry that was not rewritten is restored: %v", err)
		}
	})
}

// What is edited elsewhere in the file after a rewrite stays too.
func TestRestoreAfterOtherEdits(t *testing.T) {
	text := `{"mcpServers": {"a": {"command": "npx", "args": ["x"]}, "kagi": {"command": "uvx", "args": ["kagimcp"]}}}`
	f := FileAt("/p/.mcp.json")
	servers, err := Parse(f, []byte(text))
	if err != nil || len(servers) != 2 {
		t.Fatal(servers, err)
	}
	out, change, err := Rewrite([]byte(text), servers[1], "hallmark", []string{"run", "kagi"})
	if err != nil {
		t.Fatal(err)
	}
	edited := strings.Replace(string(out), `"x"`, `"x", "y"`, 1)
	back, err := Restore([]byte(edited), change)
	if want := strings.Replace(text, `"x"`, `"x", "y"`, 1); err != nil || string(back) != want {
		t.Errorf("%v\n%s", err, back)
	}
	for name, broken := range map[string]string{
		"edited":  strings.Replace(string(out), `"run"`, `"run", "--x"`, 1),
		"removed": strings.Replace(string(out), `"kagi": {`, `"other": {`, 1),
		"twice":   strings.Replace(string(out), `"a": {`, `"kagi": {`, 1),
		"doubled": strings.Replace(string(out), `"a": {`,
			string(out[strings.Index(string(out), `"kagi"`):len(out)-2])+`, "a": {`, 1),
		"broken": string(out[:len(out)-1]),
	} {
		if back, err := Restore([]byte(broken), change); err == nil {
			t.Errorf("%s: restored\n%s", name, back)
		}
	}
}

func TestPlaces(t *testing.T) {
	env := map[string]map[string]string{
		"linux":   {},
		"darwin":  {},
		"windows": {"APPDATA": "/home/u/AppData/Roaming", "PROGRAMDATA": "/programdata"},
	}
	for _, c := range []struct{ os, client, want string }{
		{"linux", "claude-desktop", "/home/u/.config/Claude/claude_desktop_config.json"},
		{"darwin", "claude-desktop", "/home/u/Library/Application Support/Claude/claude_desktop_config.json"},
		{"windows", "claude-desktop", "/home/u/AppData/Roaming/Claude/claude_desktop_config.json"},
		{"linux", "claude-code", "/home/u/.claude.json"},
		{"linux", "claude-code", "/p/.mcp.json"},
		{"linux", "cursor", "/home/u/.cursor/mcp.json"},
		{"windows", "cursor", "/home/u/.cursor/mcp.json"},
		{"darwin", "vscode", "/home/u/Library/Application Support/Code/User/mcp.json"},
		{"linux", "vscode", "/home/u/.config/Code/User/settings.json"},
		{"windows", "vscode", "/home/u/AppData/Roaming/Code - Insiders/User/mcp.json"},
		{"linux", "vscode", "/p/.vscode/mcp.json"},
		{"linux", "copilot", "/home/u/.copilot/mcp-config.json"},
		{"darwin", "windsurf", "/home/u/.codeium/windsurf/mcp_config.json"},
		{"darwin", "zed", "/home/u/.config/zed/settings.json"},
		{"windows", "zed", "/home/u/AppData/Roaming/Zed/settings.json"},
		{"linux", "codex", "/home/u/.codex/config.toml"},
		{"linux", "codex", "/p/.codex/config.toml"},
		{"windows", "gemini", "/home/u/.gemini/settings.json"},
		{"windows", "gemini", "/programdata/gemini-cli/settings.json"},
		{"linux", "opencode", "/home/u/.config/opencode/opencode.json"},
		{"linux", "kiro", "/p/.kiro/settings/mcp.json"},
		{"darwin", "lmstudio", "/home/u/.lmstudio/mcp.json"},
		{"darwin", "cline", "/home/u/Library/Application Support/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"},
		{"windows", "roo", "/home/u/AppData/Roaming/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json"},
		{"linux", "amp", "/home/u/.config/amp/settings.json"},
		{"linux", "goose", "/home/u/.config/goose/config.yaml"},
		{"windows", "goose", "/home/u/AppData/Roaming/Block/goose/config/config.yaml"},
		{"linux", "continue", "/home/u/.continue/config.yaml"},
		{"linux", "continue", "/p/.continue/mcpServers/kagi.yaml"},
		{"linux", "jp", "/p/.jp/config.toml"},
		{"linux", "hallmark", "/p/hallmark.toml"},
	} {
		t.Run(c.os+" "+c.want, func(t *testing.T) {
			root := t.TempDir()
			below := func(p string) string {
				if p == "" {
					return ""
				}
				return filepath.Join(root, filepath.FromSlash(p))
			}
			m := Machine{OS: c.os, Home: below("/home/u"), Project: below("/p"),
				Getenv: func(name string) string { return below(env[c.os][name]) }}
			want := below(c.want)
			if err := os.MkdirAll(filepath.Dir(want), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(want, nil, 0o666); err != nil {
				t.Fatal(err)
			}
			found, err := Find(m, c.client)
			if err != nil || len(found) != 1 || found[0].Path != want || found[0].Client != c.client {
				t.Errorf("found %+v, %v", found, err)
			}
			all, err := Find(m)
			if err != nil || !slices.ContainsFunc(all, func(f File) bool { return f.Path == want }) {
				t.Errorf("found %+v, %v", all, err)
			}
		})
	}
}

func TestFindNamesClients(t *testing.T) {
	if _, err := Find(Machine{}, "emacs"); err == nil || !strings.Contains(err.Error(), "claude-code") {
		t.Error(err)
	}
	if found, err := Find(Machine{OS: "windows"}); err != nil || len(found) != 0 {
		t.Errorf("a machine without directories has %+v, %v", found, err)
	}
	root := t.TempDir()
	os.WriteFile(filepath.Join(root, "config.toml"), nil, 0o666)
	found, err := Find(Machine{OS: "linux", Home: "/nowhere",
		Getenv: func(n string) string { return map[string]string{"CODEX_HOME": root}[n] }}, "codex")
	if err != nil || len(found) != 1 || found[0].Path != filepath.Join(root, "config.toml") {
		t.Errorf("CODEX_HOME: %+v, %v", found, err)
	}
}

func TestBroken(t *testing.T) {
	deep := strings.Repeat("[", 300) + strings.Repeat("]", 300)
	for _, c := range []struct{ name, text, want string }{
		{"a.json", `{"mcpServers": {`, "line 1, column 17"},
		{"a.json", `{"a": 1} x`, "after the end"},
		{"a.json", `{"a" 1}`, "a ':' is missing"},
		{"a.json", `{"a": }`, "a value is missing"},
		{"a.json", "{\n\"a\": \"x\n\"}", "line 2"},
		{"a.json", "{\n<<<<<<< HEAD\n\"a\": 1\n=======\n\"a\": 2\n>>>>>>> b\n}", "merge conflict"},
		{"a.json", `{"a": 1 "b": 2}`, "a ',' or '}' is missing"},
		{"a.json", `{"a": /* }`, "comment"},
		{"a.json", `{"a": "\u12"}`, "escape"},
		{"a.json", `{"a": ` + deep + `}`, "nest"},
		{"a.json", "{\"a\": \"\xff\"}", "UTF-8"},
		{"a.toml", "a = ", "line 1"},
		{"a.toml", "a = 1\na = 2\n", "TOML"},
		{"a.toml", "a = " + strings.Repeat("[", 20000), "TOML"},
		{"a.yaml", "a: [", "YAML"},
		{"a.yaml", "a: " + deep, "nest"},
		{"a.yaml", "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b, *b, *b, *b, *b, *b, *b]\n", ""},
	} {
		_, err := Parse(FileAt(c.name), []byte(c.text))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40q: %v, want %q", c.text, err, c.want)
		}
	}
}

// Aliases of YAML that multiply are not followed for ever.
func TestAliases(t *testing.T) {
	text := "a0: &a0 [x]\n"
	for i := range 40 {
		text += strings.NewReplacer("N", string(rune('A'+i%26))+strings.Repeat("x", i/26), "O",
			map[bool]string{true: "a0", false: string(rune('A'+(i-1+26)%26)) + strings.Repeat("x",
				(i-1)/26)}[i == 0]).Replace("N: &N [*O, *O]\n")
	}
	if _, err := Parse(FileAt("a.yaml"), []byte(text)); err == nil {
		t.Error("2^40 nodes were made")
	}
}

func TestReplace(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real.json"), filepath.Join(dir, "link.json")
	if err := os.WriteFile(real, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	name := real
	if runtime.GOOS != "windows" {
		if err := os.Symlink("real.json", link); err != nil {
			t.Fatal(err)
		}
		name = link
	}
	if err := Replace(name, func([]byte) ([]byte, error) { return nil, errors.New("no") }); err == nil {
		t.Error("no error")
	}
	if err := Replace(name, func([]byte) ([]byte, error) {
		return []byte("new"),
			os.WriteFile(real, []byte("other"), 0o640)
	}); err == nil {
		t.Error("a change of another program is overwritten")
	}
	if err := Replace(name, func(old []byte) ([]byte, error) { return append(old, " new"...), nil }); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(real)
	st, _ := os.Lstat(name)
	if err != nil || string(data) != "other new" || runtime.GOOS != "windows" && st.Mode()&os.ModeSymlink == 0 {
		t.Errorf("%q, %v, %v", data, st.Mode(), err)
	}
	if st, _ := os.Stat(real); runtime.GOOS != "windows" && st.Mode().Perm() != 0o640 {
		t.Errorf("mode %v", st.Mode())
	}
	if err := Replace(dir, nil); err == nil {
		t.Error("a directory is replaced")
	}
}

func FuzzParse(f *testing.F) {
	for _, x := range fixtures {
		f.Add(x.path, []byte(x.text))
	}
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		file := FileAt(name)
		servers, err := Parse(file, data)
		if err != nil {
			return
		}
		for _, s := range servers {
			if s.Line < 1 || s.Column < 1 || (s.Command == "") == (s.URL == "") {
				t.Fatalf("%+v", s)
			}
			s.File = name
			out, change, err := Rewrite(data, s, "hallmark", []string{"run", s.Name})
			if err != nil {
				continue
			}
			if back, err := Restore(out, change); err != nil || string(back) != string(data) {
				t.Fatalf("restored (%v)\n%q\nfrom\n%q\nof\n%q", err, back, out, data)
			}
		}
	})
}

// TestFileAtNamesClient: a file that is named belongs to the client whose place says most of its path.
func TestFileAtNamesClient(t *testing.T) {
	for name, want := range map[string]string{
		"p/.vscode/mcp.json": "vscode", "p/.cursor/mcp.json": "cursor", "p/mcp.json": "cursor", "p/.mcp.json": "claude-code",
		"h/.omp/agent/mcp.json": "omp", "h/.pi/agent/mcp.json": "pi", "p/unknown.json": "",
	} {
		if got := FileAt(name).Client; got != want {
			t.Errorf("%s is of %q, want %q", name, got, want)
		}
	}
}
