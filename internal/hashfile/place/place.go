// Package place knows which directories an editing server may use, finds where a path leads in them, and decides which
// paths of them are forbidden, read-only or ignored.
//
// # Allowed directories
//
// These are the directories that the server's configuration names, and the roots that its client lists. An allowed
// directory is a path. Each call looks up which directory has the path at that moment, opens it and uses that handle to
// its end. A directory that was moved away is not used any longer, and the one that took its place is. The client is
// asked for its roots before each call, unless it notifies of changes, and a call without its answer is refused. The
// client's roots narrow the configured directories, and are allowed directories themselves only if none is configured.
// [Source] gives each call its [Scope].
//
// # Paths
//
// A path is resolved element by element, from the handle of an allowed directory. Links are read and followed by this
// package; each directory on the way is opened below the one before it (os.Root) and compared with the one that was
// looked at; and the last element is opened without following a link, without blocking, and must be a regular file by
// fstat. So what was checked is what is used, whatever is renamed or replaced meanwhile: no path is resolved a second
// time.
//
// # Names
//
// Different spellings of a name can lead to one file, and some names make a directory a repository, whose files name
// programs that version control runs. Both are looked at.
//
// # AGENTS.md and .gitignore
//
// Front matter is between lines "---" at the beginning of an AGENTS.md and holds three lists of globs, relative to the
// file's directory:
//
//	forbidden    may not be read, listed or written
//	read_only    may not be written
//	ignore       is left out of searches and trees
//
// The rules of all directories down to a file apply together ([RuleSets]), those above the allowed directory included,
// so that a file further down can only tighten them. Letter case does not count, and a glob that matches a directory
// covers what is in it. An AGENTS.md with rules is itself read-only, and so is the file that a link of this name leads
// to. Searches and trees leave out what .gitignore files ignore, too.
//
// A value is a list of strings, or one string without blanks, commas and semicolons. What is written in any other way
// is not guessed at: the whole directory is forbidden, and the refusal names the line, the reason and what to write. So
// it is if the file, or the directory that has it, cannot be looked at. Front matter without a key that is one of the
// three, or resembles one, belongs to another program.
//
// Above the allowed directory the files of its real path count, up to the root of the file system, and not those above
// a link that led to it.
//
// # Refusals
//
// A [Refusal] is an error that a tool returns to a model: one sentence that says what to do next, a code for programs,
// and whatever helps to try again. Besides the path that the caller gave, its text names only what the caller may list,
// so that it does not reveal what lies outside the allowed directories.
//
// # Limits
//
// A hard link to a forbidden file is a file of its own name.
//
// Files of more than [MaxRules] bytes are not read: such an AGENTS.md forbids its directory, such a .gitignore ignores
// nothing. Front matter has the limits of package frontmatter, and globs with braces those of braces.go.
package place

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// maxLinks is how many links a path may lead through.
const maxLinks = 40

// maxPath is the greatest length of a path, in bytes.
const maxPath = 4096

// Place is where a path leads: a name in a directory that is held open.
type Place struct {
	Asked   string // the path as the caller wrote it
	Root    *Root
	Rel     string      // from the root, without links, with slashes; "." is the root itself
	chain   []*os.Root  // open directories, from the root to the one that holds the name
	Name    string      // the last element of Rel
	Info    fs.FileInfo // what has the name; nil if nothing has
	Missing []string    // the elements after the name, if nothing has the name
	Rules   RuleSets    // of the directories in chain

	base     string // where relative paths begin; "" if that is not one directory
	odd      string // why the path was hardly meant as it is written, if nothing is there
	listable bool   // the caller may list the directory that holds the name
}

// Real returns the absolute path without links.
func (p *Place) Real() string { return filepath.Join(p.Root.Path, filepath.FromSlash(p.Rel)) }

// Parent returns the open directory that holds the name.
func (p *Place) Parent() *os.Root { return p.chain[len(p.chain)-1] }

// In returns the place of a name in an open directory that belongs to no scope. Info describes what the caller found
// there.
func In(dir *os.Root, name string, info fs.FileInfo) *Place {
	return &Place{Asked: name, chain: []*os.Root{dir}, Name: name, Info: info}
}

// Below returns the place of an entry that a walk below p visits in dir. Rel is its path from the root, info describes
// it, and sets are the rules of dir.
func (p *Place) Below(dir *os.Root, rel string, info fs.FileInfo, sets RuleSets) *Place {
	return &Place{Asked: filepath.Join(p.Root.Path, filepath.FromSlash(rel)), Root: p.Root, Rel: rel,
		chain: []*os.Root{dir}, Name: path.Base(rel), Info: info, Rules: sets}
}

// Sibling returns the place of another name in the same directory. Its Info is p's until the caller sets it.
func (p *Place) Sibling(name string) *Place {
	other := *p
	other.Name, other.Rel = name, path.Join(path.Dir(p.Rel), name)
	return &other
}

// Directory returns the real path of the directory that Parent returns, the deepest one on the way that exists.
func (p *Place) Directory() string {
	above := SplitPath(p.Rel)[:len(p.chain)-1]
	return filepath.Join(p.Root.Path, filepath.Join(above...))
}

// CheckUnmoved fails if a directory on the way no longer has the path at which it was opened. It is called before
// writing, so that nothing is written to a directory that was moved out of an allowed one meanwhile.
func (p *Place) CheckUnmoved() error {
	names := SplitPath(p.Rel)
	ok := p.Root.IsUnmoved()
	for i := 1; ok && i < len(p.chain); i++ {
		opened, err := p.chain[i].Stat(".")
		now, err2 := p.chain[i-1].Lstat(names[i-1])
		ok = err == nil && err2 == nil && os.SameFile(opened, now)
	}
	if !ok {
		return Refuse(IO,
			"a directory above %s was replaced meanwhile, and nothing was written; try again",
			Show(p.Asked))
	}
	return nil
}

// Close closes the directories that the place holds open, except that of the root.
func (p *Place) Close() {
	for _, d := range p.chain[1:] { // the first is the root's own
		d.Close()
	}
}

// CheckExists fails if nothing is at the place.
func (p *Place) CheckExists() error {
	if p.Info == nil {
		return p.RefuseMissing()
	}
	return nil
}
