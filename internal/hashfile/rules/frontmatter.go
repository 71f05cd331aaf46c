package rules

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
)

var (
	// fenceLine matches a line that begins or ends front matter.
	fenceLine = regexp.MustCompile(`^---(?:[ \t]+#.*|[ \t]*)$`)
	// leadingComment matches a comment that may stand before it, such as a copyright notice.
	leadingComment = regexp.MustCompile(`^(?s:<!--.*?-->)`)
	// memberKey matches a key in a line: at its beginning or in brackets, after what YAML
	// allows before keys, or in the form of TOML. Its group 1 is the key.
	memberKey = regexp.MustCompile(
		`(?:^|[\[{,\x{85}\x{2028}\x{2029}\v\f])[\s\pZ\pC]*(?:[-?:]\s+|[!&]\S*\s+)*` +
			`["']?([\pL\pM\pN\p{Cf}_ -]{1,64}?)["']?\s*[:=]`)
	// explicitKey matches a key in a line of its own, or one that only a YAML parser can resolve.
	explicitKey = regexp.MustCompile(`^\s*(?:\?\s+["']?([^"':]+?)["']?\s*$|(?:-\s+)*(\*[^\s*]+\s+:|"[^"]*\\.*"\s*:))`)
)

// errSpelling ends each error about a key that resembles one of the three names.
const errSpelling = "rules are forbidden:, read_only: and ignore:, each at the beginning of its line between two " +
	"lines ---"

// parse reads the front matter. Of YAML it understands the forms
//
//	forbidden: [a, "b/**"]
//	read_only:
//	  - c
//	ignore: d
//
// In the names letter case is ignored, and "-" stands for "_" as well. Any other form of a member with one of these
// names is an error, as is a key that resembles one of them, at whatever depth. Front matter without any belongs to
// another program and restricts nothing, as does text that does not begin with front matter.
func (s *Set) parse(text string) error {
	if at := strings.IndexFunc(strings.ToValidUTF8(text, "\x00"), func(c rune) bool { return c == 0 }); at >= 0 {
		return fmt.Errorf("line %d: it is not text in UTF-8", 1+strings.Count(text[:at], "\n"))
	}
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	rest := text
	for {
		rest = strings.TrimLeftFunc(rest, func(c rune) bool { return unicode.IsSpace(c) || unicode.Is(unicode.Cf, c) })
		comment := leadingComment.FindString(rest)
		if comment == "" {
			break
		}
		rest = rest[len(comment):]
	}
	if !strings.HasPrefix(rest, "---") && !strings.HasPrefix(rest, "+++") {
		return nil
	}
	lines := strings.Split(rest, "\n")
	number := strings.Count(text[:len(text)-len(rest)], "\n") + 1 // of lines[0]
	read := s.readMembers
	if !fenceLine.MatchString(lines[0]) {
		lines[0] = strings.TrimLeft(lines[0], "-+")
		read, number = passOver, number-1
	} else {
		lines = lines[1:]
	}
	if n, err := read(lines); err != nil {
		return fmt.Errorf("line %d: %w", number+n, err)
	}
	return nil
}

// passOver reads lines that begin like front matter and are not, and fails on a key that resembles one of the three
// names. Number is the line of the error, from 1, as in the functions below.
func passOver(lines []string) (number int, err error) {
	for i, line := range lines {
		if i > 0 && (strings.HasPrefix(line, "---") || strings.HasPrefix(line, "+++")) {
			return 0, nil
		}
		if key := resemblingKey(line); key != "" {
			return i + 1, fmt.Errorf("%s stands in what does not begin as front matter does; %s", refusal.Show(key),
				errSpelling)
		}
	}
	return 0, nil
}

// readMembers reads the lines after the first fence, up to the second.
func (s *Set) readMembers(lines []string) (number int, err error) {
	var ours, line string // one of the three names, if the line may belong to its member
	var current *[]Glob   // its list, if its items have lines of their own
	empty := 0            // the line of such a list that has no item yet
	seen, any := map[string]bool{}, false
	for number, line = range lines {
		number++
		line = strings.TrimRight(line, " \t")
		bare := strings.TrimLeft(line, " \t")
		if bare == "" || bare[0] == '#' {
			continue
		}
		if fenceLine.MatchString(line) || line == "..." {
			if !any {
				continue // the front matter has no lines yet
			}
			if empty > 0 {
				return empty, noValueError(ours)
			}
			return 0, nil
		}
		any = true
		item, isItem := strings.CutPrefix(bare, "-")
		isItem = isItem && (item == "" || item[0] == ' ' || item[0] == '\t')
		if isItem && current != nil {
			if err := addGlob(current, ours, item); err != nil {
				return number, err
			}
			empty = 0
			continue
		}
		if line != bare || isItem { // it belongs to the member above
			if ours != "" {
				return number, fmt.Errorf("%s is no list of globs", ours)
			}
			if key := resemblingKey(line); key != "" {
				return number, fmt.Errorf("%s stands below another key; %s", refusal.Show(key), errSpelling)
			}
			continue
		}
		if empty > 0 {
			return empty, noValueError(ours)
		}
		current, ours = nil, ""
		key, value, found := strings.Cut(line, ":")
		key = strings.Trim(strings.TrimSpace(key), `"'`)
		into := s.listOf(key)
		switch {
		case into != nil:
		case key == "<<":
			return number, errors.New("its front matter merges YAML, which is not supported")
		case line[0] == '{':
			return number, errors.New("its front matter is not written line by line")
		default:
			if key := resemblingKey(line); key != "" {
				return number, fmt.Errorf("%s is not understood; %s", refusal.Show(key), errSpelling)
			}
			continue
		}
		if !found || seen[plainKey(key)] {
			return number, fmt.Errorf("%s stands twice, or without a value", key)
		}
		seen[plainKey(key)] = true
		ours = key
		if value = strings.TrimSpace(value); value == "" || value[0] == '#' {
			current, empty = into, number
			continue
		}
		if err := addGlobs(into, key, value); err != nil {
			return number, err
		}
	}
	if len(seen) > 0 {
		return number, errors.New("its front matter has no end")
	}
	return 0, nil // a line of dashes
}

