package clients

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// ran are files as clients' documentation has them, and the command lines that it says are run.
var ran = []struct{ path, text, want string }{
	{".claude/settings.json", `{
  "hooks": {"SessionStart": [{"matcher": "startup", "hooks": [{"type": "command", "command": "./start.sh"}, {"type": "prompt", "prompt": "say"}]}]},
  "statusLine": {"type": "command", "command": "./status.sh"},
  "apiKeyHelper": "./key.sh",
  "model": "m"
}`, "2 hooks/SessionStart/hooks: ./start.sh, 3 statusLine: ./status.sh, 4 apiKeyHelper: ./key.sh"},
	{".claude/settings.local.json", `{"awsAuthRefresh": "aws sso login", "hooks": {}}`,
		"1 awsAuthRefresh: aws sso login"},
	{"plugin/hooks/hooks.json", `{"description": "d", "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "${CLAUDE_PLUGIN_ROOT}/x"}]}]}}`, "1 hooks/Stop/hooks: ${CLAUDE_PLUGIN_ROOT}/x"},
	{".claude-plugin/plugin.json", `{"name": "p", "lspServers": {"go": {"command": "gopls", "args": ["serve"]}}}`,
		"1 lspServers/go: gopls"},
	{"plugin/.lsp.json", `{"go": {"command": "gopls"}}`, "1 go: gopls"},
	{".claude/agents/a.md", "---\nname: a\nhooks:\n  PreToolUse:\n    - matcher: Bash\n      hooks:\n        - type: command\n          command: ./x\n---\n", "8 hooks/PreToolUse/hooks: ./x"},
	{".claude/skills/s/SKILL.md", "---\nhooks: {Stop: [{hooks: [{type: command, command: ./x}]}]}\n---\n",
		"2 hooks/Stop/hooks: ./x"},
	{".claude/commands/c.md", "---\nhooks: {Stop: [{hooks: [{command: ./x}]}]}\n---\n", "2 hooks/Stop/hooks: ./x"},
	{".cursor/hooks.json", `{"version": 1, "hooks": {"beforeShellExecution": [{"command": "./a.sh"}], "stop": [{"command": "./b.sh"}]}}`,
		"1 hooks/beforeShellExecution: ./a.sh, 1 hooks/stop: ./b.sh"},
	{".cursor-plugin/plugin.json", `{"name": "p", "hooks": {"stop": [{"command": "./x"}]}}`, "1 hooks/stop: ./x"},
	{".codex/hooks.json", `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x y", "commandWindows": "z"}]}]}}`, "1 hooks/Stop/hooks: x y, 1 hooks/Stop/hooks: z"},
	{".codex/config.toml", "notify = [\"python3\", \"n.py\"]\n[[hooks.PreToolUse]]\nmatcher = \"^Bash$\"\n[[hooks.PreToolUse.hooks]]\ntype = \"command\"\ncommand = 'x'\n",
		"6 hooks/PreToolUse/hooks: x, 1 notify: python3 n.py"},
	{".codex-plugin/plugin.json", `{"name": "p", "hooks": "./hooks/other.json"}`, "1 hooks: ./hooks/other.json"},
	{".github/hooks/check.json", `{"version": 1, "hooks": {"preToolUse": [{"type": "command", "bash": "./c.sh", "powershell": "./c.ps1", "cwd": "scripts"}]}}`,
		"1 hooks/preToolUse: ./c.sh, 1 hooks/preToolUse: ./c.ps1"},
	{".github/plugin/plugin.json", `{"hooks": {"stop": [{"bash": "x"}]}}`, "1 hooks/stop: x"},
	{".gemini/settings.json", `{"tools": {"discoveryCommand": "bin/tools", "callCommand": "bin/call"}, "hooks": {"SessionStart": [{"hooks": [{"command": "x"}]}]}}`,
		"1 hooks/SessionStart/hooks: x, 1 tools/discoveryCommand: bin/tools, 1 tools/callCommand: bin/call"},
	{".qwen/settings.json", `{"toolDiscoveryCommand": "bin/tools"}`, "1 toolDiscoveryCommand: bin/tools"},
	{".kiro/hooks/check.kiro.hook", `{"enabled": true, "name": "check", "when": {"type": "fileEdited"}, "then": {"type": "runCommand", "command": "npx tsc"}}`, "1 then: npx tsc"},
	{".kiro/agents/a.json", `{"name": "a", "hooks": {"agentSpawn": [{"command": "git status"}]}}`,
		"1 hooks/agentSpawn: git status"},
	{".devin/hooks.v1.json", `{"PreToolUse": [{"hooks": [{"type": "command", "command": "x"}]}]}`,
		"1 PreToolUse/hooks: x"},
	{".devin/config.json", `{"hooks": {"Stop": [{"hooks": [{"command": "x"}]}]}}`, "1 hooks/Stop/hooks: x"},
	{".windsurf/hooks.json", `{"hooks": {"pre_user_prompt": [{"command": "./x", "show_output": true}]}}`,
		"1 hooks/pre_user_prompt: ./x"},
	{".factory/hooks.json", `{"SessionStart": [{"hooks": [{"type": "command", "command": "./x"}]}]}`,
		"1 SessionStart/hooks: ./x"},
	{".factory/settings.json", `{"hooks": {"Stop": [{"hooks": [{"command": "./x"}]}]}}`, "1 hooks/Stop/hooks: ./x"},
	{".vscode/tasks.json", `{"version": "2.0.0", "tasks": [{"label": "b", "command": "make"}, {"label": "o", "type": "shell", "command": "./x", "runOptions": {"runOn": "folderOpen"}}]}`, "1 tasks: ./x"},
	{"a.code-workspace", `{"tasks": {"tasks": [{"command": "./x", "runOptions": {"runOn": "folderOpen"}}]}}`,
		"1 tasks/tasks: ./x"},
	{".devcontainer/devcontainer.json", `{"initializeCommand": ["./x", "y"], "postCreateCommand": "make"}`,
		"1 initializeCommand: ./x y"},
	{".devcontainer.json", `{"initializeCommand": {"a": "./x", "b": ["y", "z"]}}`,
		"1 initializeCommand: ./x, 1 initializeCommand: y z"},
	{"opencode.json", `{"plugin": ["pkg", "./p.ts"], "formatter": {"f": {"command": ["fmt", "$FILE"]}}, "lsp": {"l": {"command": ["ls"]}}}`, "1 plugin: pkg ./p.ts, 1 lsp/l: ls, 1 formatter/f: fmt $FILE"},
	{".crush.json", `{"lsp": {"go": {"command": "gopls"}}}`, "1 lsp/go: gopls"},
	{".pi/settings.json", `{"packages": ["npm:pkg@1.0.0"]}`, "1 packages: npm:pkg@1.0.0"},
}

