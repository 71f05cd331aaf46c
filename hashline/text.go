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

// secondOperation matches what reads as another operation in the content of one: a name and an anchor, or a name at the
// beginning of a line after one that ends with a quote.
var secondOperation = sync.OnceValue(func() *regexp.Regexp {
	const name = `(?:replace(?:[_-]?range)?|insert[_-]?(?:after|before)|delete(?:[_-]?range)?|append|prepend)`
	return regexp.MustCompile(`(?i)(?:^|[ \t\r\n,;])` + name + `[ \t\r\n]+` + bareAnchor + `(?:[ \t\r\n.'"]|$)|` +
		`['"][ \t\r,;]*\n[ \t\r\n]*` + name + `(?:[ \t\r\n]|$)`)
})

const bareAnchor = `(?:0|[1-9][0-9]{0,9}):[0-9A-Fa-f]{0,4}`

// ParseOperation reads an operation that is written as one text:
//
//	replace 2:f1 with '  return "hello";'
//	replace_range 1:a3..3:0e with "one line"
//	insert_after 2:f1 '  console.log("debug");'
//	delete 1:a3..3:0e
//	append 'last line'
//
// Content stands in quotes of one kind, and is what is between the first and the last of
// them, without escapes; or it is the rest of the text as it is, behind one blank or one line
// feed. Content that reads as a second operation is refused. Its errors are of type *[Error].
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
	if content != nil && !quoted && !with && (name == Replace || name == ReplaceRange) {
		return op, refuse(Invalid, "%s %s is followed by %s; it takes one anchor or a range such as 1:a3..3:0e, then the "+
			"word with, then the new lines in quotes", name, op.Anchor, quote(*content))
	}
	if content != nil && secondOperation().MatchString(*content) {
		return op, refuse(Invalid, "the text of %s %s holds another operation; give one operation a text, or objects with "+
			"op, anchor and content", name, op.Anchor)
	}
	op.Content = content
	return op, nil
}

// textContent is the content at the end of an operation's text, or nil; whether it stands in
// quotes; and whether the word with stands before it.
func textContent(text string) (content *string, quoted, with bool) {
	if word, ok := strings.CutPrefix(strings.TrimLeft(text, blanks), "with"); ok &&
		(word == "" || strings.ContainsRune(blanks, rune(word[0]))) {
		text, with = word, true
	}
	s := strings.Trim(text, blanks)
	switch n := len(s); {
	case n == 0:
		return nil, false, with
	case n >= 2 && (s[0] == '\'' || s[0] == '"') && s[n-1] == s[0]:
		s = s[1 : n-1]
		return &s, true, with
	}
	s = strings.TrimLeft(text, " \t\r")
	if !strings.HasPrefix(s, "\n") { // content begins on the same line
		s = text
	}
	s = s[1:]
	return &s, false, with
}
