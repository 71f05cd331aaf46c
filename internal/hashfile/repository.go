package hashfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
)

// repositories are the directories that version control programs act upon where they find
// them: files in them name programs that are run.
var repositories = []string{".git", ".hg", ".jj", ".bzr"}

// isRepository reports whether a name is one of a repository, in any spelling that git or a
// file system takes for it: in other letter case, with characters that are ignored, with
// dots or blanks at its end, with a stream of NTFS after a colon, by its short name, or in a
// path with backslashes.
func isRepository(name string) bool {
	return slices.ContainsFunc(strings.Split(name, `\`), func(part string) bool {
		part = foldName(part)
		return slices.ContainsFunc(repositories, func(repository string) bool {
			// The short name of ".git" is "git~1", or has another number if that is taken.
			number, short := strings.CutPrefix(part, repository[1:]+"~")
			return part == repository || short && number != "" && strings.Trim(number, "0123456789") == ""
		})
	})
}

// foldName returns the name of a file in the one form that a file system may take for many.
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

// git takes a directory for a repository of its own, under whatever name, that holds HEAD,
// objects and refs; or HEAD and commondir, which says where the other two are.

// isGit reports whether a directory is such a one.
func isGit(has func(name string) bool) bool {
	return has("HEAD") && (has("commondir") || has("objects") && has("refs"))
}

// isGitPart reports whether a name is one of these.
func isGitPart(name string) bool {
	return slices.Contains([]string{"head", "objects", "refs", "commondir"}, foldName(name))
}

// checkMakesNoRepository fails if git would take the directory of the place for a repository, once
// something is there.
func (p *place) checkMakesNoRepository() error {
	if !isGitPart(p.name) {
		return nil
	}
	has := holdsName(p.parent())
	if isGit(func(part string) bool { return foldName(p.name) == strings.ToLower(part) || has(part) }) {
		return refusal.New(refusal.ReadOnly, "%s is not written: with it git would take its directory for a repository, and run what its files name", refusal.Show(p.asked))
	}
	return nil
}

// isWorkTree reports whether a directory is the top of a work tree, above which git looks no further.
func isWorkTree(dir func(name string) (fs.FileInfo, error)) bool {
	if info, err := dir(".git"); err == nil && info.Mode().IsRegular() {
		return true
	}
	_, err := dir(filepath.Join(".git", "HEAD"))
	return err == nil
}

// holdsName tells what an open directory holds.
func holdsName(dir *os.Root) func(string) bool {
	return func(name string) bool {
		_, err := dir.Lstat(name)
		return err == nil
	}
}

// checkUnversioned refuses a place that is in a repository, or the name of one, or would make one
// of its directory: what is written there is run by whoever uses the directory next.
func (p *place) checkUnversioned() error {
	for _, name := range slices.Concat(elements(p.asked), elements(p.real())) {
		if isRepository(name) {
			return repositoryProblem(p.asked, name)
		}
	}
	if err := p.checkMakesNoRepository(); err != nil {
		return err
	}
	for _, dir := range slices.Backward(p.chain) {
		if isGit(holdsName(dir)) {
			return repositoryProblem(p.asked, "a repository of git")
		}
		if isWorkTree(dir.Stat) {
			return nil
		}
	}
	for at := p.root.path; filepath.Dir(at) != at; {
		at = filepath.Dir(at)
		stat := func(name string) (fs.FileInfo, error) { return os.Stat(filepath.Join(at, name)) }
		if isGit(func(name string) bool { _, err := os.Lstat(filepath.Join(at, name)); return err == nil }) {
			return repositoryProblem(p.asked, "a repository of git")
		}
		if isWorkTree(stat) {
			return nil
		}
	}
	return nil
}

func repositoryProblem(asked, what string) *refusal.Refusal {
	return refusal.New(refusal.ReadOnly, "%s is not written: it is, or lies in, %s, whose files name programs that version control runs; change it with that program itself", refusal.Show(asked), refusal.Show(what))
}
