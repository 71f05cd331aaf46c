package installed

import "github.com/hallmark-mcp/hallmark/project"

// claudeCode is the client in whose words the front matter of a file is.
var claudeCode = Target{
	Name: project.TargetClaudeCode, Client: "claude-code",
	Marks: []string{".claude", ".mcp.json", "CLAUDE.md"}, serversPage: "https://code.claude.com/docs/en/mcp",
	skills: noun{
		path: ".claude/skills/NAME", page: "https://code.claude.com/docs/en/skills", all: true, keep: standard,
		knows: claudePrompts, live: liveInClaude,
	},
	agents: noun{
		path: ".claude/agents/NAME.md", page: "https://code.claude.com/docs/en/sub-agents", all: true,
		keep: nameAndDescription, needs: nameAndDescription,
		knows: []string{"tools", "disallowedTools", "model", "permissionMode", "maxTurns", "skills", "mcpServers",
			"hooks", "memory", "background", "effort", "isolation", "color", "initialPrompt"},
		live: liveInClaude,
	},
	commands: noun{
		path: ".claude/commands/NAME.md", page: "https://code.claude.com/docs/en/skills", all: true, keep: standard,
		knows: claudePrompts, args: argumentsOfClaude, live: liveInClaude,
	},
	user: &userPlaces{
		marks: []string{".claude", ".claude.json"}, skills: ".claude/skills/NAME", agents: ".claude/agents/NAME.md",
		commands: ".claude/commands/NAME.md", env: "CLAUDE_CONFIG_DIR", dir: ".claude",
	},
}

// claudePrompts are the members of skills, which those of commands are too.
var claudePrompts = []string{"when_to_use", "argument-hint", "arguments", "disable-model-invocation", "user-invocable",
	"allowed-tools", "disallowed-tools", "model", "effort", "context", "agent", "hooks", "paths", "shell"}
