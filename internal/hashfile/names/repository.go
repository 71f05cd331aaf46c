package names

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// repositories are the names of directories that version control programs act upon where they find them. Files in them
// name programs that are run.
var repositories = []string{".git", ".hg", ".jj", ".bzr"}

// IsRepository reports whether a name is one of a repository, in any spelling that git or a file system accepts for
// it: in other letter case, with characters that are ignored, with dots or blanks at its end, with an NTFS stream
// after a colon, as a short name, or in a path with backslashes.
func IsRepository(name string) bool {
	return slices.ContainsFunc(strings.Split(name, `\`), func(part string) bool {
		part = foldName(part)
		return slices.ContainsFunc(repositories, func(repository string) bool {
			// The short name of ".git" is "git~1", or has another number if that is taken.
			number, short := strings.CutPrefix(part, repository[1:]+"~")
			return part == repository || short && number != "" && strings.Trim(number, "0123456789") == ""
		})
	})
}

// foldName returns the one form of a name to which all spellings that a file system may accept for it fold.
func foldName(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r < unicode.MaxASCII:
		case unicode.In(r, unicode.Cf, unicode.Mn, unicode.Other_Default_Ignorable_Code_Point,
			unicode.Variation_Selector, unicode.Noncharacter_Code_Point):
			return -1
		case r >= '\uff01' && r <= '\uff5e': // of full width
			r -= '\uff01' - '!'
		case r == '\u2024': // one dot
			r = '.'
		}
		return unicode.ToLower(unicode.ToUpper(r)) // the dotless i is an i
	}, name)
	name, _, _ = strings.Cut(name, ":")
	return strings.TrimRight(name, ". ")
}

// IsGit reports whether git takes a directory for a repository of its own, whatever its name is: if it holds HEAD,
// objects and refs; or HEAD and commondir, a file that names the directory with the other two.
func IsGit(has func(name string) bool) bool {
	return has("HEAD") && (has("commondir") || has("objects") && has("refs"))
}

// IsGitPart reports whether a name is one of the four that can make the directory that holds them a repository.
func IsGitPart(name string) bool {
	return slices.Contains([]string{"head", "objects", "refs", "commondir"}, foldName(name))
}

// MakesGit reports whether git would take an open directory for a repository if it held name too.
func MakesGit(dir *os.Root, name string) bool {
	has := Holds(dir)
	return IsGitPart(name) &&
		IsGit(func(part string) bool { return foldName(name) == strings.ToLower(part) || has(part) })
}

// IsWorkTree reports whether a directory is the top of a work tree, above which git looks no further. Stat stats a
// path relative to the directory.
func IsWorkTree(stat func(name string) (fs.FileInfo, error)) bool {
	if info, err := stat(".git"); err == nil && info.Mode().IsRegular() {
		return true
	}
	_, err := stat(filepath.Join(".git", "HEAD"))
	return err == nil
}

// Holds returns a function that reports whether an open directory holds a name.
func Holds(dir *os.Root) func(string) bool {
	return func(name string) bool {
		_, err := dir.Lstat(name)
		return err == nil
	}
}

// InWorkTree reports whether an absolute path lies in the work tree of a repository.
func InWorkTree(path string) bool {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if IsWorkTree(func(name string) (fs.FileInfo, error) { return os.Stat(filepath.Join(dir, name)) }) {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}
