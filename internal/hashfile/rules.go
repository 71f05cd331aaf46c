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
// link of this name leads to. One whose rules cannot be read forbids its whole directory,
// which the error explains.
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

func covered(globs []glob, rel string) bool {
	for _, g := range globs {
		if g.covers(rel) {
			return true
		}
	}
	return false
}

func (r *ruleSet) forbids(rel string) bool { return r.broken != "" || covered(r.forbidden, rel) }

func (r *ruleSet) protects(rel string) bool {
	return covered(r.readOnly, rel) || r.restricts && strings.EqualFold(rel, rulesFile)
}

// in reports whether there are rules and they are in the file that info is of.
func (r *ruleSet) in(info fs.FileInfo) bool {
	return r.restricts && r.info != nil && info != nil && os.SameFile(r.info, info)
}

func (r *ruleSet) ignores(rel string) bool { return covered(r.ignore, rel) }

// ruled returns the file whose rule holds for rel.
func ruled(rules []*ruleSet, rel string, rule func(*ruleSet, string) bool) (file string, ok bool) {
	for _, r := range rules {
		if file, ok := ruled(r.above, rel, rule); ok {
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

// rulesAbove reads the rules of all directories above a root: who names a directory below a
// file of rules does not get around them.
func rulesAbove(root string) (above []*ruleSet) {
	for dir, file, below := root, "", ""; filepath.Dir(dir) != dir; {
		below = path.Join(filepath.Base(dir), below)
		dir, file = filepath.Dir(dir), path.Join("..", file)
		r := &ruleSet{file: path.Join(file, rulesFile), below: below}
		// Through its path: a directory above need not be one that may be listed.
		name := filepath.Join(dir, rulesFile)
		r.read(func() (fs.FileInfo, error) { return os.Lstat(name) }, func() (*os.File, error) { return os.OpenFile(name, os.O_RDONLY|nonblock, 0) })
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
	r.read(inDir(dir, rulesFile))
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
		r.broken = "cannot be read: " + asProblem(rulesFile, err).Message
	default:
		if err := r.parse(text); err != nil {
			r.broken = err.Error()
		}
	}
	r.restricts = r.broken != "" || len(r.forbidden)+len(r.readOnly)+len(r.ignore) > 0
}

// inDir looks at and opens a file of a directory.
func inDir(dir *os.Root, name string) (look func() (fs.FileInfo, error), open func() (*os.File, error)) {
	return func() (fs.FileInfo, error) { return dir.Lstat(name) }, func() (*os.File, error) { return dir.OpenFile(name, os.O_RDONLY|nonblock, 0) }
}

// readSmall reads a regular file of rules. Info is of the file that a link leads to.
func readSmall(look func() (fs.FileInfo, error), open func() (*os.File, error)) (text string, info fs.FileInfo, err error) {
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

// parse reads the front matter: of YAML the forms
//
//	forbidden: [a, "b/**"]
//	read_only:
//	  - c
//	ignore: d
//
// Other members are passed over; of these three any other form is an error.
func (r *ruleSet) parse(text string) error {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	first, text, _ := strings.Cut(text, "\n")
	if strings.TrimRight(first, " \t") != "---" {
		return nil
	}
	var current *[]glob
	name, seen := "", map[string]bool{}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\n")
		bare := strings.TrimLeft(line, " ")
		if line == "---" || line == "..." {
			return nil
		}
		if bare == "" || strings.HasPrefix(bare, "#") {
			continue
		}
		if item, ok := strings.CutPrefix(bare, "-"); ok && current != nil && (item == "" || item[0] == ' ' || item[0] == '\t') {
			if err := add(current, name, item); err != nil {
				return err
			}
			continue
		}
		if line != bare { // nested in something else, or in something we would have to understand
			if current != nil {
				return fmt.Errorf("%s is no list of globs", name)
			}
			continue
		}
		current = nil
		key, value, found := strings.Cut(line, ":")
		key = strings.Trim(strings.TrimSpace(key), `"'`)
		var into *[]glob
		switch strings.ToLower(strings.ReplaceAll(key, "-", "_")) {
		case "forbidden":
			into = &r.forbidden
		case "read_only", "readonly":
			into = &r.readOnly
		case "ignore":
			into = &r.ignore
		case "<<":
			return errors.New("its front matter merges YAML, which is not supported")
		default:
			if strings.HasPrefix(line, "{") {
				return errors.New("its front matter is not written line by line")
			}
			continue
		}
		if !found || seen[strings.ToLower(key)] {
			return fmt.Errorf("%s stands twice, or without a value", key)
		}
		seen[strings.ToLower(key)] = true
		value = strings.TrimSpace(value)
		if value == "" || strings.HasPrefix(value, "#") {
			current, name = into, key
			continue
		}
		if list, ok := strings.CutPrefix(value, "["); ok {
			items, ok := splitList(list)
			if !ok {
				return fmt.Errorf("%s is a list over several lines; give an item a line", key)
			}
			for _, item := range items {
				if err := add(into, key, item); err != nil {
					return err
				}
			}
			continue
		}
		if err := add(into, key, value); err != nil {
			return err
		}
	}
	if len(seen) > 0 {
		return errors.New("its front matter has no end")
	}
	return nil // a line of dashes
}

// splitList splits at commas outside quotes, up to the bracket that ends the list, which
// only a comment may follow.
func splitList(list string) (items []string, ok bool) {
	var quoted byte
	start := 0
	for i := 0; i < len(list); i++ {
		switch c := list[i]; {
		case quoted != 0:
			if c == quoted {
				quoted = 0
			}
		case c == '"' || c == '\'':
			quoted = c
		case c == ',':
			items = append(items, list[start:i])
			start = i + 1
		case c == ']':
			if strings.TrimSpace(list[start:i]) != "" {
				items = append(items, list[start:i])
			}
			rest := strings.TrimSpace(list[i+1:])
			return items, rest == "" || rest[0] == '#'
		}
	}
	return nil, false
}

// add parses an item of a list.
func add(into *[]glob, name, item string) error {
	item = strings.TrimSpace(item)
	switch {
	case len(item) >= 2 && (item[0] == '"' || item[0] == '\''):
		end := strings.IndexByte(item[1:], item[0])
		if rest := strings.TrimSpace(item[end+2:]); end < 0 || rest != "" && rest[0] != '#' || strings.Contains(item[:end+1], `\`) {
			return fmt.Errorf("%s holds %s, which is not understood", name, show(item))
		}
		item = item[1 : end+1]
	case item == "" || strings.ContainsAny(item[:1], "[]&|>%@!`\"'"):
		return fmt.Errorf("%s holds %s, which is not understood; put it in quotes", name, show(item))
	default:
		if i := strings.Index(item, " #"); i >= 0 {
			item = strings.TrimSpace(item[:i])
		}
	}
	g, ok := newGlob(item, true)
	if !ok || strings.ContainsAny(item, "{}") || item[0] == '!' {
		return fmt.Errorf("%s holds %s, which is no glob", name, show(item))
	}
	*into = append(*into, g)
	return nil
}
