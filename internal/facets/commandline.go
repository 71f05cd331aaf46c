package facets

import "github.com/hallmark-mcp/hallmark/project"

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
	return args
}
