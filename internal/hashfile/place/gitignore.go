package place

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// gitIgnore holds the globs of one .gitignore file.
type gitIgnore struct {
	dir   string // its directory, from the root
	below string // path from its directory to the root, if it lies above the root
	globs []Glob
}

// readGitIgnore reads the .gitignore of an open directory, rel from the root. A file that cannot be read ignores
// nothing.
func readGitIgnore(dir *os.Root, rel string) gitIgnore {
	return gitIgnore{dir: rel, globs: readIgnored(openerIn(dir, ".gitignore"))}
}

// gitIgnoresAbove reads the .gitignore files of the directories above a root with this absolute path, outermost first,
// up to the top of the work tree in which the root lies; none if it lies in none or is the top of one.
func gitIgnoresAbove(root string) (found []gitIgnore) {
	if !inWorkTree(root) {
		return nil
	}
	for dir, below := root, ""; !isTop(dir); {
		below = path.Join(filepath.Base(dir), below)
		dir = filepath.Dir(dir)
		found = append(found,
			gitIgnore{dir: ".", below: below, globs: readIgnored(openerAt(filepath.Join(dir, ".gitignore")))})
	}
	slices.Reverse(found)
	return found
}

// isTop reports whether the directory of an absolute path is the top of a work tree.
func isTop(dir string) bool {
	return isWorkTree(func(name string) (fs.FileInfo, error) { return os.Stat(filepath.Join(dir, name)) })
}

// readIgnored reads the globs of a .gitignore file.
func readIgnored(file opener) (globs []Glob) {
	text, _, err := readSmall(file)
	if err != nil {
		return nil
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
		if p, ok := newGlob(line, false); ok {
			p.negated = negated
			globs = append(globs, p)
		}
	}
	return globs
}

// gitIgnored reports whether the files of the directories above a path, outermost first, ignore it. The last glob that
// matches decides. An ignored directory is not walked, so that the directories above the path need not be matched.
func gitIgnored(files []gitIgnore, rel string, dir bool) bool {
	ignored := false
	for _, f := range files {
		local := path.Join(f.below, rel)
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
