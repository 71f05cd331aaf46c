package installed

import "github.com/hallmark-mcp/hallmark/project"

// gemini has commands as TOML, and refuses an agent with a tool or a member that it does not know.
var gemini = Target{
	Name: project.TargetGemini, Client: "gemini", Marks: []string{".gemini", "GEMINI.md"},
	skillsAreCommands: true, serversPage: "https://geminicli.com/docs/tools/mcp-server",
	skills: noun{
		path: ".gemini/skills/NAME", page: "https://geminicli.com/docs/cli/skills", keep: standard,
		needs: nameAndDescription,
		reads: []string{".agents/skills"},
	},
	agents: noun{
		path: ".gemini/agents/NAME.md", page: "https://geminicli.com/docs/core/subagents", keep: nameAndDescription,
		needs: nameAndDescription,
		knows: []string{"kind", "tools", "mcpServers", "model", "temperature", "max_turns", "timeout_mins"},
		tools: &toolbox{
			member: "tools",
			names: rename("read_file: Read", "list_directory: LS", "grep_search: Grep", "glob: Glob",
				"replace: Edit MultiEdit",
				"write_file: Write", "run_shell_command: Bash", "web_fetch: WebFetch", "google_web_search: WebSearch"),
		},
	},
	commands: noun{
		path: ".gemini/commands/NAME.toml", page: "https://geminicli.com/docs/cli/custom-commands", form: promptTOML,
		keep: []string{"description"}, args: "{{args}}", live: liveInGemini,
	},
	user: &userPlaces{
		marks: []string{".gemini"}, skills: ".gemini/skills/NAME", agents: ".gemini/agents/NAME.md",
		commands: ".gemini/commands/NAME.toml",
	},
}
