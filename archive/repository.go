package archive

import "strings"

// repositories are the directories that a version control program acts upon where it finds
// them: their configuration names programs that it starts.
var repositories = []string{".git", ".hg", ".jj", ".bzr"}

// isRepository reports whether segment names one of them, in any spelling that a file system
// takes for it: in another case, with characters that are ignored, with dots or
// spaces at its end, with a stream of NTFS after a colon, or by its short name.
func (f *caseFolder) isRepository(segment string) bool {
	if strings.IndexByte(segment, '~') < 0 && ascii(segment) && !strings.HasPrefix(segment, ".") {
		return false // without folding: nearly every segment
	}
	s := f.spelling(segment)
	for _, name := range repositories {
		if s == name {
			return true
		}
		// The short name of ".git" is "git~1", or has another number if that is taken.
		number, ok := strings.CutPrefix(s, name[1:]+"~")
		if ok && number != "" && strings.Trim(number, "0123456789") == "" {
			return true
		}
	}
	return false
}

// Spelling returns one form for all names that some file system takes for the same: in another
// case, with characters that are ignored, with dots or spaces at the end, or with a stream of
// NTFS after a colon. Two names with one Spelling may be one file: a program that asks for one
// of them may get the other.
func Spelling(name string) string {
	if ascii(name) {
		return (*caseFolder)(nil).spelling(name) // ASCII needs no tables
	}
	return newCaseFolder().spelling(name)
}

// spelling is Spelling of one segment.
func (f *caseFolder) spelling(segment string) string {
	s, _, _ := strings.Cut(f.skeleton(segment), ":")
	s, _, _ = strings.Cut(s, `\`)
	return strings.TrimRight(s, ". ")
}

// Signs by which git takes a directory for a bare repository.
const (
	signHead    = 1 << iota // a file HEAD
	signObjects             // a directory
	signRefs                // a directory
	signCommon              // a file that says where the other two are
)

// bareSigns remembers what directories hold of a bare repository, by folded path.
type bareSigns map[string]uint8

// addSign notes a file or directory, by its folded path, and reports whether it makes the
// directory above it a bare repository.
func (b bareSigns) addSign(folded string, dir bool) bool {
	parent, name := "", folded
	if i := strings.LastIndexByte(folded, '/'); i >= 0 {
		parent, name = folded[:i], folded[i+1:]
	}
	var sign uint8
	switch {
	case name == "head" && !dir:
		sign = signHead
	case name == "commondir" && !dir:
		sign = signCommon
	case name == "objects" && dir:
		sign = signObjects
	case name == "refs" && dir:
		sign = signRefs
	default:
		return false
	}
	b[parent] |= sign
	signs := b[parent]
	return signs&signHead != 0 && (signs&signCommon != 0 || signs&(signObjects|signRefs) == signObjects|signRefs)
}
