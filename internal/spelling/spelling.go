// Package spelling knows what file systems and version control take a name for. Different spellings can lead to one
// file, and some names make a directory a repository, whose files name programs that version control runs.
//
// It also counts the letters in which two names differ, for suggestions, and compiles the forms that names are held to.
//
// It looks at names only. What a directory holds is for its callers to find out.
package spelling

import "strings"

// Of returns one form for all names that some file system takes for the same: in another case, with characters that
// are ignored, with dots or spaces at the end, or with a stream of NTFS after a colon. Two names with one form may be
// one file: a program that asks for one of them may get the other.
func Of(name string) string {
	s, _, _ := strings.Cut(Stem(skeleton(name)), `\`)
	return Stem(s)
}

// Stem returns a name without what Windows does not count to it: a stream, and dots and spaces at the end.
func Stem(name string) string {
	name, _, _ = strings.Cut(name, ":")
	return strings.TrimRight(name, ". ")
}
