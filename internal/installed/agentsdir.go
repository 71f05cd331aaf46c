package installed

// The directory .agents/skills is read by several clients. Its files are the same for all of them: they
// get what the members of adapters for any of them say.
var (
	agentsReaders = []string{"codex", "amp", "zed"}

	agentsSkills = noun{
		path: ".agents/skills/NAME", keep: append([]string{manualOnly}, standard...), needs: nameAndDescription,
		readers: agentsReaders,
	}
	// A command is a skill that a person starts.
	agentsCommands = noun{
		path: ".agents/skills/NAME/SKILL.md", asSkill: true, keep: standard, needs: nameAndDescription,
		sets: object{{manualOnly, true}}, readers: agentsReaders,
	}
)

// agentsDir is in a project as soon as one of these clients is used there.
const agentsDir = ".agents"

// manualOnly is the member that keeps a model from starting a skill by itself.
const manualOnly = "disable-model-invocation"

// at is a noun of .agents/skills for one client, with the page of its documentation and the members that
// it does not read.
func (n noun) at(page string, unread ...string) noun {
	n.page, n.unread = page, unread
	return n
}
