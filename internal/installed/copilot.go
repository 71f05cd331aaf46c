package installed

import "github.com/hallmark-mcp/hallmark/project"

// vscode is the other name of copilot, by which adapters may call it too.
const vscode = "vscode"

// copilot is GitHub Copilot in Visual Studio Code, whose agents GitHub reads too.
var copilot = Target{
	Name: project.TargetCopilot, Client: "vscode",
	Marks: []string{".vscode/mcp.json", ".github/copilot-instructions.md", ".github/skills", ".github/agents",
		".github/prompts"},
	serversPage: "https://code.visualstudio.com/docs/copilot/customization/mcp-servers",
	skills: noun{
		path: ".github/skills/NAME", page: "https://code.visualstudio.com/docs/copilot/customization/agent-skills",
		reads: []string{".agents/skills", ".claude/skills"},
		keep:  append([]string{manualOnly, "user-invocable", "argument-hint"}, standard...),
		needs: nameAndDescription, knows: []string{"allowed-tools"},
	},
	agents: noun{
		path: ".github/agents/NAME.agent.md", also: []string{".github/chatmodes"},
		page:  "https://code.visualstudio.com/docs/copilot/customization/custom-agents",
		keep:  append([]string{manualOnly, "user-invocable", "argument-hint"}, nameAndDescription...),
		needs: nameAndDescription,
		knows: []string{"tools", "agents", "model", "user-invokable", "infer", "target", "mcp-servers", "handoffs",
			"hooks", "metadata"},
		// "Tool aliases" of https://docs.github.com/en/copilot/reference/custom-agents-configuration
		tools: &toolbox{
			member: "tools",
			names: rename("read: Read NotebookRead", "search: Grep Glob", "edit: Edit MultiEdit NotebookEdit Write",
				"execute: Bash", "web: WebFetch WebSearch", "agent: Task Agent", "todo: TodoWrite"),
		},
	},
	commands: noun{
		path: ".github/prompts/NAME.prompt.md",
		page: "https://code.visualstudio.com/docs/copilot/customization/prompt-files",
		keep: []string{"name", "description", "argument-hint"}, knows: []string{"agent", "model", "tools"},
		args: "${input:…}",
	},
	user: &userPlaces{
		marks: []string{".copilot"}, skills: ".copilot/skills/NAME", agents: ".copilot/agents/NAME.agent.md",
		// prompts of the user are in the profile of an editor, of which there may be many
	},
}
