package place

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

// MaxRules is the size up to which an AGENTS.md or .gitignore is read, in bytes.
const MaxRules = 1 << 20

// ruleSet holds the rules of one AGENTS.md. Without such a file it is empty.
type ruleSet struct {
	file                        string // path of the AGENTS.md from the root
	dir                         string // its directory, from the root; "." is the root
	forbidden, readOnly, ignore []Glob
	restricts                   bool        // there are rules
	real                        string      // absolute path of its directory
	below                       string      // path from its directory to the root, if it lies above the root
	above                       RuleSets    // in the set of the root: the rules of the directories above it
	info                        fs.FileInfo // the file that holds the rules; nil if there is none
	expansions                  int         // that globs with braces stand for
	broken                      string      // why the rules cannot be read; "" if they can
}

// RuleSets holds the rules that apply in a directory: the sets of all directories from the root down to it.
type RuleSets []*ruleSet

// readRootRules returns the rules of an allowed directory with the absolute path real, and of all directories above it:
// a user who allows a directory below an AGENTS.md does not thereby lift the rules of that file.
func readRootRules(dir *os.Root, real string) RuleSets {
	s := &ruleSet{dir: ".", file: rulesFile, real: filepath.ToSlash(real)}
	s.read(openerIn(dir, rulesFile))
	s.above = readAbove(real)
	return RuleSets{s}
}

// Enter returns the rules that apply in an open directory, rel from the root, whose parent has the rules s.
func (s RuleSets) Enter(dir *os.Root, rel string) RuleSets {
	below := &ruleSet{dir: rel, file: path.Join(rel, rulesFile), real: path.Join(s[0].real, rel)}
	below.read(openerIn(dir, rulesFile))
	return append(slices.Clone(s), below)
}

// Forbids reports whether a rule forbids the path rel, from the root. File is the AGENTS.md that does, with the reason
// if its rules cannot be read.
func (s RuleSets) Forbids(rel string) (file string, ok bool) { return s.find(rel, (*ruleSet).forbids) }

// Protects reports whether a rule forbids to write the path rel, from the root, or info, the file that is there; nil
// if there is none. File is the AGENTS.md that does.
func (s RuleSets) Protects(rel string, info fs.FileInfo) (file string, ok bool) {
	return s.find(rel, func(set *ruleSet, local string) bool { return set.protects(local) || set.isIn(info) })
}

// Ignores reports whether a rule leaves the path rel, from the root, out of searches and trees.
func (s RuleSets) Ignores(rel string) bool {
	_, ok := s.find(rel, (*ruleSet).ignores)
	return ok
}

// find returns the AGENTS.md of the first set for which rule reports true for rel, with the reason if its rules cannot
// be read.
func (s RuleSets) find(rel string, rule func(set *ruleSet, local string) bool) (file string, ok bool) {
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
func (s *ruleSet) local(rel string) string {
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

func (s *ruleSet) forbids(local string) bool { return s.broken != "" || anyCovers(s.forbidden, local) }

func (s *ruleSet) protects(local string) bool {
	return anyCovers(s.readOnly, local) || s.restricts && spelling.Of(local) == spelling.Of(rulesFile)
}

func (s *ruleSet) ignores(local string) bool { return anyCovers(s.ignore, local) }

// isIn reports whether info is the file that holds the rules, under whatever name.
func (s *ruleSet) isIn(info fs.FileInfo) bool {
	return s.restricts && s.info != nil && info != nil && os.SameFile(s.info, info)
}

func anyCovers(globs []Glob, rel string) bool {
	return slices.ContainsFunc(globs, func(g Glob) bool { return g.covers(rel) })
}

// readAbove returns the rules of all directories above a root.
func readAbove(root string) (above RuleSets) {
	for dir, file, below := root, "", ""; filepath.Dir(dir) != dir; {
		below = path.Join(filepath.Base(dir), below)
		dir, file = filepath.Dir(dir), path.Join("..", file)
		s := &ruleSet{file: path.Join(file, rulesFile), real: filepath.ToSlash(dir), below: below}
		// The file is opened by its path, because the directory may be one that the process cannot open.
		s.read(openerAt(filepath.Join(dir, rulesFile)))
		if s.restricts {
			above = append(above, s)
		}
	}
	return above
}

// read reads the rules of a file.
func (s *ruleSet) read(file opener) {
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

// readSmall reads a regular file of at most MaxRules bytes. Info describes the file that a link leads to. Only if
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
	data, err := io.ReadAll(io.LimitReader(f, MaxRules+1))
	if len(data) > MaxRules {
		err = fmt.Errorf("it has more than %d bytes", MaxRules)
	}
	return string(data), info, err
}
