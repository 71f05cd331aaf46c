package hashfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/beneath"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
)

// rulesFile is the name of the file whose front matter holds rules.
const rulesFile = "AGENTS.md"

// maxRulesFile is the most of such a file, or of a .gitignore, that is read, in bytes.
const maxRulesFile = 1 << 20

// ruleSet is the front matter of one AGENTS.md: between lines "---" at the beginning of the
// file, three lists of globs, relative to its directory:
//
//	forbidden    may not be read, listed or written
//	read_only    may not be written
//	ignore       is left out of searches and trees
//
// The rules of all directories down to a file hold together, those above the allowed one
// included, so that a nearer file can only tighten them. Letter case does not count, and a matched directory
// covers what is in it. An AGENTS.md with rules is itself read-only, and so is the file that a
// link of this name leads to. One whose rules cannot be read, or not without a guess, forbids
// its whole directory, which the error explains, with the line.
type ruleSet struct {
	file                        string // path of the AGENTS.md from the root
	dir                         string // its directory; "." is the root
	forbidden, readOnly, ignore []glob
	restricts                   bool        // there are rules
	below                       string      // path from its directory to the root, of one that lies above
	above                       []*ruleSet  // of the root's own: those of the directories above it
	info                        fs.FileInfo // of the file that they are in; nil if it is none
	broken                      string
}

// local is rel relative to the rules' directory, or "" if it is not below it.
func (r *ruleSet) local(rel string) string {
	if r.below != "" {
		return path.Join(r.below, rel)
	}
	if r.dir == "." {
		return rel
	}
	rest, _ := strings.CutPrefix(rel, r.dir+"/")
	if rest == rel {
		return ""
	}
	return rest
}

func anyCovers(globs []glob, rel string) bool {
	for _, g := range globs {
		if g.covers(rel) {
			return true
		}
	}
	return false
}

func (r *ruleSet) forbids(rel string) bool { return r.broken != "" || anyCovers(r.forbidden, rel) }

func (r *ruleSet) protects(rel string) bool {
	return anyCovers(r.readOnly, rel) || r.restricts && strings.EqualFold(rel, rulesFile)
}

// isIn reports whether there are rules and they are in the file that info is of.
func (r *ruleSet) isIn(info fs.FileInfo) bool {
	return r.restricts && r.info != nil && info != nil && os.SameFile(r.info, info)
}

func (r *ruleSet) ignores(rel string) bool { return anyCovers(r.ignore, rel) }

// findRule returns the AGENTS.md with the first of rules of which rule reports true for rel, and, if its
// rules cannot be read, why.
func findRule(rules []*ruleSet, rel string, rule func(*ruleSet, string) bool) (file string, ok bool) {
	for _, r := range rules {
		if file, ok := findRule(r.above, rel, rule); ok {
			return file, ok
		}
		if local := r.local(rel); local != "" && local != "." && rule(r, local) {
			if r.broken != "" {
				return r.file + " (" + r.broken + ")", true
			}
			return r.file, true
		}
	}
	return "", false
}

// rulesAbove returns the rules of all directories above a root, since to allow a directory below an
// AGENTS.md must not put its rules aside.
func rulesAbove(root string) (above []*ruleSet) {
	for dir, file, below := root, "", ""; filepath.Dir(dir) != dir; {
		below = path.Join(filepath.Base(dir), below)
		dir, file = filepath.Dir(dir), path.Join("..", file)
		r := &ruleSet{file: path.Join(file, rulesFile), below: below}
		// Through its path: a directory above need not be one that may be listed.
		name := filepath.Join(dir, rulesFile)
		r.read(func() (fs.FileInfo, error) { return os.Lstat(name) },
			func() (*os.File, error) { return os.OpenFile(name, os.O_RDONLY|beneath.NoWait, 0) })
		if r.restricts {
			above = append(above, r)
		}
	}
	return above
}

// readRules reads the rules of a directory, rel from the root; without any the set is
// empty.
func readRules(dir *os.Root, rel string) (*ruleSet, error) {
	if rel == "" {
		rel = "."
	}
	r := &ruleSet{dir: rel, file: path.Join(rel, rulesFile)}
	r.read(openerIn(dir, rulesFile))
	return r, nil
}

// read reads the rules of a file.
func (r *ruleSet) read(look func() (fs.FileInfo, error), open func() (*os.File, error)) {
	text, info, err := readSmall(look, open)
	r.info = info
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return
	case err != nil:
		r.broken = "cannot be read: " + refusal.Of(rulesFile, err).Message
	default:
		if err := r.parse(text); err != nil {
			r.broken = err.Error()
		}
	}
	r.restricts = r.broken != "" || len(r.forbidden)+len(r.readOnly)+len(r.ignore) > 0
}

// openerIn looks at and opens a file of a directory.
func openerIn(dir *os.Root, name string) (look func() (fs.FileInfo, error), open func() (*os.File, error)) {
	return func() (fs.FileInfo, error) { return dir.Lstat(name) },
		func() (*os.File, error) { return dir.OpenFile(name, os.O_RDONLY|beneath.NoWait, 0) }
}

// readSmall reads a regular file of rules. Info is of the file that a link leads to.
func readSmall(look func() (fs.FileInfo, error), open func() (*os.File, error)) (text string, info fs.FileInfo,
	err error) {
	if _, err := look(); err != nil {
		return "", nil, err
	}
	f, err := open()
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
	data, err := io.ReadAll(io.LimitReader(f, maxRulesFile+1))
	if len(data) > maxRulesFile {
		err = fmt.Errorf("it has more than %d bytes", maxRulesFile)
	}
	return string(data), info, err
}
