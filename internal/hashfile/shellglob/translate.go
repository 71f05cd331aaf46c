package shellglob

import (
	"errors"
	"regexp"
	"strings"
	"unicode/utf8"
)

// translation is a glob without braces on its way to a regular expression.
type translation struct {
	style Style
	out   strings.Builder
}

// path translates a whole glob.
func (t *translation) path(glob string) error {
	elements := strings.Split(glob, "/")
	last := len(elements) - 1
	for i, element := range elements {
		if element == "**" {
			t.elements(i == 0, i == last)
			continue
		}
		if err := t.element(element); err != nil {
			return err
		}
		if i < last && !(t.style == Globset && elements[i+1] == "**") {
			t.out.WriteByte('/')
		}
	}
	return nil
}

// elements translates "**", which is the first or last element of the glob, or both, or stands between others.
func (t *translation) elements(first, last bool) {
	form := `(?:[^/]+/)*`
	switch {
	case first && last:
		form = `.+`
	case t.style == Minimatch && last:
		form = `.+`
	case t.style == Globset && first:
		form = `(?:/?|.*/)`
	case t.style == Globset && last:
		form = `/.*`
	case t.style == Globset:
		form = `(?:/|/.*/)`
	}
	t.out.WriteString(form)
}

// element translates what stands between two slashes, or an alternative of it.
func (t *translation) element(text string) error {
	some, one := `[^/]*`, `[^/]`
	if t.style == Globset {
		some, one = `.*`, `.`
	}
	for i := 0; i < len(text); {
		if t.style == Minimatch && i+1 < len(text) && text[i+1] == '(' && strings.IndexByte("@?+*!", text[i]) >= 0 {
			if end := closing(text, i+1); end > 0 {
				if err := t.alternatives(text[i], text[i+2:end]); err != nil {
					return err
				}
				i = end + 1
				continue
			}
		}
		switch text[i] {
		case '*':
			t.out.WriteString(some)
			i++
		case '?':
			t.out.WriteString(one)
			i++
		case '[':
			i += t.set(text[i:])
		case '\\':
			i = min(i+1, len(text)-1)
			i += t.letter(text[i:])
		default:
			i += t.letter(text[i:])
		}
	}
	return nil
}

// letter writes the first letter of a text as it is, and returns its size.
func (t *translation) letter(text string) int {
	_, size := utf8.DecodeRuneInString(text)
	t.out.WriteString(regexp.QuoteMeta(text[:size]))
	return size
}

// alternatives translates "a|b" of "+(a|b)", of which kind is the "+".
func (t *translation) alternatives(kind byte, text string) error {
	if kind == '!' {
		return errors.New("has a !( ), which is not understood; exclude with another pattern")
	}
	t.out.WriteString("(?:")
	for depth, begin, i := 0, 0, 0; i <= len(text); i++ {
		switch {
		case i < len(text) && text[i] == '\\':
			i++
		case i < len(text) && text[i] == '(':
			depth++
		case i < len(text) && text[i] == ')':
			depth--
		case i == len(text) || depth == 0 && text[i] == '|':
			if err := t.element(text[begin:i]); err != nil {
				return err
			}
			if i < len(text) {
				t.out.WriteByte('|')
			}
			begin = i + 1
		}
	}
	t.out.WriteByte(')')
	if kind != '@' {
		t.out.WriteByte(kind)
	}
	return nil
}

// closing returns the offset of the parenthesis that closes the one at open; 0 if there is none.
func closing(text string, open int) int {
	depth := 0
	for i := open; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return 0
}

// set translates a set such as "[a-z]" at the beginning of a text, and returns its size. A bracket that opens none is
// a letter.
func (t *translation) set(text string) int {
	i := 1
	negated := i < len(text) && (text[i] == '!' || text[i] == '^')
	if negated {
		i++
	}
	var in strings.Builder
	for first := true; i < len(text); first = false {
		switch c := text[i]; {
		case c == ']' && !first:
			t.out.WriteByte('[')
			if negated {
				t.out.WriteByte('^')
				if t.style == Minimatch {
					t.out.WriteByte('/')
				}
			}
			t.out.WriteString(in.String())
			t.out.WriteByte(']')
			return i + 1
		case strings.HasPrefix(text[i:], "[:") && strings.Contains(text[i:], ":]"):
			end := i + strings.Index(text[i:], ":]") + 2
			in.WriteString(text[i:end])
			i = end
			continue
		case c == '\\' && i+1 < len(text):
			i++
			in.WriteByte('\\')
		case strings.IndexByte(`[]^\`, c) >= 0:
			in.WriteByte('\\')
		}
		_, size := utf8.DecodeRuneInString(text[i:])
		in.WriteString(text[i : i+size])
		i += size
	}
	t.out.WriteString(`\[`)
	return 1
}
