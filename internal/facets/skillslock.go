package facets

import (
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/surface"
)

// skillsLock is the file in which the program skills (npx skills) writes down where it got the skills of a project
// from.
const skillsLock = "skills-lock.json"

// maxSkillsLock is its largest size that is read, in bytes.
const maxSkillsLock = 4 << 20

var (
	ownerAndRepository = spelling.Form(`^[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9_-][A-Za-z0-9_.-]*$`)
	plainRef           = spelling.Form(`^[A-Za-z0-9][A-Za-z0-9_-]*([./][A-Za-z0-9_-]+)*$`)
)

// readSkillsLock is what 'hallmark adopt --git' takes for each skill that another program got from GitHub, by name. It
// is a suggestion: a file that is not understood gives none.
func readSkillsLock(w *workspace.Workspace) map[string]string {
	data, err := host.ReadFile(w.Place(skillsLock), maxSkillsLock)
	if err != nil || data == nil || w.Home != "" {
		return nil
	}
	var lock struct {
		Version int `json:"version"`
		Skills  map[string]struct {
			Source     string `json:"source"`
			SourceType string `json:"sourceType"`
			Ref        string `json:"ref"`
		} `json:"skills"`
	}
	if surface.DecodeKnown(data, &lock) != nil || lock.Version != 1 {
		return nil
	}
	from := map[string]string{}
	for name, s := range lock.Skills {
		switch {
		case s.SourceType != "github" || !ownerAndRepository().MatchString(s.Source):
		case s.Ref == "":
			from[name] = s.Source
		case plainRef().MatchString(s.Ref):
			from[name] = "https://github.com/" + s.Source + "/tree/" + s.Ref
		}
	}
	return from
}
