package installed

import "github.com/hallmark-mcp/hallmark/project"

var zed = Target{
	Name: project.TargetZed, Client: "zed", Marks: []string{".zed"}, Shared: agentsDir,
	serversPage: "https://zed.dev/docs/ai/mcp", skills: agentsSkills.at("https://zed.dev/docs/ai/skills"),
	commands: agentsCommands.at("https://zed.dev/docs/ai/skills"),
}
