package adapter

import "github.com/hallmark-mcp/hallmark/project"

var amp = Target{
	Name: project.TargetAmp, Client: "amp", Marks: []string{".amp"}, Shared: agentsDir, serversPage: "https://ampcode.com/manual",
	skills:   agentsSkills.at("https://ampcode.com/manual", manualOnly),
	commands: agentsCommands.at("https://ampcode.com/manual"),
}
