package place

import (
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// IsGit reports whether git takes an open directory for a repository of its own, whatever its name is: see
// [spelling.GitParts]. Holds looks a name up in the directory.
func IsGit(holds func(name string) bool) bool {
	return holds("HEAD") && gitParts(holds).MakeGit() // nearly every directory has none
}

// makesGit reports whether git would take an open directory for a repository if it held name too.
func makesGit(dir *os.Root, name string) bool {
	part := spelling.GitPartOf(name)
	return part != 0 && (part | gitParts(Holds(dir))).MakeGit()
}

// gitParts returns which of the names of a repository of git a directory holds.
func gitParts(holds func(name string) bool) (parts spelling.GitParts) {
	for _, name := range []string{"HEAD", "objects", "refs", "commondir"} {
		if holds(name) {
			parts |= spelling.GitPartOf(name)
		}
	}
	return parts
}

// Holds returns a function that reports whether an open directory holds a name.
func Holds(dir *os.Root) func(string) bool {
	return func(name string) bool {
		_, err := dir.Lstat(name)
		return err == nil
	}
}

// isWorkTree reports whether a directory is the top of a work tree, above which git looks no further. Stat stats a
// path relative to the directory.
func isWorkTree(stat func(name string) (fs.FileInfo, error)) bool {
	if info, err := stat(".git"); err == nil && info.Mode().IsRegular() {
		return true
	}
	_, err := stat(filepath.Join(".git", "HEAD"))
	return err == nil
}

// inWorkTree reports whether an absolute path lies in the work tree of a repository.
func inWorkTree(path string) bool {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if isTop(dir) {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}
