package clients

import (
	"cmp"
	"slices"
)

// table has every client. A project's file of one client is listed before the user's.
var table = []client{
	{id: "hallmark", name: "Hallmark", servers: []location{
		{base: project, path: "hallmark.toml", shape: "providers/mcp"}}, isHallmark: true},
	{id: "claude-desktop", name: "Claude Desktop", servers: []location{
		{base: config, path: "Claude/claude_desktop_config.json", shape: usualKey}}},
	{id: "claude-code", name: "Claude Code", servers: slices.Concat([]location{
		{base: project, path: ".mcp.json", shape: usualKey},
		{base: project, path: ".mcp.json", shape: wholeFile}, // in a plugin
		{base: project, path: ".claude-plugin/plugin.json", shape: usualKey},
		{base: project, path: ".claude-plugin/marketplace.json", shape: inPlugins}},
		inProjectAndHome(".claude/agents/**/*.md", usualKey), []location{
			{base: home, path: ".claude.json", shape: usualKey, env: "CLAUDE_CONFIG_DIR"},
			{base: home, path: ".claude.json", shape: "projects/*/mcpServers", env: "CLAUDE_CONFIG_DIR"},
			{os: "linux", base: system, path: "etc/claude-code/managed-mcp.json", shape: usualKey},
			{os: "darwin", base: system, path: "Library/Application Support/ClaudeCode/managed-mcp.json",
				shape: usualKey},
			{os: "windows", base: system, path: "ClaudeCode/managed-mcp.json", shape: usualKey}}),
		// "Hooks reference", "Settings" (helpers), "Plugins reference" and "Skills" of Claude Code;
		// plugins of Codex, Cursor, Copilot and Gemini keep hooks/hooks.json too.
		commands: slices.Concat(
			commandsAt(".claude/settings.json", "hooks", "statusLine", "fileSuggestion", "apiKeyHelper",
				"awsAuthRefresh", "awsCredentialExport", "otelHeadersHelper"),
			commandsAt(".claude/settings.local.json", "hooks", "statusLine", "fileSuggestion", "apiKeyHelper",
				"awsAuthRefresh", "awsCredentialExport", "otelHeadersHelper"),
			commandsAt("hooks/hooks.json", "hooks"), commandsAt(".claude-plugin/plugin.json", "hooks", "lspServers"),
			commandsAt(".lsp.json", wholeFile),
			commandsAt(".claude/agents/**/*.md", "hooks"), commandsAt(".claude/skills/*/SKILL.md", "hooks"),
			commandsAt(".claude/commands/*.md", "hooks")),
		install: &installation{files: []string{".mcp.json"}, key: usualKey, entry: jsonEntry("")}},
	{id: "cursor", name: "Cursor", servers: []location{
		{base: project, path: ".cursor/mcp.json", shape: usualKey},
		{base: home, path: ".cursor/mcp.json", shape: usualKey},
		{base: project, path: "mcp.json", shape: usualKey}, // in a plugin, and in a power of Kiro's
		{base: project, path: ".cursor-plugin/plugin.json", shape: usualKey},
		{base: project, path: ".cursor-plugin/marketplace.json", shape: inPlugins}},
		commands: slices.Concat(
			commandsAt(".cursor/hooks.json", "hooks"), commandsAt(".cursor-plugin/plugin.json", "hooks")),
		install: &installation{files: []string{".cursor/mcp.json"}, key: usualKey, entry: jsonEntry("")}},
	{id: "vscode", name: "Visual Studio Code", servers: slices.Concat([]location{
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
		commands: slices.Concat(
			commandsAt(".vscode/tasks.json", "tasks"), commandsAt("*.code-workspace", "tasks/tasks"),
			commandsAt(".devcontainer/devcontainer.json", "initializeCommand"),
			commandsAt(".devcontainer/*/devcontainer.json", "initializeCommand"),
			commandsAt(".devcontainer.json", "initializeCommand")),
		install: &installation{files: []string{".vscode/mcp.json"}, key: "servers",
			entry: jsonEntry(`"type": "stdio", `)}},
	{id: "copilot", name: "GitHub Copilot", servers: []location{
		{base: project, path: ".mcp.json", shape: usualKey},
		{base: project, path: ".github/mcp.json", shape: usualKey},
		{base: project, path: ".github/agents/**/*.md", shape: "mcp-servers"},
		{base: project, path: ".github/agents/**/*.md", shape: usualKey},
		{base: project, path: ".claude/agents/**/*.md", shape: "mcp-servers"},
		{base: project, path: ".github/plugin/plugin.json", shape: usualKey},
		{base: project, path: ".github/plugin/marketplace.json", shape: inPlugins},
		{base: home, path: ".copilot/agents/**/*.md", shape: "mcp-servers"},
		{base: home, path: ".copilot/mcp-config.json", shape: usualKey, env: "COPILOT_HOME"}},
		// "Hooks configuration" of Copilot.
		commands: slices.Concat(
			commandsAt(".github/hooks/*.json", "hooks"), commandsAt(".github/plugin/plugin.json", "hooks"))},
	{id: "windsurf", name: "Windsurf", servers: []location{
		{base: home, path: ".codeium/windsurf/mcp_config.json", shape: usualKey}},
		// "Hooks" of Windsurf.
		commands: commandsAt(".windsurf/hooks.json", "hooks")},
	{id: "zed", name: "Zed", servers: []location{
		{base: project, path: ".zed/settings.json", shape: "context_servers"},
		{base: xdg, path: "zed/settings.json", shape: "context_servers"},
		{os: "windows", base: config, path: "Zed/settings.json", shape: "context_servers"}},
		install: &installation{files: []string{".zed/settings.json"}, key: "context_servers", entry: jsonEntry("")}},
	{id: "codex", name: "Codex", servers: []location{
		{base: project, path: ".codex/config.toml", shape: "mcp_servers"},
		{base: project, path: ".codex/config.toml", shape: "agents/*/" + roleKey},
		{base: project, path: ".codex/agents/**/*.toml", shape: "mcp_servers"},
		{base: project, path: ".codex-plugin/plugin.json", shape: usualKey},
		{base: home, path: ".codex/agents/**/*.toml", shape: "mcp_servers"},
		{base: home, path: ".codex/config.toml", shape: "mcp_servers", env: "CODEX_HOME"}},
		// "Hooks" and "Advanced configuration" of Codex.
		commands: slices.Concat(
			commandsAt(".codex/hooks.json", "hooks"), commandsAt(".codex/config.toml", "hooks", "notify"),
			commandsAt(".codex-plugin/plugin.json", "hooks")),
		install: &installation{files: []string{".codex/config.toml"}, key: "mcp_servers", entry: codexEntry}},
	{id: "gemini", name: "Gemini CLI", servers: []location{
		{base: project, path: ".gemini/settings.json", shape: usualKey},
		{base: project, path: ".gemini/settings.json", shape: "mcp/serverCommand"},
		{base: project, path: ".gemini/settings.json", shape: "mcpServerCommand"},
		{base: project, path: ".gemini/extensions/*/gemini-extension.json", shape: usualKey},
		{base: project, path: "gemini-extension.json", shape: usualKey},
		{base: project, path: ".gemini/agents/**/*.md", shape: usualKey},
		{base: project, path: ".gemini/agents/**/*.md", shape: "mcp_servers"},
		{base: home, path: ".gemini/agents/**/*.md", shape: usualKey},
		{base: home, path: ".gemini/agents/**/*.md", shape: "mcp_servers"},
		{base: home, path: ".gemini/settings.json", shape: usualKey},
		{os: "linux", base: system, path: "etc/gemini-cli/settings.json", shape: usualKey},
		{os: "darwin", base: system, path: "Library/Application Support/GeminiCli/settings.json", shape: usualKey},
		{os: "windows", base: system, path: "gemini-cli/settings.json", shape: usualKey}},
		commands: commandsAt(".gemini/settings.json", geminiKeys...),
		install:  &installation{files: []string{".gemini/settings.json"}, key: usualKey, entry: jsonEntry("")}},
	{id: "opencode", name: "opencode", placeholders: []string{"{env:", "{file:"}, servers: []location{
		{base: project, path: "opencode.json", shape: "mcp"},
		{base: project, path: "opencode.jsonc", shape: "mcp"},
		{base: project, path: ".opencode/opencode.json", shape: "mcp"},
		{base: project, path: ".opencode/opencode.jsonc", shape: "mcp"},
		{base: xdg, path: "opencode/opencode.json", shape: "mcp"},
		{base: xdg, path: "opencode/opencode.jsonc", shape: "mcp"}},
		// "Plugins" and "Custom tools" of opencode.
		commands: slices.Concat(commandsAt("opencode.json", "plugin", "lsp", "formatter"),
			commandsAt("opencode.jsonc", "plugin", "lsp", "formatter"),
			commandsAt(".opencode/opencode.json", "plugin", "lsp", "formatter"),
			commandsAt(".opencode/opencode.jsonc", "plugin", "lsp", "formatter")),
		programs: scripts(".opencode/plugin/*", ".opencode/plugins/*", ".opencode/tool/*", ".opencode/tools/*"),
		install:  &installation{files: []string{"opencode.jsonc", "opencode.json"}, key: "mcp", entry: opencodeEntry}},
	{id: "kiro", name: "Kiro", servers: []location{
		{base: project, path: ".kiro/settings/mcp.json", shape: usualKey},
		{base: project, path: ".kiro/agents/*.json", shape: usualKey},
		{base: project, path: ".kiro/agents/**/*.md", shape: usualKey},
		{base: project, path: ".amazonq/mcp.json", shape: usualKey},
		{base: project, path: ".amazonq/default.json", shape: usualKey},
		{base: project, path: ".amazonq/cli-agents/*.json", shape: usualKey},
		{base: home, path: ".kiro/settings/mcp.json", shape: usualKey}},
		commands: slices.Concat(
			commandsAt(".kiro/hooks/*.kiro.hook", "then"), commandsAt(".kiro/agents/*.json", "hooks")),
		install: &installation{files: []string{".kiro/settings/mcp.json"}, key: usualKey, entry: jsonEntry("")}},
	{id: "lmstudio", name: "LM Studio", servers: []location{
		{base: home, path: ".lmstudio/mcp.json", shape: usualKey}}},
	{id: "cline", name: "Cline", servers: slices.Concat(
		inVSCode("globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json", usualKey), []location{
			{base: home, path: ".cline/data/settings/cline_mcp_settings.json", shape: usualKey}})},
	{id: "roo", name: "Roo Code", servers: slices.Concat([]location{
		{base: project, path: ".roo/mcp.json", shape: usualKey}},
		inVSCode("globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json", usualKey),
		inVSCode("globalStorage/rooveterinaryinc.roo-cline/settings/cline_mcp_settings.json", usualKey))},
	{id: "amp", name: "Amp", servers: slices.Concat([]location{
		{base: project, path: ".amp/settings.json", shape: "amp.mcpServers"},
		{base: project, path: ".amp/settings.jsonc", shape: "amp.mcpServers"},
		{base: project, path: ".agents/skills/*/mcp.json", shape: wholeFile},
		{base: project, path: ".claude/skills/*/mcp.json", shape: wholeFile},
		{base: project, path: ".vscode/settings.json", shape: "amp.mcpServers"},
		{base: xdg, path: "amp/settings.json", shape: "amp.mcpServers"}},
		inVSCode("settings.json", "amp.mcpServers")),
		install: &installation{files: []string{".amp/settings.json", ".amp/settings.jsonc"}, key: "amp.mcpServers", entry: jsonEntry("")}},
	{id: "goose", name: "Goose", servers: append(gooseRecipes(), []location{
		{base: xdg, path: "goose/config.yaml", shape: "extensions"},
		{os: "windows", base: config, path: "Block/goose/config/config.yaml", shape: "extensions"}}...),
		ownTypes: []string{"builtin", "platform", "frontend"}},
	{id: "continue", name: "Continue", servers: []location{
		{base: project, path: ".continue/mcpServers/**/*.yaml", shape: usualKey},
		{base: project, path: ".continue/mcpServers/**/*.yml", shape: usualKey},
		{base: project, path: ".continue/mcpServers/**/*.json", shape: usualKey},
		{base: project, path: ".continue/config.yaml", shape: usualKey},
		{base: project, path: ".continue/config.json", shape: usualKey},
		{base: project, path: ".continue/agents/**/*.yaml", shape: usualKey},
		{base: project, path: ".continue/agents/**/*.yml", shape: usualKey},
		{base: project, path: ".continue/assistants/**/*.yaml", shape: usualKey},
		{base: project, path: ".continue/assistants/**/*.yml", shape: usualKey},
		{base: project, path: ".continue/config.json", shape: "experimental/modelContextProtocolServers"},
		{base: project, path: ".continuerc.json", shape: usualKey},
		{base: project, path: ".continuerc.json", shape: "experimental/modelContextProtocolServers"},
		{base: home, path: ".continue/config.yaml", shape: usualKey},
		{base: home, path: ".continue/config.json", shape: usualKey},
		{base: home, path: ".continue/mcpServers/**/*.yaml", shape: usualKey}}},
	{id: "qwen", name: "Qwen Code", servers: append(inProjectAndHome(".qwen/settings.json", usualKey), []location{
		{base: project, path: ".qwen/settings.json", shape: "mcp/serverCommand"},
		{base: project, path: ".qwen/settings.json", shape: "mcpServerCommand"},
		{base: project, path: ".qwen/extensions/*/qwen-extension.json", shape: usualKey},
		{base: project, path: "qwen-extension.json", shape: usualKey}}...),
		commands: commandsAt(".qwen/settings.json", geminiKeys...),
		install:  &installation{files: []string{".qwen/settings.json"}, key: usualKey, entry: jsonEntry("")}},
	{id: "droid", name: "Droid", servers: inProjectAndHome(".factory/mcp.json", usualKey),
		// "Hooks" of Droid, whose settings are the older place.
		commands: slices.Concat(
			commandsAt(".factory/hooks.json", wholeFile), commandsAt(".factory/settings.json", "hooks"))},
	{id: "auggie", name: "Auggie", servers: append(inProjectAndHome(".augment/settings.json", usualKey),
		location{base: project, path: ".augment/settings.local.json", shape: usualKey})},
	{id: "vibe", name: "Mistral Vibe",
		servers: append(inProjectAndHome(".vibe/config.toml", "mcp_servers"),
			inProjectAndHome(".vibe/agents/**/*.toml", "mcp_servers")...)},
	{id: "kimi", name: "Kimi Code", servers: inProjectAndHome(".kimi-code/mcp.json", usualKey)},
	{id: "mastra", name: "Mastra Code", servers: inProjectAndHome(".mastracode/mcp.json", usualKey)},
	{id: "mcporter", name: "MCPorter", servers: []location{
		{base: project, path: "config/mcporter.json", shape: usualKey},
		{base: home, path: ".mcporter/mcporter.json", shape: usualKey}}},
	{id: "pi", name: "Pi", servers: []location{
		{base: project, path: ".pi/mcp.json", shape: usualKey},
		{base: home, path: ".pi/agent/mcp.json", shape: usualKey}},
		// "Extensions" of Pi.
		commands: commandsAt(".pi/settings.json", "packages", "extensions"),
		programs: scripts(".pi/extensions/*", ".pi/extensions/*/index")},
	{id: "kilo", name: "Kilo", placeholders: []string{"{env:", "{file:"}, servers: []location{
		{base: project, path: "kilo.json", shape: "mcp"},
		{base: project, path: "kilo.jsonc", shape: "mcp"},
		{base: project, path: ".kilo/kilo.json", shape: "mcp"},
		{base: project, path: ".kilo/kilo.jsonc", shape: "mcp"},
		{base: project, path: ".kilo/opencode.json", shape: "mcp"},
		{base: project, path: ".kilo/opencode.jsonc", shape: "mcp"},
		{base: project, path: ".kilocode/mcp.json", shape: usualKey},
		{base: xdg, path: "kilo/kilo.json", shape: "mcp"},
		{base: xdg, path: "kilo/kilo.jsonc", shape: "mcp"}}},
	{id: "grok", name: "Grok", servers: inProjectAndHome(".grok/config.toml", "mcp_servers")},
	{id: "crush", name: "Crush", servers: []location{
		{base: project, path: ".crush.json", shape: "mcp"},
		{base: project, path: "crush.json", shape: "mcp"},
		{base: xdg, path: "crush/crush.json", shape: "mcp"}},
		commands: slices.Concat(
			commandsAt("crush.json", "lsp"), commandsAt(".crush.json", "lsp")), runsSubstitutions: true, placeholders: []string{"$"},
		programs: []program{{path: "crushrc", adds: true}, {path: ".crushrc", adds: true}}},
	{id: "trae", name: "Trae", servers: []location{
		{base: project, path: ".trae/mcp.json", shape: usualKey}}},
	{id: "firebase-studio", name: "Firebase Studio", servers: []location{
		{base: project, path: ".idx/mcp.json", shape: usualKey}}},
	{id: "junie", name: "Junie", servers: inProjectAndHome(".junie/mcp/mcp.json", usualKey)},
	{id: "warp", name: "Warp", servers: inProjectAndHome(".warp/.mcp.json", usualKey)},
	{id: "devin", name: "Devin", servers: []location{
		{base: project, path: ".devin/config.json", shape: usualKey},
		{base: project, path: ".devin/config.local.json", shape: usualKey},
		{base: project, path: ".cognition/config.json", shape: usualKey}, // before it was called Devin
		{base: project, path: ".cognition/config.local.json", shape: usualKey},
		{os: "linux", base: xdg, path: "devin/config.json", shape: usualKey},
		{os: "darwin", base: xdg, path: "devin/config.json", shape: usualKey},
		{os: "windows", base: config, path: "devin/config.json", shape: usualKey}},
		commands: slices.Concat(
			commandsAt(".devin/hooks.v1.json", wholeFile), commandsAt(".devin/config.json", "hooks"),
			commandsAt(".devin/config.local.json", "hooks"))},
	{id: "antigravity", name: "Antigravity", servers: []location{
		{base: project, path: ".agents/mcp_config.json", shape: usualKey},
		{base: home, path: ".gemini/config/mcp_config.json", shape: usualKey}}},
	{id: "openhands", name: "OpenHands", servers: []location{
		{base: project, path: ".openhands/microagents/**/*.md", shape: "mcp_tools/mcpServers"},
		{base: project, path: ".openhands/microagents/**/*.md", shape: "mcp_tools/stdio_servers"},
		{base: home, path: ".openhands/mcp.json", shape: usualKey}}},
	{id: "jp", name: "JP", servers: []location{
		{base: project, path: ".jp/config.toml", shape: "providers/mcp"},
		{base: project, path: ".jp.toml", shape: "providers/mcp"},
		{base: project, path: ".jp/mcp/*.toml", shape: "providers/mcp"},
		{base: config, path: "jp/config.toml", shape: "providers/mcp"},
		{base: xdg, path: "jp/config.toml", shape: "providers/mcp"}}},
}

// clientOf is the row of the client called id; the zero row if there is none.
func clientOf(id string) client {
	if i := slices.IndexFunc(table, func(c client) bool { return c.id == id }); i >= 0 {
		return table[i]
	}
	return client{}
}

// Title returns the name of the client called id, for messages: "Claude Code".
func Title(id string) string { return cmp.Or(clientOf(id).name, id) }

// Names are the ids of the clients that are known.
func Names() []string {
	var out []string
	for _, c := range table {
		out = append(out, c.id)
	}
	return out
}
