package clients

// table has every client. A project's file of one client is listed before the user's.
var table = []client{
	{id: "hallmark", name: "Hallmark", servers: []location{
		{base: project, path: "hallmark.toml", shape: "providers/mcp"}}, own: true},
	{id: "claude-desktop", name: "Claude Desktop", servers: []location{
		{base: config, path: "Claude/claude_desktop_config.json", shape: usual}}},
	{id: "claude-code", name: "Claude Code", servers: join([]location{
		{base: project, path: ".mcp.json", shape: usual},
		{base: project, path: ".mcp.json", shape: itself}, // in a plugin
		{base: project, path: ".claude-plugin/plugin.json", shape: usual},
		{base: project, path: ".claude-plugin/marketplace.json", shape: inPlugins}},
		both(".claude/agents/**/*.md", usual), []location{
			{base: home, path: ".claude.json", shape: usual, env: "CLAUDE_CONFIG_DIR"},
			{base: home, path: ".claude.json", shape: "projects/*/mcpServers", env: "CLAUDE_CONFIG_DIR"},
			{os: "linux", base: system, path: "etc/claude-code/managed-mcp.json", shape: usual},
			{os: "darwin", base: system, path: "Library/Application Support/ClaudeCode/managed-mcp.json", shape: usual},
			{os: "windows", base: system, path: "ClaudeCode/managed-mcp.json", shape: usual}}),
		// "Hooks reference", "Settings" (helpers), "Plugins reference" and "Skills" of Claude Code;
		// plugins of Codex, Cursor, Copilot and Gemini keep hooks/hooks.json too.
		commands: join(
			keyed(".claude/settings.json", "hooks", "statusLine", "fileSuggestion", "apiKeyHelper", "awsAuthRefresh",
				"awsCredentialExport", "otelHeadersHelper"),
			keyed(".claude/settings.local.json", "hooks", "statusLine", "fileSuggestion", "apiKeyHelper",
				"awsAuthRefresh", "awsCredentialExport", "otelHeadersHelper"),
			keyed("hooks/hooks.json", "hooks"), keyed(".claude-plugin/plugin.json", "hooks", "lspServers"),
			keyed(".lsp.json", itself),
			keyed(".claude/agents/**/*.md", "hooks"), keyed(".claude/skills/*/SKILL.md", "hooks"),
			keyed(".claude/commands/*.md", "hooks")),
		install: &installation{files: []string{".mcp.json"}, key: usual, entry: jsonEntry("")}},
	{id: "cursor", name: "Cursor", servers: []location{
		{base: project, path: ".cursor/mcp.json", shape: usual},
		{base: home, path: ".cursor/mcp.json", shape: usual},
		{base: project, path: "mcp.json", shape: usual}, // in a plugin, and in a power of Kiro's
		{base: project, path: ".cursor-plugin/plugin.json", shape: usual},
		{base: project, path: ".cursor-plugin/marketplace.json", shape: inPlugins}},
		commands: join(keyed(".cursor/hooks.json", "hooks"), keyed(".cursor-plugin/plugin.json", "hooks")),
		install:  &installation{files: []string{".cursor/mcp.json"}, key: usual, entry: jsonEntry("")}},
	{id: "vscode", name: "Visual Studio Code", servers: join([]location{
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
		inContainer("customizations/vscode/settings/mcp.servers"),
		inContainer("customizations/vscode/settings/amp.mcpServers"),
		inVSCode("mcp.json", "servers"), inVSCode("settings.json", "mcp/servers"),
		inVSCode("settings.json", "mcp.servers")),
		// Tasks that run when a folder is opened, and the command of a development container that
		// runs outside of it.
		commands: join(keyed(".vscode/tasks.json", "tasks"), keyed("*.code-workspace", "tasks/tasks"),
			keyed(".devcontainer/devcontainer.json", "initializeCommand"),
			keyed(".devcontainer/*/devcontainer.json", "initializeCommand"),
			keyed(".devcontainer.json", "initializeCommand")),
		install: &installation{files: []string{".vscode/mcp.json"}, key: "servers",
			entry: jsonEntry(`"type": "stdio", `)}},
	{id: "copilot", name: "GitHub Copilot", servers: []location{
		{base: project, path: ".mcp.json", shape: usual},
		{base: project, path: ".github/mcp.json", shape: usual},
		{base: project, path: ".github/agents/**/*.md", shape: "mcp-servers"},
		{base: project, path: ".github/agents/**/*.md", shape: usual},
		{base: project, path: ".claude/agents/**/*.md", shape: "mcp-servers"},
		{base: project, path: ".github/plugin/plugin.json", shape: usual},
		{base: project, path: ".github/plugin/marketplace.json", shape: inPlugins},
		{base: home, path: ".copilot/agents/**/*.md", shape: "mcp-servers"},
		{base: home, path: ".copilot/mcp-config.json", shape: usual, env: "COPILOT_HOME"}},
		// "Hooks configuration" of Copilot.
		commands: join(keyed(".github/hooks/*.json", "hooks"), keyed(".github/plugin/plugin.json", "hooks"))},
	{id: "windsurf", name: "Windsurf", servers: []location{
		{base: home, path: ".codeium/windsurf/mcp_config.json", shape: usual}},
		// "Hooks" of Windsurf.
		commands: keyed(".windsurf/hooks.json", "hooks")},
	{id: "zed", name: "Zed", servers: []location{
		{base: project, path: ".zed/settings.json", shape: "context_servers"},
		{base: xdg, path: "zed/settings.json", shape: "context_servers"},
		{os: "windows", base: config, path: "Zed/settings.json", shape: "context_servers"}}},
	{id: "codex", name: "Codex", servers: []location{
		{base: project, path: ".codex/config.toml", shape: "mcp_servers"},
		{base: project, path: ".codex/config.toml", shape: "agents/*/" + roleKey},
		{base: project, path: ".codex/agents/**/*.toml", shape: "mcp_servers"},
		{base: project, path: ".codex-plugin/plugin.json", shape: usual},
		{base: home, path: ".codex/agents/**/*.toml", shape: "mcp_servers"},
		{base: home, path: ".codex/config.toml", shape: "mcp_servers", env: "CODEX_HOME"}},
		// "Hooks" and "Advanced configuration" of Codex.
		commands: join(keyed(".codex/hooks.json", "hooks"), keyed(".codex/config.toml", "hooks", "notify"),
			keyed(".codex-plugin/plugin.json", "hooks")),
		install: &installation{files: []string{".codex/config.toml"}, key: "mcp_servers", entry: codexEntry}},
	{id: "gemini", name: "Gemini CLI", servers: []location{
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
		{os: "windows", base: system, path: "gemini-cli/settings.json", shape: usual}},
		commands: keyed(".gemini/settings.json", geminiKeys...)},
	{id: "opencode", name: "opencode", servers: []location{
		{base: project, path: "opencode.json", shape: "mcp"},
		{base: project, path: "opencode.jsonc", shape: "mcp"},
		{base: project, path: ".opencode/opencode.json", shape: "mcp"},
		{base: project, path: ".opencode/opencode.jsonc", shape: "mcp"},
		{base: xdg, path: "opencode/opencode.json", shape: "mcp"},
		{base: xdg, path: "opencode/opencode.jsonc", shape: "mcp"}},
		// "Plugins" and "Custom tools" of opencode.
		commands: join(keyed("opencode.json", "plugin", "lsp", "formatter"),
			keyed("opencode.jsonc", "plugin", "lsp", "formatter"),
			keyed(".opencode/opencode.json", "plugin", "lsp", "formatter"),
			keyed(".opencode/opencode.jsonc", "plugin", "lsp", "formatter")),
		programs: scripts(".opencode/plugin/*", ".opencode/plugins/*", ".opencode/tool/*", ".opencode/tools/*"),
		install:  &installation{files: []string{"opencode.jsonc", "opencode.json"}, key: "mcp", entry: opencodeEntry}},
	{id: "kiro", name: "Kiro", servers: []location{
		{base: project, path: ".kiro/settings/mcp.json", shape: usual},
		{base: project, path: ".kiro/agents/*.json", shape: usual},
		{base: project, path: ".amazonq/mcp.json", shape: usual},
		{base: project, path: ".amazonq/default.json", shape: usual},
		{base: project, path: ".amazonq/cli-agents/*.json", shape: usual},
		{base: home, path: ".kiro/settings/mcp.json", shape: usual}},
		commands: join(keyed(".kiro/hooks/*.kiro.hook", "then"), keyed(".kiro/agents/*.json", "hooks"))},
	{id: "lmstudio", name: "LM Studio", servers: []location{
		{base: home, path: ".lmstudio/mcp.json", shape: usual}}},
	{id: "cline", name: "Cline", servers: join(
		inVSCode("globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json", usual), []location{
			{base: home, path: ".cline/data/settings/cline_mcp_settings.json", shape: usual}})},
	{id: "roo", name: "Roo Code", servers: join([]location{
		{base: project, path: ".roo/mcp.json", shape: usual}},
		inVSCode("globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json", usual),
		inVSCode("globalStorage/rooveterinaryinc.roo-cline/settings/cline_mcp_settings.json", usual))},
	{id: "amp", name: "Amp", servers: join([]location{
		{base: project, path: ".amp/settings.json", shape: "amp.mcpServers"},
		{base: project, path: ".agents/skills/*/mcp.json", shape: itself},
		{base: project, path: ".claude/skills/*/mcp.json", shape: itself},
		{base: project, path: ".vscode/settings.json", shape: "amp.mcpServers"},
		{base: xdg, path: "amp/settings.json", shape: "amp.mcpServers"}},
		inVSCode("settings.json", "amp.mcpServers"))},
	{id: "goose", name: "Goose", servers: append(recipes(), []location{
		{base: xdg, path: "goose/config.yaml", shape: "extensions"},
		{os: "windows", base: config, path: "Block/goose/config/config.yaml", shape: "extensions"}}...)},
	{id: "continue", name: "Continue", servers: []location{
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
	{id: "qwen", name: "Qwen Code", servers: append(both(".qwen/settings.json", usual), []location{
		{base: project, path: ".qwen/settings.json", shape: "mcp/serverCommand"},
		{base: project, path: ".qwen/settings.json", shape: "mcpServerCommand"},
		{base: project, path: ".qwen/extensions/*/qwen-extension.json", shape: usual},
		{base: project, path: "qwen-extension.json", shape: usual}}...),
		commands: keyed(".qwen/settings.json", geminiKeys...)},
	{id: "droid", name: "Droid", servers: both(".factory/mcp.json", usual),
		// "Hooks" of Droid, whose settings are the older place.
		commands: join(keyed(".factory/hooks.json", itself), keyed(".factory/settings.json", "hooks"))},
	{id: "auggie", name: "Auggie", servers: append(both(".augment/settings.json", usual),
		location{base: project, path: ".augment/settings.local.json", shape: usual})},
	{id: "vibe", name: "Mistral Vibe",
		servers: append(both(".vibe/config.toml", "mcp_servers"), both(".vibe/agents/**/*.toml", "mcp_servers")...)},
	{id: "kimi", name: "Kimi Code", servers: both(".kimi-code/mcp.json", usual)},
	{id: "mastra", name: "Mastra Code", servers: both(".mastracode/mcp.json", usual)},
	{id: "mcporter", name: "MCPorter", servers: []location{
		{base: project, path: "config/mcporter.json", shape: usual},
		{base: home, path: ".mcporter/mcporter.json", shape: usual}}},
	{id: "pi", name: "Pi", servers: []location{
		{base: project, path: ".pi/mcp.json", shape: usual},
		{base: home, path: ".pi/agent/mcp.json", shape: usual}},
		// "Extensions" of Pi.
		commands: keyed(".pi/settings.json", "packages", "extensions"),
		programs: scripts(".pi/extensions/*", ".pi/extensions/*/index")},
	{id: "kilo", name: "Kilo", servers: []location{
		{base: project, path: "kilo.json", shape: "mcp"},
		{base: project, path: "kilo.jsonc", shape: "mcp"},
		{base: project, path: ".kilo/kilo.json", shape: "mcp"},
		{base: project, path: ".kilo/kilo.jsonc", shape: "mcp"},
		{base: project, path: ".kilo/opencode.json", shape: "mcp"},
		{base: project, path: ".kilo/opencode.jsonc", shape: "mcp"},
		{base: project, path: ".kilocode/mcp.json", shape: usual},
		{base: xdg, path: "kilo/kilo.json", shape: "mcp"},
		{base: xdg, path: "kilo/kilo.jsonc", shape: "mcp"}}},
	{id: "grok", name: "Grok", servers: both(".grok/config.toml", "mcp_servers")},
	{id: "crush", name: "Crush", servers: []location{
		{base: project, path: ".crush.json", shape: "mcp"},
		{base: project, path: "crush.json", shape: "mcp"},
		{base: xdg, path: "crush/crush.json", shape: "mcp"}},
		commands: join(keyed("crush.json", "lsp"), keyed(".crush.json", "lsp")), substitutes: true,
		programs: []program{{path: "crushrc", adds: true}, {path: ".crushrc", adds: true}}},
	{id: "trae", name: "Trae", servers: []location{
		{base: project, path: ".trae/mcp.json", shape: usual}}},
	{id: "firebase-studio", name: "Firebase Studio", servers: []location{
		{base: project, path: ".idx/mcp.json", shape: usual}}},
	{id: "junie", name: "Junie", servers: both(".junie/mcp/mcp.json", usual)},
	{id: "warp", name: "Warp", servers: both(".warp/.mcp.json", usual)},
	{id: "devin", name: "Devin", servers: []location{
		{base: project, path: ".devin/config.json", shape: usual},
		{base: project, path: ".devin/config.local.json", shape: usual},
		{base: project, path: ".cognition/config.json", shape: usual}, // before it was called Devin
		{base: project, path: ".cognition/config.local.json", shape: usual},
		{os: "linux", base: xdg, path: "devin/config.json", shape: usual},
		{os: "darwin", base: xdg, path: "devin/config.json", shape: usual},
		{os: "windows", base: config, path: "devin/config.json", shape: usual}},
		commands: join(keyed(".devin/hooks.v1.json", itself), keyed(".devin/config.json", "hooks"),
			keyed(".devin/config.local.json", "hooks"))},
	{id: "antigravity", name: "Antigravity", servers: []location{
		{base: project, path: ".agents/mcp_config.json", shape: usual},
		{base: home, path: ".gemini/config/mcp_config.json", shape: usual}}},
	{id: "openhands", name: "OpenHands", servers: []location{
		{base: project, path: ".openhands/microagents/**/*.md", shape: "mcp_tools/mcpServers"},
		{base: project, path: ".openhands/microagents/**/*.md", shape: "mcp_tools/stdio_servers"},
		{base: home, path: ".openhands/mcp.json", shape: usual}}},
	{id: "jp", name: "JP", servers: []location{
		{base: project, path: ".jp/config.toml", shape: "providers/mcp"},
		{base: project, path: ".jp.toml", shape: "providers/mcp"},
		{base: project, path: ".jp/mcp/*.toml", shape: "providers/mcp"},
		{base: config, path: "jp/config.toml", shape: "providers/mcp"},
		{base: xdg, path: "jp/config.toml", shape: "providers/mcp"}}},
}

// anyShapes are tried on a file whose name says nothing.
var anyShapes = []string{
	usual, "servers", "mcp/servers", "mcp.servers", "context_servers", "mcp_servers", "mcp", "amp.mcpServers",
	"extensions", "recipe/extensions", "providers/mcp", "projects/*/mcpServers", inPlugins, "mcp-servers",
	"mcp_tools/mcpServers",
}
