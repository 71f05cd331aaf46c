package facets

import (
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// withFlag is the command that made the request once more, with a flag, as a person may type it.
func (r *facetRequest) withFlag(w *workspace.Workspace, flag string) string {
	var args []string
	switch {
	case len(r.add) == 0:
		args = append([]string{"upgrade"}, r.asked...)
	case r.adopt != nil:
		return "the same command with " + flag
	case len(r.add) == 1:
		args = append([]string{"add"}, addArguments(r.add[0])...)
	default: // each of which may be added by itself, but all or none were
		return "the same command with " + flag
	}
	if w.Home != "" {
		args = append(args, "--global")
	}
	return "'" + host.QuoteArguments(append(append([]string{"hallmark"}, args...), flag)) + "'"
}

// addArguments are the arguments of 'hallmark add' that declare a facet.
func addArguments(f project.Facet) []string {
	name := f.Name
	if requirement := f.Requirement.String(); requirement != "" {
		name += "@" + requirement
	}
	args := []string{name}
	for _, flag := range [][2]string{
		{"--git", f.Git}, {"--tag", f.Tag}, {"--branch", f.Branch}, {"--commit", f.Commit}, {"--sub", f.Sub},
		{"--path", f.Path},
	} {
		if flag[1] != "" {
			args = append(args, flag[0], flag[1])
		}
	}
	if f.Private {
		args = append(args, "--private")
	}
	if f.Prefix != "" && f.Prefix == ownName(f.Name) { // another stays as it is declared
		args = append(args, "--prefix")
	}
	for _, part := range f.Parts {
		args = append(args, "--part", part)
	}
	return args
}
