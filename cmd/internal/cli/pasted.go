package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/facets"
	"github.com/hallmark-mcp/hallmark/project"
)

// takeAddress takes an argument that can only be the address of a repository for --git, and returns the other
// arguments.
func takeAddress(f *project.Facet, args []string) ([]string, error) {
	if len(args) == 0 || !facets.IsGitAddress(args[0]) {
		return args, nil
	}
	if f.Git != "" || f.Path != "" {
		return nil, errors.New("the URL of a repository and --git or --path are two sources")
	}
	f.Git = args[0]
	return args[1:], nil
}

// readGit reads what was given as --git, the address of a page and short forms among it. What only the repository knows
// [facets.Locate] finds out.
func readGit(f *project.Facet) (facets.Pasted, error) {
	page, err := facets.ParsePasted(f.Git)
	if err != nil {
		return page, err
	}
	if page, *f, err = page.With(*f); err != nil || page.IsPage() { // an @ in the path of a page is part of it
		return page, err
	}
	return page, splitTag(f)
}

// nameError is the error for an argument that is not the name of a facet. OWNER/REPO may be meant as a repository or as
// a directory, and is not guessed at: somebody else may own the repository of that name. What follows an @ may be meant
// as a tag or, as other programs have it, as a skill.
func nameError(arg, name string) error {
	if !facets.IsOwnerRepo(arg) {
		return fmt.Errorf("%+q is not the name of a facet; a directory is 'hallmark add --path DIR', a repository "+
			"'hallmark add --git URL'", name)
	}
	skill := ""
	if repo, _, has := strings.Cut(arg, "@"); has {
		skill = fmt.Sprintf(", a skill of it 'hallmark add --git %s --skill NAME'", repo)
	}
	return fmt.Errorf("%+q is not the name of a facet; the repository at GitHub is 'hallmark add --git %s'%s, "+
		"the directory 'hallmark add --path %s'", name, arg, skill, arg)
}