func TestCommands(t *testing.T) {
	covered := map[string]bool{}
	for _, c := range ran {
		found, err := Commands(FileAt(c.path), []byte(c.text))
		var got []string
		for _, cmd := range found {
			got = append(got, fmt.Sprintf("%d %s: %s", cmd.Line, cmd.Key, cmd.Text))
			covered[cmd.Client] = true
		}
		if err != nil || strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %v\ngot  %s\nwant %s", c.path, err, strings.Join(got, ", "), c.want)
		}
	}
	for _, c := range table {
		if len(c.commands) > 0 && !covered[c.id] {
			t.Errorf("no file of %s", c.id)
		}
	}
	if found, err := Commands(FileAt(".claude/settings.json"), []byte(`{"hooks": {'a': {}}}`)); err == nil {
		t.Errorf("%+v", found)
	}
	many := `{"hooks": {"a": [` + strings.Repeat(`{"command": "x"},`, maxCommands+1) + `]}}`
	if _, err := Commands(FileAt(".claude/settings.json"), []byte(many)); err == nil {
		t.Error("no bound")
	}
}

// Programs that clients run from a checkout are named, and only Crush's scripts, which add
// servers, are taken for servers that are not seen.
func TestPrograms(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{".crushrc", "a/crushrc", ".opencode/plugin/a.ts", ".opencode/plugins/a.js",
		"b/.opencode/TOOL/a.ts", ".pi/extensions/a.ts", ".pi/extensions/b/index.ts",
		".opencode/plugin/a.md", "plugin/a.ts", ".pi/extensions/b/other.ts"} {
		put(t, filepath.Join(root, filepath.FromSlash(name)), "")
	}
	var got []string
	_, unread, err := FindBelow(t.Context(), root)
	for _, u := range unread {
		rel, _ := filepath.Rel(root, u.Path)
		got = append(got, fmt.Sprint(filepath.ToSlash(rel), " ", u.Empty))
	}
	slices.Sort(got)
	want := []string{".crushrc false", ".opencode/plugin/a.ts true", ".opencode/plugins/a.js true",
		".pi/extensions/a.ts true", ".pi/extensions/b/index.ts true", "a/crushrc false", "b/.opencode/TOOL/a.ts true"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v\ngot  %q\nwant %q", err, got, want)
	}
	if _, unread, err := FindBelow(t.Context(), root, "pi"); err != nil || len(unread) != 2 {
		t.Errorf("%+v, %v", unread, err)
	}
}

