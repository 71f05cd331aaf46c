package rules

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
)

// reader reads the members of front matter, line by line.
type reader struct {
	set     *Set
	ours    string          // one of the three names, if the line may belong to its member
	list    *[]Glob         // its list, if its items have lines of their own
	indent  string          // what stands before each of these items
	empty   int             // the line of such a list that has no item yet
	started bool            // there was a line that is neither blank nor a comment
	seen    map[string]bool // names of ours, as plainKey has them
}

// readMembers reads the lines after the first fence, up to the second.
func (s *Set) readMembers(lines []string) (number int, err error) {
	r := reader{set: s, seen: map[string]bool{}}
	end := len(lines)
	for i, line := range lines {
		line = strings.TrimRight(line, " \t")
		bare := strings.TrimLeft(line, " \t")
		if bare == "" || bare[0] == '#' {
			continue
		}
		if fenceLine().MatchString(line) || line == "..." {
			if !r.started {
				continue // the front matter has no lines yet
			}
			end = i
			break
		}
		if number, err := r.readLine(i+1, line, bare); err != nil {
			return number, err
		}
	}
	switch {
	case end < len(lines) && r.empty > 0:
		return r.empty, noValueError(r.ours)
	case end == len(lines) && len(r.seen) > 0:
		return end, errors.New("its front matter has no end")
	}
	return findHiddenKey(lines[:end])
}

// readLine reads a line that is neither blank nor a comment, bare without its indentation.
func (r *reader) readLine(number int, line, bare string) (int, error) {
	if !r.started && line[0] == '%' {
		return number, errDirective
	}
	r.started = true
	item, isItem := strings.CutPrefix(bare, "-")
	isItem = isItem && (item == "" || item[0] == ' ' || item[0] == '\t')
	switch {
	case isItem && r.list != nil:
		return number, r.addItem(line[:len(line)-len(bare)], item)
	case line == bare && !isItem:
		return r.readMember(number, line)
	case r.ours != "": // it belongs to the member above
		return number, fmt.Errorf("%s is no list of globs", r.ours)
	}
	if key := resemblingKey(line); key != "" {
		return number, fmt.Errorf("%s stands below another key; %s", refusal.Show(key), errSpelling)
	}
	return number, nil
}

// addItem adds an item of a list whose items have lines of their own. In another column than the first it would be
// something else: the continuation of the item above.
func (r *reader) addItem(indent, item string) error {
	if r.empty > 0 {
		r.indent = indent
	}
	if indent != r.indent {
		return fmt.Errorf("%s has items in different columns", r.ours)
	}
	r.empty = 0
	return r.set.addGlob(r.list, r.ours, item)
}

// readMember reads a line that begins with a key, without indentation.
func (r *reader) readMember(number int, line string) (int, error) {
	if r.empty > 0 {
		return r.empty, noValueError(r.ours)
	}
	r.list, r.ours = nil, ""
	key, value, found := strings.Cut(line, ":")
	key = strings.Trim(strings.TrimSpace(key), `"'`)
	list := r.set.listOf(key)
	switch {
	case list != nil:
	case key == "<<":
		return number, errors.New("its front matter merges YAML, which is not supported")
	case line[0] == '{':
		return number, errors.New("its front matter is not written line by line")
	default:
		if key := resemblingKey(line); key != "" {
			return number, fmt.Errorf("%s is not understood; %s", refusal.Show(key), errSpelling)
		}
		return number, nil
	}
	if !found || r.seen[plainKey(key)] {
		return number, fmt.Errorf("%s stands twice, or without a value", key)
	}
	r.seen[plainKey(key)] = true
	r.ours = key
	if value = strings.TrimSpace(value); value == "" || value[0] == '#' {
		r.list, r.empty = list, number
		return number, nil
	}
	return number, r.set.addGlobs(list, key, value)
}

// noValueError returns the error of a key without a value, which could mean no globs or forgotten ones.
func noValueError(key string) error {
	return fmt.Errorf("%s has no value; write [] for none", key)
}
