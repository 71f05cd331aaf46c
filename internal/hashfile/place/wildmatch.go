package place

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// wildmatch reports whether an element of a glob matches a name, as git does it: "*" matches anything, "?" one
// character, "[a-z]", "[!a]", "[^a]" and "[[:alpha:]]" one of a set, and a backslash takes away such a meaning. With
// fold the name is in lower case, and letter case is ignored: the element matches if it matches the name in either
// case, so that "[!A-Z]" matches every character.
//
// Git compares bytes. With fold, where it is safer to match more, characters are compared as well.
func wildmatch(pattern, name string, fold bool) bool {
	return matchLetters(pattern, name, fold, byteOf) || fold &&
		!(spelling.IsASCII(pattern) && spelling.IsASCII(name)) &&
		matchLetters(pattern, name, fold, utf8.DecodeRuneInString)
}

// byteOf returns the first byte of s as a letter, as utf8.DecodeRuneInString returns the first character. Bytes beyond
// ASCII become values that are no characters, so that they have no letter case.
func byteOf(s string) (rune, int) {
	if s[0] < utf8.RuneSelf {
		return rune(s[0]), 1
	}
	return unicode.MaxRune + rune(s[0]), 1
}

// matchLetters matches a pattern with a name, letter by letter; letter returns the first one of a string, with its
// size.
func matchLetters(pattern, name string, fold bool, letter func(string) (rune, int)) bool {
	star, resume := -1, 0 // where to continue, with a longer star, if what follows the star does not match
	for p, n := 0, 0; p < len(pattern) || n < len(name); {
		if p < len(pattern) && pattern[p] == '*' {
			p++
			star, resume = p, n
			continue
		}
		if p < len(pattern) && n < len(name) {
			c, width := letter(name[n:])
			if ok, next := matchOne(pattern, p, c, fold, letter); ok {
				p, n = next, n+width
				continue
			}
		}
		if star < 0 || resume >= len(name) {
			return false
		}
		_, width := letter(name[resume:])
		resume += width
		p, n = star, resume
	}
	return true
}

// matchOne matches the letter c with the element of the pattern at p. Next is the offset after that element, -1 if the
// element has no end.
func matchOne(pattern string, p int, c rune, fold bool, letter func(string) (rune, int)) (ok bool, next int) {
	switch pattern[p] {
	case '?':
		return true, p + 1
	case '[':
		ok, next = inSet(pattern, p, c, letter)
		if upper := unicode.ToUpper(c); !ok && fold && upper != c {
			ok, next = inSet(pattern, p, upper, letter)
		}
		return ok, next
	case '\\':
		if p++; p == len(pattern) {
			return false, -1
		}
	}
	l, width := letter(pattern[p:])
	return l == c || fold && unicode.ToLower(l) == c, p + width
}

// inSet does the work of matchOne for a set in brackets, which begins at pattern[p].
func inSet(pattern string, p int, c rune, letter func(string) (rune, int)) (ok bool, next int) {
	p++
	negated := p < len(pattern) && (pattern[p] == '!' || pattern[p] == '^')
	if negated {
		p++
	}
	in := false
	from := rune(-1) // the letter with which a range may begin
	for first := true; ; first = false {
		if p >= len(pattern) {
			return false, -1
		}
		if pattern[p] == ']' && !first {
			return in != negated, p + 1
		}
		if class, found := strings.CutPrefix(pattern[p:], "[:"); found {
			end := strings.IndexByte(class, ']')
			if end < 0 {
				return false, -1
			}
			if end > 0 && class[end-1] == ':' {
				is := classes[class[:end-1]]
				if is == nil {
					return false, -1
				}
				in = in || c < utf8.RuneSelf && is(byte(c))
				p, from = p+len("[:")+end+1, -1
				continue
			}
		}
		ranged := pattern[p] == '-' && from >= 0 && p+1 < len(pattern) && pattern[p+1] != ']'
		if ranged {
			p++
		}
		if pattern[p] == '\\' {
			if p++; p == len(pattern) {
				return false, -1
			}
		}
		l, width := letter(pattern[p:])
		p += width
		if ranged {
			in = in || from <= c && c <= l
			from = -1
		} else {
			in = in || c == l
			from = l
		}
	}
}

// classes are the character classes of POSIX, for ASCII.
var classes = map[string]func(byte) bool{
	"alnum":  func(c byte) bool { return isAlpha(c) || isDigit(c) },
	"alpha":  isAlpha,
	"blank":  func(c byte) bool { return c == ' ' || c == '\t' },
	"cntrl":  func(c byte) bool { return c < ' ' || c == 0x7f },
	"digit":  isDigit,
	"graph":  func(c byte) bool { return c > ' ' && c < 0x7f },
	"lower":  func(c byte) bool { return 'a' <= c && c <= 'z' },
	"print":  func(c byte) bool { return c >= ' ' && c < 0x7f },
	"punct":  func(c byte) bool { return c > ' ' && c < 0x7f && !isAlpha(c) && !isDigit(c) },
	"space":  func(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' },
	"upper":  func(c byte) bool { return 'A' <= c && c <= 'Z' },
	"xdigit": func(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' },
}

func isAlpha(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isElement reports whether an element of a glob is well-formed.
func isElement(pattern string) bool {
	for p := 0; p < len(pattern); {
		if _, p = matchOne(pattern, p, 0, false, byteOf); p < 0 {
			return false
		}
	}
	return true
}
