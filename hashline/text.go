package hashline

import (
	"regexp"
	"strings"
	"sync"
)

// The blanks of an operation that is written as one text.
const blanks = " \t\r\n"

// textAnchor matches an anchor, or a range, that a blank or the end of the text follows.
var textAnchor = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(` + bareAnchor + `(?:[ \t\r\n]*\.\.[ \t\r\n]*` + bareAnchor +
		`)?)(?:[ \t\r\n]|$)`)
})

var (
	// namedAnchor matches the name of an operation and an anchor, with at most three signs between them.
	namedAnchor = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b(?:replace(?:[_-]?(?:range|all))?|insert[_-]?(?:after|before)|` +
			`delete(?:[_-]?range)?|append|prepend)\W{1,3}(?:0|[1-9][0-9]{0,9}):[0-9a-f]{0,4}(?:\W|$)`)
	})
	// nameInLine matches the name of an operation that needs no anchor at the beginning of a line, but of the first.
	nameInLine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\n[ \t]*(?:[0-9]+[.)]|[-*])?[ \t]*(?:append|prepend|replace[_-]?all)(?:\W|$)`)
	})
	// innerQuote matches a quote beside what is no letter or digit.
	innerQuote = sync.OnceValue(func() map[byte]*regexp.Regexp {
		return map[byte]*regexp.Regexp{
			'\'': regexp.MustCompile(`(?:^|[^\pL\pN])'|'(?:[^\pL\pN]|$)`),
			'"':  regexp.MustCompile(`(?:^|[^\pL\pN])"|"(?:[^\pL\pN]|$)`),
		}
	})
)

// readTwice returns the part of a text's content that could be the end of it and the beginning of another operation; ""
// if there is none. Quote is the quote around the content; 0 is none.
func readTwice(content string, quote byte) string {
	switch {
	case namedAnchor().MatchString(content):
		return namedAnchor().FindString(content)
	case quote != 0:
		return innerQuote()[quote].FindString(content)
	}
	return nameInLine().FindString(content)
}

const bareAnchor = `(?:0|[1-9][0-9]{0,9}):[0-9A-Fa-f]{0,4}`

// ParseOperation reads an operation that is written as one text:
//
//	replace 2:f1 with '  return "hello";'
//	replace_range 1:a3..3:0e with "one line"
//	insert_after 2:f1 '  console.log("debug");'
//	delete 1:a3..3:0e
//	append 'last line'
//
// Content is in quotes of one kind: what is between the first and the last of
// them, without escapes; or it is the rest of the text as it is, behind one blank or one line
// feed. Content that may be the end of one operation and the beginning of another is refused. Its
// errors are of type *[Error].
func ParseOperation(text string) (Operation, error) {
	rest := strings.TrimLeft(text, blanks)
	word := rest
	if i := strings.IndexAny(rest, blanks); i >= 0 {
		word = rest[:i]
	}
	rest = rest[len(word):]
	name, err := opName(word)
	if err != nil {
		return Operation{}, err
	}
	if name == ReplaceAll {
		return Operation{}, refuse(Invalid, "replace_all is not written as one text; give an object with op "+
			"replace_all, the old text as anchor and the new one as content")
	}
	op := Operation{Op: name}
	behind := strings.TrimLeft(rest, blanks)
	if m := textAnchor().FindStringSubmatch(behind); m != nil {
		op.Anchor = m[1]
		rest = behind[len(m[1]):]
	} else if name != Append && name != Prepend {
		return op, refuse(Invalid, "%s is followed by %s, where an anchor without the text of its line and a blank "+
			"must stand, as in %q", name, quote(behind), name+" 2:f1 ")
	}
	content, quoted, with := textContent(rest)
	if content != nil && quoted == 0 && !with && (name == Replace || name == ReplaceRange) {
		return op, refuse(Invalid, "%s %s is followed by %s; it takes one anchor or a range such as 1:a3..3:0e, "+
			"then the word with, then the new lines in quotes", name, op.Anchor, quote(*content))
	}
	op.Content = content
	if content == nil {
		return op, nil
	}
	if part := readTwice(*content, quoted); part != "" {
		return op, refuse(Invalid, "the content of %s %s holds %s, and may end before that; give one operation a "+
			"text, or an object with op, anchor and content", name, op.Anchor, quote(strings.TrimSpace(part)))
	}
	return op, nil
}

// textContent is the content at the end of an operation's text, or nil; the quote that it
// is in, 0 if none; and whether the word with stands before it.
func textContent(text string) (content *string, quoted byte, with bool) {
	if word, ok := strings.CutPrefix(strings.TrimLeft(text, blanks), "with"); ok &&
		(word == "" || strings.ContainsRune(blanks, rune(word[0]))) {
		text, with = word, true
	}
	s := strings.Trim(text, blanks)
	switch n := len(s); {
	case n == 0:
		return nil, 0, with
	case n >= 2 && (s[0] == '\'' || s[0] == '"') && s[n-1] == s[0]:
		inner := s[1 : n-1]
		return &inner, s[0], with
	}
	s = strings.TrimLeft(text, " \t\r")
	if !strings.HasPrefix(s, "\n") { // content begins on the same line
		s = text
	}
	s = s[1:]
	return &s, 0, with
}
