package installed

import "github.com/hallmark-mcp/hallmark/project"

// windsurf has the servers of its user only.
var windsurf = Target{
	Name: project.TargetWindsurf, Marks: []string{".windsurf", ".windsurfrules"},
	serversPage: "https://docs.windsurf.com/windsurf/cascade/mcp",
	skills: noun{
		path: ".windsurf/skills/NAME", page: "https://docs.windsurf.com/windsurf/cascade/skills", keep: standard,
		reads: []string{".agents/skills"},
		needs: nameAndDescription,
	},
	commands: noun{
		path: ".windsurf/workflows/NAME.md", page: "https://docs.windsurf.com/windsurf/cascade/workflows",
		keep: []string{"description"},
	},
}