// noValueError returns the error of a key without a value, which could mean no globs or forgotten ones.
func noValueError(key string) error {
	return fmt.Errorf("%s has no value; write [] for none", key)
}

// listOf returns the list that a key fills, nil if it is none of the three names.
func (s *Set) listOf(key string) *[]Glob {
	switch strings.ToLower(strings.ReplaceAll(key, "-", "_")) {
	case "forbidden":
		return &s.forbidden
	case "read_only", "readonly":
		return &s.readOnly
	case "ignore":
		return &s.ignore
	}
	return nil
}

// plainKey returns a key in lower case, without hyphens, underscores and blanks.
func plainKey(key string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "", " ", "").Replace(key))
}

// resemblingKey returns the first key in a line that resembles one of the three names, "" if there is none: see
// resembles. A key that only a YAML parser can resolve may be any of them, and is returned too.
func resemblingKey(line string) string {
	if found := explicitKey.FindStringSubmatch(line); found != nil && (found[2] != "" || resembles(found[1])) {
		return found[1] + found[2]
	}
	for _, found := range memberKey.FindAllStringSubmatch(line, -1) {
		if resembles(found[1]) {
			return found[1]
		}
	}
	return ""
}

// resembles reports whether a key differs from one of the three names in two letters at most, or continues one of
// them, as forbidden_paths does.
func resembles(key string) bool {
	plain := plainKey(key)
	for _, name := range []string{"forbidden", "readonly", "ignore"} {
		if isNear([]rune(plain), []rune(name), 2) {
			return true
		}
	}
	return !strings.Contains(key, " ") && (strings.HasPrefix(plain, "forbid") || strings.HasPrefix(plain, "readonly"))
}

// isNear reports whether a becomes b by inserting, removing or changing n letters at most.
func isNear(a, b []rune, n int) bool {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	switch {
	case len(a) == 0 || len(b) == 0:
		return len(a)+len(b) <= n
	case n == 0:
		return false
	}
	return isNear(a[1:], b[1:], n-1) || isNear(a[1:], b, n-1) || isNear(a, b[1:], n-1)
}

// addGlobs parses a value that stands in the line of its key: a list, or one item.
func addGlobs(into *[]Glob, key, value string) error {
	list, ok := strings.CutPrefix(value, "[")
	if !ok {
		return addGlob(into, key, value)
	}
	items, ok := splitList(list)
	if !ok {
		return fmt.Errorf("%s is a list over several lines; give an item a line", key)
	}
	for _, item := range items {
		if err := addGlob(into, key, item); err != nil {
			return err
		}
	}
	return nil
}

// splitList splits a list at commas outside quotes, up to the bracket that ends the list. Only a comment may follow
// the bracket.
func splitList(list string) (items []string, ok bool) {
	var quoted byte
	start := 0
	for i := 0; i < len(list); i++ {
		switch c := list[i]; {
		case quoted != 0:
			if c == quoted {
				quoted = 0
			}
		case (c == '"' || c == '\'') && strings.TrimSpace(list[start:i]) == "": // elsewhere it is a letter
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

// addGlob parses an item of a list.
func addGlob(into *[]Glob, name, item string) error {
	item, err := unquoteItem(name, strings.TrimSpace(item))
	if err != nil {
		return err
	}
	g, ok := NewGlob(item, true)
	// Git drops blanks at the end of a glob; invisible characters are most likely a mistake.
	unseen := strings.TrimSpace(item) != item ||
		strings.ContainsFunc(item, func(c rune) bool { return c == utf8.RuneError || !unicode.IsPrint(c) })
	if !ok || unseen || strings.ContainsAny(item, "{}") || item[0] == '!' {
		return fmt.Errorf("%s holds %s, which is no glob", name, refusal.Show(item))
	}
	*into = append(*into, g)
	return nil
}

// unquoteItem returns the text of an item, which is quoted or plain, without the comment after it. It fails if a YAML
// parser could read anything but that text.
func unquoteItem(name, item string) (string, error) {
	if len(item) >= 2 && (item[0] == '"' || item[0] == '\'') {
		end := strings.IndexByte(item[1:], item[0])
		if rest := strings.TrimSpace(item[end+2:]); end < 0 || rest != "" && rest[0] != '#' ||
			strings.Contains(item[:end+1], `\`) {
			return "", fmt.Errorf("%s holds %s, which is not understood", name, refusal.Show(item))
		}
		return item[1 : end+1], nil
	}
	if i := strings.IndexByte(item, '#'); i > 0 && (item[i-1] == ' ' || item[i-1] == '\t') {
		item = strings.TrimSpace(item[:i])
	}
	null := item == "~" || strings.EqualFold(item, "null")
	mapping := !strings.HasPrefix(item, "{") && strings.Contains(item, ": ") || strings.HasSuffix(item, ":")
	if item == "" || null || mapping || strings.ContainsAny(item[:1], "[]&|>%@!#`\"'") ||
		strings.HasPrefix(item, "- ") || strings.HasPrefix(item, "? ") {
		return "", fmt.Errorf("%s holds %s, which is not understood; put it in quotes", name, refusal.Show(item))
	}
	return item, nil
}
