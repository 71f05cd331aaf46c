package spelling

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// repositories are the names of directories that version control programs act upon where they find them: their
// configuration names programs that are run.
var repositories = []string{".git", ".hg", ".jj", ".bzr"}

// IsRepository reports whether a segment of a path names one of a version control program, in any spelling that the
// program or a file system accepts for it: in other letter case, with characters that are ignored, with dots or spaces
// at its end, with a stream of NTFS after a colon, as a short name, or behind or before a separator that only some
// systems take for one.
func IsRepository(segment string) bool {
	if isPlain(segment) {
		return false
	}
	for rest := skeleton(segment); ; {
		end := strings.IndexAny(rest, `\/`) // a slash is one of full width
		if end < 0 {
			return namesRepository(rest)
		}
		if namesRepository(rest[:end]) {
			return true
		}
		rest = rest[end+1:]
	}
}

// namesRepository is IsRepository of a part of a skeleton without separators.
func namesRepository(part string) bool {
	part = Stem(part)
	return slices.ContainsFunc(repositories, func(repository string) bool {
		// The short name of ".git" is "git~1", or has another number if that is taken.
		number, short := strings.CutPrefix(part, repository[1:]+"~")
		return part == repository || short && number != "" && strings.Trim(number, "0123456789") == ""
	})
}

// isPlain reports whether a segment is of a form that names no repository, without folding it: nearly every one is.
func isPlain(segment string) bool {
	for i := range len(segment) {
		if c := segment[i]; c >= utf8.RuneSelf || c == '~' || c == '\\' || c == '/' {
			return false
		}
	}
	return segment == "" || segment[0] != '.'
}

// GitParts are those names in a directory by which git takes it for a repository of its own, whatever its name is.
type GitParts uint8

// The names by which git takes a directory for a repository.
const (
	GitHead    GitParts = 1 << iota // a file HEAD
	GitObjects                      // a directory
	GitRefs                         // a directory
	GitCommon                       // a file commondir, which says where the other two are
)

// GitPartOf returns the part that a name is, in whatever spelling; 0 if it is none.
func GitPartOf(name string) GitParts {
	switch Of(name) {
	case "head":
		return GitHead
	case "objects":
		return GitObjects
	case "refs":
		return GitRefs
	case "commondir":
		return GitCommon
	}
	return 0
}

// IsDir reports whether git looks for a directory of the name, and not for a file.
func (p GitParts) IsDir() bool { return p&(GitObjects|GitRefs) != 0 }

// MakeGit reports whether git takes a directory that holds these names for a repository: HEAD, objects and refs; or
// HEAD and commondir.
func (p GitParts) MakeGit() bool {
	return p&GitHead != 0 && (p&GitCommon != 0 || p&(GitObjects|GitRefs) == GitObjects|GitRefs)
}
