package hashfile

import (
	"os"
	"path"
	"strings"
)

// gitIgnore is a .gitignore file.
type gitIgnore struct {
	dir   string // its directory, from the root
	globs []glob
}

// readGitIgnore reads a directory's .gitignore; one that cannot be read ignores nothing.
func readGitIgnore(dir *os.Root, rel string) gitIgnore {
	g := gitIgnore{dir: rel}
	text, _, err := readSmall(openerIn(dir, ".gitignore"))
	if err != nil {
		return g
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if !strings.HasSuffix(line, `\ `) {
			line = strings.TrimRight(line, " ")
		}
		if line == "" || line[0] == '#' {
			continue
		}
		line, negated := strings.CutPrefix(line, "!")
		if p, ok := newGlob(line, false); ok {
			p.negated = negated
			g.globs = append(g.globs, p)
		}
	}
	return g
}

// gitIgnores returns the .gitignore files of the directories above a place.
func (p *place) gitIgnores() (found []gitIgnore) {
	if p.rel == "." {
		return nil
	}
	rel := "."
	for i, name := range strings.Split(p.rel, "/") {
		found = append(found, readGitIgnore(p.chain[i], rel))
		rel = path.Join(rel, name)
	}
	return found
}

// gitIgnored reports whether a path is ignored by the files of the directories above it.
// The last pattern that matches counts. Directories that are ignored are not walked, so
// that those above need not be looked at.
func gitIgnored(files []gitIgnore, rel string, dir bool) bool {
	ignored := false
	for _, f := range files {
		local := rel
		if f.dir != "." {
			local = strings.TrimPrefix(rel, f.dir+"/")
		}
		for _, g := range f.globs {
			if g.matches(local, dir) {
				ignored = !g.negated
			}
		}
	}
	return ignored
}
