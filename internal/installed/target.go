package installed

import "github.com/hallmark-mcp/hallmark/internal/facet"

// Target is a client, or a directory, that facets are installed for.
type Target struct {
	Name   string   // as hallmark.toml has it: "claude-code", "dir:PATH"
	Marks  []string // files or directories of a project that show that the client is used there
	Shared string   // a directory that shows this only if no other client that reads it is used; "" for none
	Client string   // what package clients calls it; "" if it reads no servers from a project

	// skillsAreCommands is set of a client that offers each skill as a command, beside a command of its name.
	skillsAreCommands bool

	serversPage              string // of its documentation, about servers of a project
	skills, agents, commands noun
	dir                      string // of a target dir:PATH
	user                     *userPlaces
	also                     map[string]facet.Kind // directories of a home directory in which the client looks besides
	home                     bool                  // places are relative to the home directory
	outside                  string                // the variable that moved places out of it
	// in whose directories the client finds what this project has; nil for its own
	skillsOf, commandsOf *Target
}

// noun returns how the client has deliverables of a kind.
func (t Target) noun(kind facet.Kind) noun {
	switch kind {
	case facet.KindAgent:
		return t.agents
	case facet.KindCommand:
		return t.commands
	}
	return t.skills
}

// StartsServers reports whether the client reads from a project which servers to start.
func (t Target) StartsServers() bool { return t.Client != "" || t.dir != "" }
