package hashline

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// anchor is a parsed anchor.
type anchor struct {
	text  string // as shown in messages: "2:f1"
	line  int
	tag   uint64
	width int // 0 in "0:"
}

const notAnAnchor = "anchor %s is not NUMBER:TAG; copy it from the line as it was shown, as in \"2:f1\""

var anchorForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(0|[1-9][0-9]{0,9}):([0-9A-Fa-f]{0,4})(?:\|(?s:.*))?$`)
})

// parseAnchor reads "NUMBER:TAG" with a tag of at least width digits, or "0:".
func parseAnchor(s string, width int) (anchor, *Error) {
	m := anchorForm().FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return anchor{}, refuse(Invalid, notAnAnchor, quote(s))
	}
	a := anchor{text: m[1] + ":" + strings.ToLower(m[2]), width: len(m[2])}
	var err error
	if a.line, err = strconv.Atoi(m[1]); err != nil {
		return anchor{}, refuse(Invalid, notAnAnchor, quote(s))
	}
	if a.line == 0 {
		if a.width > 0 {
			return anchor{}, refuse(Invalid,
				"anchor %s: lines are counted from 1; to insert before line 1 use prepend without an anchor; an "+
					"empty file has the anchor \"0:\"", a.text)
		}
		return a, nil
	}
	if a.width < width {
		return anchor{}, refuse(Invalid, "anchor %s has a tag of %d digits, and those that are shown have %d; copy "+
			"it whole",
			a.text, a.width, width)
	}
	a.tag, err = strconv.ParseUint(m[2], 16, 16)
	if err != nil {
		return anchor{}, refuse(Invalid, notAnAnchor, quote(s))
	}
	return a, nil
}

// matches reports whether line n has the anchor's tag.
func (a anchor) matches(f *File, n int) bool {
	return Hash(f.Line(n))&(1<<(4*a.width)-1) == a.tag
}

// quote shows the beginning of text from outside.
func quote(s string) string { return quoteShort(s, 60) }

// quoteShort shows at most so many bytes of text from outside.
func quoteShort(s string, most int) string {
	if len(s) <= most {
		return strconv.QuoteToASCII(s)
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return strconv.QuoteToASCII(s[:most]) + "..."
}
