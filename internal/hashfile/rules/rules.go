// Package rules decides which paths of a tree are forbidden, read-only or ignored: by the front matter of AGENTS.md
// files, and for searches and trees by .gitignore files. It also knows what file systems and version control take the
// name of a file for: different spellings can lead to one file, and some names make a directory a repository, whose
// files name programs that version control runs.
//
// A [Refusal] is an error that a tool returns to a model: one sentence that says what to do next, a code for programs,
// and whatever helps to try again. Besides the path that the caller gave, its text names only what the caller may list,
// so that it does not reveal what lies outside the allowed directories.
//
// # AGENTS.md
//
// Front matter stands between lines "---" at the beginning of the file and holds three lists of globs, relative to the
// file's directory:
//
//	forbidden    may not be read, listed or written
//	read_only    may not be written
//	ignore       is left out of searches and trees
//
// The rules of all directories down to a file apply together, those above the allowed directory included, so that a
// file further down can only tighten them. Letter case does not count, and a glob that matches a directory covers what
// is in it. An AGENTS.md with rules is itself read-only, and so is the file that a link of this name leads to.
//
// A value is a list of strings, or one string without blanks, commas and semicolons. What is written in any other way
// is not guessed at: the whole directory is forbidden, and the refusal names the line, the reason and what to write. So
// it is if the file, or the directory that has it, cannot be looked at. Front matter without a key that is one of the
// three, or resembles one, belongs to another program.
//
// Above the allowed directory the files of its real path count, up to the root of the file system, and not those above
// a link that led to it.
//
// # Limits
//
// Files of more than [MaxFile] bytes are not read: such an AGENTS.md forbids its directory, such a .gitignore ignores
// nothing. Front matter has the limits of package frontmatter, and globs with braces those of braces.go.
package rules

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// rulesFile is the name of the file whose front matter holds rules.
const rulesFile = "AGENTS.md"

// MaxFile is the size up to which an AGENTS.md or .gitignore is read, in bytes.
const MaxFile = 1 << 20

// Set holds the rules of one AGENTS.md. Without such a file it is empty.
type Set struct {
	file                        string // path of the AGENTS.md from the root
	dir                         string // its directory, from the root; "." is the root
	forbidden, readOnly, ignore []Glob
	restricts                   bool        // there are rules
	real                        string      // absolute path of its directory
	below                       string      // path from its directory to the root, if it lies above the root
	above                       Sets        // in the set of the root: the rules of the directories above it
	info                        fs.FileInfo // the file that holds the rules; nil if there is none
	expansions                  int         // that globs with braces stand for
	broken                      string      // why the rules cannot be read; "" if they can
}

// Sets holds the rules that apply in a directory: the sets of all directories from the root down to it.
type Sets []*Set

// ReadRoot returns the rules of an allowed directory with the absolute path real, and of all directories above it: a
// user who allows a directory below an AGENTS.md does not thereby lift the rules of that file.
func ReadRoot(dir *os.Root, real string) Sets {
	s := &Set{dir: ".", file: rulesFile, real: filepath.ToSlash(real)}
	s.read(openerIn(dir, rulesFile))
	s.above = readAbove(real)
	return Sets{s}
}

// Enter returns the rules that apply in an open directory, rel from the root, whose parent has the rules s.
func (s Sets) Enter(dir *os.Root, rel string) Sets {
	below := &Set{dir: rel, file: path.Join(rel, rulesFile), real: path.Join(s[0].real, rel)}
	below.read(openerIn(dir, rulesFile))
	return append(slices.Clone(s), below)
}

// Forbids reports whether a rule forbids the path rel, from the root. File is the AGENTS.md that does, with the reason
// if its rules cannot be read.
func (s Sets) Forbids(rel string) (file string, ok bool) { return s.find(rel, (*Set).forbids) }

// Protects reports whether a rule forbids to write the path rel, from the root, or info, the file that is there; nil
// if there is none. File is the AGENTS.md that does.
func (s Sets) Protects(rel string, info fs.FileInfo) (file string, ok bool) {
	return s.find(rel, func(set *Set, local string) bool { return set.protects(local) || set.isIn(info) })
}

// Ignores reports whether a rule leaves the path rel, from the root, out of searches and trees.
func (s Sets) Ignores(rel string) bool {
	_, ok := s.find(rel, (*Set).ignores)
	return ok
}

