package installed

import "github.com/hallmark-mcp/hallmark/project"

var amp = Target{
	Name: project.TargetAmp, Client: "amp", Marks: []string{".amp"}, Shared: agentsDir,
	serversPage: "https://ampcode.com/manual", skills: ampSkills(),
	commands: agentsCommands.at("https://ampcode.com/manual"),
}

func ampSkills() noun {
	n := agentsSkills.at("https://ampcode.com/manual", manualOnly)
	n.reads = []string{".claude/skills"}
	return n
}
