package installed

import (
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/project"
)

// codex has prompts for its user only, and calls them deprecated in favour of skills: a command is a
// skill, which a second file keeps the model from starting.
var codex = Target{
	Name: project.TargetCodex, Client: "codex", Marks: []string{".codex"}, Shared: agentsDir,
	serversPage: "https://developers.openai.com/codex/mcp",
	skills:      codexSkills(),
	agents: noun{
		path: ".codex/agents/NAME.toml", page: "https://developers.openai.com/codex/subagents", form: agentTOML,
		keep: nameAndDescription, needs: nameAndDescription,
		knows: []string{"model", "model_reasoning_effort", "sandbox_mode", "nickname_candidates",
			"mcp_servers", "skills", "web_search"},
		tools: readOnlyAs("sandbox_mode", "read-only"),
	},
	commands: codexCommands(),
	user: &userPlaces{
		marks: []string{".codex"}, skills: ".agents/skills/NAME", agents: ".codex/agents/NAME.toml",
		commands: ".agents/skills/NAME/SKILL.md", env: "CODEX_HOME", dir: ".codex",
		also: map[string]facet.Kind{".codex/skills": facet.KindSkill, ".codex/prompts": facet.KindCommand},
	},
}

func codexSkills() noun {
	n := agentsSkills.at("https://developers.openai.com/codex/skills", manualOnly)
	n.also = []string{".codex/skills"}
	return n
}

func codexCommands() noun {
	n := agentsCommands.at("https://developers.openai.com/codex/custom-prompts")
	n.beside = []besides{{path: ".agents/skills/NAME/agents/openai.yaml",
		text: "policy:\n  allow_implicit_invocation: false\n"}}
	return n
}
