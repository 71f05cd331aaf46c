package installed

import (
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/project"
)

// opencode refuses an agent whose members it cannot read, and hands those that it does not know to the
// model's provider.
var opencode = Target{
	Name: project.TargetOpencode, Client: "opencode",
	Marks:       []string{".opencode", "opencode.json", "opencode.jsonc"},
	serversPage: "https://opencode.ai/docs/mcp-servers/",
	skills: noun{
		path: ".opencode/skills/NAME", page: "https://opencode.ai/docs/skills/", keep: standard,
		needs: nameAndDescription,
		reads: []string{".agents/skills", ".claude/skills"},
		also:  []string{".opencode/skill"}, live: liveInOpencode,
	},
	agents: noun{
		path: ".opencode/agents/NAME.md", page: "https://opencode.ai/docs/agents/", keep: []string{"description"},
		also: []string{".opencode/agent", ".opencode/mode", ".opencode/modes"}, needs: []string{"description"},
		knows: []string{"mode", "model", "variant", "temperature", "top_p", "steps", "maxSteps", "disable", "hidden",
			"color", "permission", "tools"},
		tools: &toolbox{
			member: "permission", none: true, write: denyOthers,
			names: rename("read: Read NotebookRead", "grep: Grep", "glob: Glob", "list: LS",
				"edit: Edit MultiEdit NotebookEdit Write", "bash: Bash", "webfetch: WebFetch", "websearch: WebSearch",
				"task: Task Agent", "todowrite: TodoWrite"),
		},
	},
	commands: noun{
		path: ".opencode/commands/NAME.md", page: "https://opencode.ai/docs/commands/", keep: []string{"description"},
		also:  []string{".opencode/command"},
		knows: []string{"agent", "model", "variant", "subtask"}, args: argumentsOfClaude, live: liveInOpencode,
	},
	user: &userPlaces{
		marks: []string{".config/opencode"}, skills: ".config/opencode/skills/NAME",
		agents: ".config/opencode/agents/NAME.md", commands: ".config/opencode/commands/NAME.md",
		also: map[string]facet.Kind{".config/opencode/skill": facet.KindSkill,
			".config/opencode/agent": facet.KindAgent, ".config/opencode/command": facet.KindCommand},
		env: "XDG_CONFIG_HOME", dir: allConfig,
	},
}

// denyOthers is a permission that allows some tools only. The last rule that fits counts.
func denyOthers(words []string) any {
	rules := object{{"*", "deny"}}
	for _, w := range words {
		rules = append(rules, member{w, "allow"})
	}
	return rules
}
