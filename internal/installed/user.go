package installed

import (
	"path"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/facet"
)

// userPlaces are where a client reads what its user has for all projects. Paths are relative to the home
// directory, and like those of a noun; "" for what the client reads of projects only.
type userPlaces struct {
	marks                    []string // as those of a target
	skills, agents, commands string
	also                     map[string]facet.Kind // directories in which the client looks besides, and for what
	// env is a variable that names another directory than the one called dir; "" for none.
	env, dir string
}

// allConfig is the directory in which all programs have their configuration.
const allConfig = ".config"

// Outside is the variable that moved the client's places out of the home directory; "" if they are in it.
func (t Target) Outside() string { return t.outside }

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
	t.also = u.also
	return t
}

// Moved is a target for what its user has, as a variable of the environment moves it. Dir gives the directory that a
// variable names, relative to the home directory, with slashes: "" if it is not set, and not ok if it is elsewhere.
// What would be elsewhere is not installed.
func (t Target) Moved(dir func(env string) (at string, ok bool)) Target {
	if !t.home || t.user == nil || t.user.env == "" {
		return t
	}
	at, ok := dir(t.user.env)
	if at == "" && ok {
		return t
	}
	move := func(p string) string {
		rest, inside := strings.CutPrefix(p, t.user.dir)
		switch {
		case !inside || rest != "" && rest[0] != '/':
			return p
		case !ok:
			t.outside = t.user.env
			return ""
		}
		return path.Join(at, rest)
	}
	for _, p := range []*string{&t.skills.path, &t.agents.path, &t.commands.path} {
		*p = move(*p)
	}
	also := map[string]facet.Kind{}
	for dir, kind := range t.also {
		if dir = move(dir); dir != "" {
			also[dir] = kind
		}
	}
	t.also = also
	if !ok && t.user.dir == allConfig {
		return t
	} else if !ok {
		t.Marks = []string{"."} // who set a variable of the client uses it
		return t
	}
	t.Marks = slices.Clone(t.Marks)
	for i := range t.Marks {
		t.Marks[i] = move(t.Marks[i])
	}
	return t
}
