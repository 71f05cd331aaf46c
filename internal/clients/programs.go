package clients

import "slices"

// starts are the keys below which clients' files of a project hold command lines that the
// client runs itself, as far as its documentation says so (read in 2026-11): hooks, helpers,
// language servers, tasks. They are no servers of MCP, and may start one.
var starts = map[string][]location{
	// "Hooks reference", "Settings" (helpers), "Plugins reference" and "Skills" of Claude Code;
	// plugins of Codex, Cursor, Copilot and Gemini keep hooks/hooks.json too.
	"claude-code": join(
		keyed(".claude/settings.json", "hooks", "statusLine", "fileSuggestion", "apiKeyHelper", "awsAuthRefresh", "awsCredentialExport", "otelHeadersHelper"),
		keyed(".claude/settings.local.json", "hooks", "statusLine", "fileSuggestion", "apiKeyHelper", "awsAuthRefresh", "awsCredentialExport", "otelHeadersHelper"),
		keyed("hooks/hooks.json", "hooks"), keyed(".claude-plugin/plugin.json", "hooks", "lspServers"), keyed(".lsp.json", itself),
		keyed(".claude/agents/**/*.md", "hooks"), keyed(".claude/skills/*/SKILL.md", "hooks"), keyed(".claude/commands/*.md", "hooks")),
	"cursor": join(keyed(".cursor/hooks.json", "hooks"), keyed(".cursor-plugin/plugin.json", "hooks")),
	// "Hooks" and "Advanced configuration" of Codex.
	"codex": join(keyed(".codex/hooks.json", "hooks"), keyed(".codex/config.toml", "hooks", "notify"), keyed(".codex-plugin/plugin.json", "hooks")),
	// "Hooks configuration" of Copilot.
	"copilot": join(keyed(".github/hooks/*.json", "hooks"), keyed(".github/plugin/plugin.json", "hooks")),
	"gemini":  keyed(".gemini/settings.json", geminiKeys...),
	"qwen":    keyed(".qwen/settings.json", geminiKeys...),
	"kiro":    join(keyed(".kiro/hooks/*.kiro.hook", "then"), keyed(".kiro/agents/*.json", "hooks")),
	"devin":   join(keyed(".devin/hooks.v1.json", itself), keyed(".devin/config.json", "hooks"), keyed(".devin/config.local.json", "hooks")),
	// "Hooks" of both; Droid's settings are the older place.
	"windsurf": keyed(".windsurf/hooks.json", "hooks"),
	"droid":    join(keyed(".factory/hooks.json", itself), keyed(".factory/settings.json", "hooks")),
	// Tasks that run when a folder is opened, and the command of a development container that
	// runs outside of it.
	"vscode": join(keyed(".vscode/tasks.json", "tasks"), keyed("*.code-workspace", "tasks/tasks"), keyed(".devcontainer/devcontainer.json", "initializeCommand"),
		keyed(".devcontainer/*/devcontainer.json", "initializeCommand"), keyed(".devcontainer.json", "initializeCommand")),
	"opencode": join(keyed("opencode.json", "plugin", "lsp", "formatter"), keyed("opencode.jsonc", "plugin", "lsp", "formatter"),
		keyed(".opencode/opencode.json", "plugin", "lsp", "formatter"), keyed(".opencode/opencode.jsonc", "plugin", "lsp", "formatter")),
	"crush": join(keyed("crush.json", "lsp"), keyed(".crush.json", "lsp")),
	"pi":    keyed(".pi/settings.json", "packages", "extensions"),
}

// geminiKeys are those of "Gemini CLI configuration", its older spelling included.
var geminiKeys = []string{"hooks", "tools/discoveryCommand", "tools/callCommand", "toolDiscoveryCommand", "toolCallCommand"}

func keyed(path string, keys ...string) (out []location) {
	for _, key := range keys {
		out = append(out, location{base: project, path: path, shape: key, runs: true})
	}
	return out
}

// locations are those of a client's servers and of what else it runs.
func (c client) locations() []location { return slices.Concat(c.files, starts[c.id]) }

// program is a file of a project that is a program, which its client runs when it starts.
type program struct {
	client string
	path   string
	why    string
	adds   bool // servers, in a way of its own
}

// programs are not read. "Plugins" and "Custom tools" of opencode, "Extensions" of Pi.
var programs = func() []program {
	out := []program{
		{"crush", "crushrc", "is a shell script that Crush runs when it starts, which may add servers, and is not read", true},
		{"crush", ".crushrc", "is a shell script that Crush runs when it starts, which may add servers, and is not read", true},
	}
	for _, dir := range []string{"plugin", "plugins", "tool", "tools"} {
		for _, ext := range []string{"js", "ts"} {
			out = append(out, program{"opencode", ".opencode/" + dir + "/*." + ext, "is a program that opencode runs when it starts, and is not read", false})
		}
	}
	for _, path := range []string{"*.ts", "*.js", "*/index.ts", "*/index.js"} {
		out = append(out, program{"pi", ".pi/extensions/" + path, "is a program that Pi runs when it starts, and is not read", false})
	}
	return out
}()
