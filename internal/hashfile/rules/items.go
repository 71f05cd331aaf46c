package rules

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
)

// addGlobs parses a value that stands in the line of its key: a list, or one item.
func (s *Set) addGlobs(into *[]Glob, key, value string) error {
	list, ok := strings.CutPrefix(value, "[")
	if !ok {
		return s.addGlob(into, key, value)
	}
	items, ok := splitList(list)
	if !ok {
		return fmt.Errorf("%s is a list over several lines; give an item a line", key)
	}
	for _, item := range items {
		if err := s.addGlob(into, key, item); err != nil {
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
		case c == '#' && i > 0 && (list[i-1] == ' ' || list[i-1] == '\t'): // a comment, and the list goes on
			return nil, false
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

// addGlob parses an item of a list. One with braces stands for itself, with the braces as letters, and for what they
// expand to: a rule that could mean either forbids both.
func (s *Set) addGlob(into *[]Glob, name, item string) error {
	item, err := s.unquoteItem(name, strings.TrimSpace(item))
	if err != nil {
		return err
	}
	readings, err := expandBraces(item)
	if err != nil {
		return fmt.Errorf("%s holds %s, which is no glob: %w", name, refusal.Show(item), err)
	}
	if s.expansions += len(readings); s.expansions > maxFileExpansions {
		return fmt.Errorf("the globs with braces stand for more than %d", maxFileExpansions)
	}
	for _, reading := range append(readings, item) {
		g, ok := NewGlob(reading, true)
		// Git drops blanks at the end of a glob; invisible characters are most likely a mistake.
		unseen := strings.TrimSpace(reading) != reading ||
			strings.ContainsFunc(reading, func(c rune) bool { return c == utf8.RuneError || !unicode.IsPrint(c) })
		switch {
		case ok && !unseen && reading[0] != '!':
			*into = append(*into, g)
		case reading == item:
			return fmt.Errorf("%s holds %s, which is no glob", name, refusal.Show(item))
		default:
			return fmt.Errorf("%s holds %s, which stands for %s, which is no glob", name, refusal.Show(item),
				refusal.Show(reading))
		}
	}
	return nil
}

// unquoteItem returns the text of an item, which is quoted or plain, without the comment after it. It fails if a YAML
// parser could read anything but that text.
func (s *Set) unquoteItem(name, item string) (string, error) {
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
	if strings.HasPrefix(item, "{") { // a mapping
		return "", fmt.Errorf("%s holds %s, which is no glob; put one in quotes", name, refusal.Show(item))
	}
	null := item == "~" || strings.EqualFold(item, "null")
	mapping := strings.Contains(item, ": ") || strings.Contains(item, ":\t") || strings.HasSuffix(item, ":")
	alias, isAlias := strings.CutPrefix(item, "*")
	isAlias = isAlias && alias != "" && strings.Contains(s.text, "&"+alias) // without the anchor it is a glob
	if item == "" || null || mapping || isAlias || strings.ContainsAny(item[:1], "[]&|>%@!#`\"'") ||
		strings.HasPrefix(item, "- ") || strings.HasPrefix(item, "? ") {
		return "", fmt.Errorf("%s holds %s, which is not understood; put it in quotes", name, refusal.Show(item))
	}
	return item, nil
}
