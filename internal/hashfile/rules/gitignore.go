package rules

import (
	"os"
	"strings"
)

// GitIgnore holds the globs of one .gitignore file.
type GitIgnore struct {
	dir   string // its directory, from the root
	globs []Glob
}

// ReadGitIgnore reads the .gitignore of an open directory, rel from the root. A file that cannot be read ignores
// nothing.
func ReadGitIgnore(dir *os.Root, rel string) GitIgnore {
	g := GitIgnore{dir: rel}
	text, _, err := readSmall(openerIn(dir, ".gitignore"))
	if err != nil {
		return g
	}
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) { // which git drops as well
		line = strings.TrimRight(line, "\r\n")
		if !strings.HasSuffix(line, `\ `) {
			line = strings.TrimRight(line, " ")
		}
		if line == "" || line[0] == '#' {
			continue
		}
		line, negated := strings.CutPrefix(line, "!")
		if p, ok := NewGlob(line, false); ok {
			p.negated = negated
			g.globs = append(g.globs, p)
		}
	}
	return g
}

// GitIgnored reports whether the files of the directories above a path, outermost first, ignore it. The last glob that
// matches decides. An ignored directory is not walked, so that the directories above the path need not be matched.
func GitIgnored(files []GitIgnore, rel string, dir bool) bool {
	ignored := false
	for _, f := range files {
		local := rel
		if f.dir != "." {
			local = strings.TrimPrefix(rel, f.dir+"/")
		}
		for _, g := range f.globs {
			if g.Matches(local, dir) {
				ignored = !g.negated
			}
		}
	}
	return ignored
}