// A file of servers that a plugin's manifest names is told, and no other.
func TestNamed(t *testing.T) {
	manifest := func(value string) string {
		return `{"mcpServers": ` + value + `, "plugins": [{"mcpServers": ` + value + `}]}`
	}
	roles := func(value string) string {
		return "[agents]\nmax_threads = 2\n[agents.a]\nconfig_file = " + value + "\n"
	}
	for _, c := range []struct{ file, text, want string }{
		{"p/.codex-plugin/plugin.json", manifest(`"./.mcp.json"`), "p/.mcp.json"},
		{"p/.claude-plugin/plugin.json", manifest(`"${CLAUDE_PLUGIN_ROOT}/servers/a.json"`), "p/servers/a.json"},
		{"p/.cursor-plugin/plugin.json", manifest(`["x/../mcp.json"]`), "p/mcp.json"},
		{"p/.codex-plugin/plugin.json", manifest(`"../.mcp.json"`), ""},
		{"p/.codex-plugin/plugin.json", manifest(`"/etc/servers.json"`), ""},
		{"p/.codex-plugin/plugin.json", manifest(`"./a.mcpb"`), ""},
		{"p/.claude-plugin/marketplace.json", manifest(`"./a.json"`), ""},
		{"p/.mcp.json", manifest(`"./a.json"`), ""},
		{"p/.codex/config.toml", roles(`"roles/a.toml"`), "p/.codex/roles/a.toml"},
		{"p/.codex/config.toml", roles(`'../a'`), "p/a"},
		{"p/.codex/config.toml", roles(`"/etc/a.toml"`), ""},
		{"p/.codex/config.toml", "mcp_servers = \"a.toml\"", ""},
	} {
		found, err := Inspect(FileAt(c.file), []byte(c.text))
		if err != nil || len(found) == 0 || found[0].Problem == "" {
			t.Fatal(found, err)
		}
		f, ok := NamedFile(FileAt(c.file), found[0])
		if ok != (c.want != "") || ok && filepath.ToSlash(f.Path) != c.want {
			t.Errorf("%s %s: %q, %v", c.file, c.text, f.Path, ok)
		}
	}
	named := File{Path: "a", shapes: []string{usualKey, wholeFile}}
	for _, c := range []struct {
		of   File
		want bool
	}{{named, true}, {File{Path: "a", shapes: []string{usualKey}}, false},
		{File{Path: "b", shapes: named.shapes}, false}} {
		if got := named.ReadBy(c.of); got != c.want {
			t.Errorf("%+v: %v", c.of, got)
		}
	}
}
