package adapter

// userPlaces are where a client reads what its user has for all projects. Paths are relative to the home
// directory, and like those of a noun; "" for what the client reads of projects only.
type userPlaces struct {
	marks                    []string // as those of a target
	skills, agents, commands string
}

// HasUser reports whether it is known where the client reads its user's own deliverables and servers.
func (t Target) HasUser() bool { return t.user != nil }

// User is the target for what its user has for all projects: its marks and places are relative to the home
// directory. A client of which no such places are known has no deliverables there.
func (t Target) User() Target {
	u := t.user
	if u == nil {
		u = &userPlaces{}
		t.Client = ""
	}
	t.home, t.Marks, t.Shared = true, u.marks, ""
	t.skills.path, t.agents.path, t.commands.path = u.skills, u.agents, u.commands
	return t
}