// find returns the AGENTS.md of the first set for which rule reports true for rel, with the reason if its rules cannot
// be read.
func (s Sets) find(rel string, rule func(set *Set, local string) bool) (file string, ok bool) {
	for _, set := range s {
		if file, ok := set.above.find(rel, rule); ok {
			return file, ok
		}
		if local := set.local(rel); local != "" && local != "." && rule(set, local) {
			if set.broken != "" {
				return set.file + " (" + set.broken + ")", true
			}
			return set.file, true
		}
	}
	return "", false
}

// local returns rel, a path from the root, relative to the rules' directory, or "" if it does not lie below that.
func (s *Set) local(rel string) string {
	if s.below != "" {
		return path.Join(s.below, rel)
	}
	if s.dir == "." {
		return rel
	}
	rest, _ := strings.CutPrefix(rel, s.dir+"/")
	if rest == rel {
		return ""
	}
	return rest
}

func (s *Set) forbids(local string) bool { return s.broken != "" || anyCovers(s.forbidden, local) }

func (s *Set) protects(local string) bool {
	return anyCovers(s.readOnly, local) || s.restricts && spelling.Of(local) == spelling.Of(rulesFile)
}

func (s *Set) ignores(local string) bool { return anyCovers(s.ignore, local) }

// isIn reports whether info is the file that holds the rules, under whatever name.
func (s *Set) isIn(info fs.FileInfo) bool {
	return s.restricts && s.info != nil && info != nil && os.SameFile(s.info, info)
}

func anyCovers(globs []Glob, rel string) bool {
	for _, g := range globs {
		if g.covers(rel) {
			return true
		}
	}
	return false
}

// readAbove returns the rules of all directories above a root.
func readAbove(root string) (above Sets) {
	for dir, file, below := root, "", ""; filepath.Dir(dir) != dir; {
		below = path.Join(filepath.Base(dir), below)
		dir, file = filepath.Dir(dir), path.Join("..", file)
		s := &Set{file: path.Join(file, rulesFile), real: filepath.ToSlash(dir), below: below}
		// The file is opened by its path, because the directory may be one that the process cannot open.
		s.read(openerAt(filepath.Join(dir, rulesFile)))
		if s.restricts {
			above = append(above, s)
		}
	}
	return above
}

// read reads the rules of a file.
func (s *Set) read(file opener) {
	text, info, err := readSmall(file)
	s.info = info
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return
	case err != nil:
		s.broken = "cannot be read: " + RefusalOf(rulesFile, err).Message
	default:
		if err := s.parse(text); err != nil {
			s.broken = err.Error()
		}
	}
	s.restricts = s.broken != "" || len(s.forbidden)+len(s.readOnly)+len(s.ignore) > 0
}

// opener looks at a name without following a link, and opens the file that the name leads to.
type opener struct {
	look func() (fs.FileInfo, error)
	open func() (*os.File, error)
}

// openerIn returns the opener of a name in an open directory.
func openerIn(dir *os.Root, name string) opener {
	return opener{
		look: func() (fs.FileInfo, error) { return dir.Lstat(name) },
		open: func() (*os.File, error) { return dir.OpenFile(name, os.O_RDONLY|durable.NoWait, 0) },
	}
}

// openerAt returns the opener of an absolute path.
func openerAt(name string) opener {
	return opener{
		look: func() (fs.FileInfo, error) { return os.Lstat(name) },
		open: func() (*os.File, error) { return os.OpenFile(name, os.O_RDONLY|durable.NoWait, 0) },
	}
}

// readSmall reads a regular file of at most MaxFile bytes. Info is that of the file that a link leads to. Only if
// the name does not exist the error wraps fs.ErrNotExist: a link that leads nowhere is another error.
func readSmall(file opener) (text string, info fs.FileInfo, err error) {
	if _, err := file.look(); err != nil {
		return "", nil, err
	}
	f, err := file.open()
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return "", nil, errors.New("it leads nowhere")
		}
		return "", nil, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", nil, errors.New("it is not a regular file")
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if len(data) > MaxFile {
		err = fmt.Errorf("it has more than %d bytes", MaxFile)
	}
	return string(data), info, err
}
