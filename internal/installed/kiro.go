package installed

import "github.com/hallmark-mcp/hallmark/project"

// kiro has as commands the steering files that it reads only when a person asks for one.
var kiro = Target{
	Name: project.TargetKiro, Client: "kiro", Marks: []string{".kiro"}, serversPage: "https://kiro.dev/docs/mcp/",
	skills: noun{
		path: ".kiro/skills/NAME", page: "https://kiro.dev/docs/skills/", keep: standard, needs: nameAndDescription,
	},
	agents: noun{
		path: ".kiro/agents/NAME.md", page: "https://kiro.dev/docs/custom-agents/", keep: nameAndDescription,
		needs: nameAndDescription, knows: []string{"model", "tools", "mcpServers", "permissions", "hooks", "resources"},
		tools: &toolbox{
			member: "tools",
			names: rename("read: Read NotebookRead Grep Glob LS", "write: Edit MultiEdit NotebookEdit Write",
				"shell: Bash", "web: WebFetch", "subagent: Task Agent"),
		},
	},
	commands: noun{
		path: ".kiro/steering/NAME.md", page: "https://kiro.dev/docs/chat/slash-commands",
		keep: []string{"description"},
		sets: object{{"inclusion", "manual"}}, knows: []string{"fileMatchPattern"},
	},
}
