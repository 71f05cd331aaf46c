package installed

import "github.com/hallmark-mcp/hallmark/project"

// cursor has commands as Markdown without front matter.
var cursor = Target{
	Name: project.TargetCursor, Client: "cursor", Marks: []string{".cursor", ".cursorrules"},
	serversPage: "https://cursor.com/docs/context/mcp",
	skills: noun{
		path: ".cursor/skills/NAME", page: "https://cursor.com/docs/context/skills",
		reads: []string{".agents/skills", ".claude/skills", ".codex/skills"},
		keep:  append([]string{manualOnly}, standard...), needs: nameAndDescription, knows: []string{"paths"},
	},
	agents: noun{
		path: ".cursor/agents/NAME.md", page: "https://cursor.com/docs/agent/subagents", keep: nameAndDescription,
		needs: nameAndDescription, knows: []string{"model", "readonly", "is_background"},
		tools: readOnlyAs("readonly", true),
	},
	commands: noun{
		path: ".cursor/commands/NAME.md", page: "https://cursor.com/docs/context/commands", form: plain,
	},
	user: &userPlaces{
		marks: []string{".cursor"}, skills: ".cursor/skills/NAME", agents: ".cursor/agents/NAME.md",
		commands: ".cursor/commands/NAME.md",
	},
}
