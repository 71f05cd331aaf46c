package installed

import (
	"path/filepath"
	"slices"

	"github.com/hallmark-mcp/hallmark/internal/workspace"
)

// Targets are the targets of hallmark.toml, or those whose clients are used in the project.
func Targets(w *workspace.Workspace) []string {
	if w.Config.Targets != nil {
		return w.Config.Targets
	}
	isThere := func(mark string) bool { return exists(w.Place(mark)) }
	used, shared := map[string]bool{}, map[string]bool{}
	known := All()
	for i, t := range known {
		t = placed(w, t)
		known[i] = t
		used[t.Name] = slices.ContainsFunc(t.Marks, isThere)
		shared[t.Shared] = shared[t.Shared] || used[t.Name]
	}
	var found []string
	for _, t := range known {
		if t.Shared != "" && !shared[t.Shared] && isThere(t.Shared) { // the first that reads it
			used[t.Name], shared[t.Shared] = true, true
		}
		if used[t.Name] {
			found = append(found, t.Name)
		}
	}
	return found
}

// Marks are the files and directories by which [Targets] finds clients; none if hallmark.toml names the targets.
func Marks(w *workspace.Workspace) (marks []string) {
	if w.Config.Targets != nil {
		return nil
	}
	for _, t := range All() {
		marks = append(marks, placed(w, t).Marks...)
	}
	return marks
}

// Adapters are the targets of the project with what package installed knows of them.
func Adapters(w *workspace.Workspace) (all []Target) {
	for _, name := range Targets(w) {
		if t, ok := Find(name); ok { // hallmark.toml has no others
			all = append(all, placed(w, t))
		}
	}
	return Share(all)
}

// OutsideVariable is the variable that moves the directory of a client out of the home directory; "" if there is none.
func OutsideVariable(w *workspace.Workspace, t Target) string { return placed(w, t).Outside() }

// SkillDirs are the directories in which the targets of the project have a skill of a name, relative to
// [workspace.Workspace.PlaceDir], each once: those that links lead to, as [Reached] says.
func SkillDirs(w *workspace.Workspace, name string) (dirs []string) {
	for _, t := range Adapters(w) {
		if dir := t.SkillDir(name); dir != "" {
			if dir = Reached(w, dir); !slices.Contains(dirs, dir) {
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs
}

// placed is a target in the project, or in the home directory for the project of the user's own clients.
func placed(w *workspace.Workspace, t Target) Target {
	if w.Home == "" {
		return t
	}
	return t.User().Moved(func(env string) (string, bool) {
		dir := w.Host.Getenv(env)
		if dir == "" {
			return "", true
		}
		rel, err := filepath.Rel(w.Home, dir)
		return filepath.ToSlash(rel), err == nil && filepath.IsLocal(rel) && rel != "."
	})
}
