package installed

import "github.com/hallmark-mcp/hallmark/project"

var qwen = Target{
	Name: project.TargetQwen, Client: "qwen", Marks: []string{".qwen", "QWEN.md"},
	serversPage: "https://qwenlm.github.io/qwen-code-docs/en/users/features/mcp/",
	skills: noun{
		path: ".qwen/skills/NAME", page: "https://qwenlm.github.io/qwen-code-docs/en/users/features/skills/",
		keep:  standard,
		reads: []string{".agents/skills"},
		needs: nameAndDescription,
	},
	agents: noun{
		path: ".qwen/agents/NAME.md", page: "https://qwenlm.github.io/qwen-code-docs/en/users/features/sub-agents/",
		keep: nameAndDescription, needs: nameAndDescription,
		knows: []string{"model", "approvalMode", "tools", "disallowedTools"},
		tools: &toolbox{
			member: "tools",
			names: rename("read_file: Read", "list_directory: LS", "grep_search: Grep", "glob: Glob",
				"edit: Edit MultiEdit",
				"write_file: Write", "run_shell_command: Bash", "web_fetch: WebFetch", "todo_write: TodoWrite"),
		},
	},
	commands: noun{
		path: ".qwen/commands/NAME.md", page: "https://qwenlm.github.io/qwen-code-docs/en/users/features/commands/",
		keep: []string{"description"}, args: "{{args}}", live: liveInGemini,
	},
	user: &userPlaces{
		marks: []string{".qwen"}, skills: ".qwen/skills/NAME", agents: ".qwen/agents/NAME.md",
		commands: ".qwen/commands/NAME.md",
	},
}
