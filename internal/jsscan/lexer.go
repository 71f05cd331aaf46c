package jsscan

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// This file reads the tokens of a script without a parser. Only the slash is hard to tell then, as it divides
// or begins a regular expression; where it may do either, the lexer gives up.

// slash is what a slash means that follows a token.
type slash int

const (
	begins  slash = iota // a regular expression
	divides              // the operand before it
	either
)

// lexer reads the tokens of a script.
type lexer struct {
	code    []byte
	at      int
	targets map[string]bool // of imports that were found

	slash   slash  // what one would mean here
	newline bool   // the line ended since the last token
	dotted  bool   // the last token was a dot, a ?. or a #, so that a word is a name
	word    []byte // the last token, if it was a word that is no property
	before  []byte // the token before that one, if it was such a word
	open    []byte // brackets that are open; a condition's is 'c', that of an expression in a template '`'
}

// beforeRegexp are the words after which an expression begins, or a statement.
var beforeRegexp = wordSet(`return typeof case do else in instanceof new void delete throw default extends break
	continue debugger`)

// eitherOperand are the words that are a name in some scripts, and an operator in others.
var eitherOperand = wordSet("yield await of")

// conditions are the words whose parentheses a statement follows.
var conditions = wordSet("if while for with")

// read reads the whole script, and reports whether the list has all that it imports.
func (l *lexer) read() bool {
	if bytes.HasPrefix(l.code, []byte("#!")) {
		l.at = lineEnd(l.code, 0)
	}
	for {
		next, newline, ok := skipSpace(l.code, l.at)
		if !ok {
			return false
		}
		l.newline = l.newline || newline
		if l.at = next; l.at == len(l.code) {
			return len(l.open) == 0
		}
		if !l.readToken() {
			return false
		}
	}
}

// readToken reads one token, which begins here. Like all that read, it says no if it is not certain what the
// token is, or if the list lacks what it imports.
func (l *lexer) readToken() bool {
	c := l.code[l.at]
	switch {
	case isWordByte(c):
		return l.readWord()
	case c == '"' || c == '\'':
		end, ok := stringEnd(l.code, l.at)
		if !ok {
			return false
		}
		l.end(end, divides)
	case c == '`':
		return l.readTemplate()
	case c == '/':
		return l.readSlash()
	case c >= utf8.RuneSelf, c == '\\':
		return false // not of a word, and no space
	default:
		return l.readPunctuator(c)
	}
	return true
}

// end ends a token that is no word.
func (l *lexer) end(at int, after slash) {
	l.at, l.slash, l.newline, l.dotted, l.before, l.word = at, after, false, false, l.word, nil
}

// readSlash reads a division or a regular expression.
func (l *lexer) readSlash() bool {
	switch {
	case l.slash == either, l.slash == divides && l.newline:
		return false // a statement may end with its line
	case l.slash == divides:
		l.end(l.at+1, begins)
		return true
	}
	end, ok := regexpEnd(l.code, l.at)
	if !ok {
		return false
	}
	l.end(end, divides)
	return true
}

// readTemplate reads a template up to its end or its next expression.
func (l *lexer) readTemplate() bool {
	end, expression, ok := templateEnd(l.code, l.at+1)
	if !ok {
		return false
	}
	if expression {
		l.open = append(l.open, '`')
		l.end(end, begins)
		return true
	}
	l.end(end, divides)
	return true
}

// readPunctuator reads what is neither a word nor a literal.
func (l *lexer) readPunctuator(c byte) bool {
	next := func(i int) byte {
		if l.at+i < len(l.code) {
			return l.code[l.at+i]
		}
		return 0
	}
	switch c {
	case '(':
		kind := c
		if conditions[string(l.word)] || string(l.word) == "await" && string(l.before) == "for" {
			kind = 'c'
		}
		l.open = append(l.open, kind)
		l.end(l.at+1, begins)
	case '{', '[':
		l.open = append(l.open, c)
		l.end(l.at+1, begins)
	case ')', ']', '}':
		return l.readClosing(c)
	case '.':
		if d := next(1); '0' <= d && d <= '9' {
			return l.readWord()
		}
		l.end(l.at+1, begins)
		l.dotted = next(0) != '.' && (l.at < 2 || l.code[l.at-2] != '.') // not of a spread
	case '?':
		if d := next(2); next(1) == '.' && (d < '0' || d > '9') {
			l.end(l.at+2, begins)
			l.dotted = true
			break
		}
		l.end(l.at+1, begins)
	case '#':
		if next(1) == '!' {
			return false // a comment, if only a byte order mark is before it
		}
		l.end(l.at+1, begins)
		l.dotted = true
	case '+', '-':
		return l.readSign(c, next(1), next(2))
	default:
		if c == '<' && next(1) == '!' && next(2) == '-' && next(3) == '-' {
			return false
		}
		l.end(l.at+1, begins)
	}
	return true
}

// readClosing reads a bracket that closes one that is open.
func (l *lexer) readClosing(c byte) bool {
	if len(l.open) == 0 {
		return false
	}
	was := l.open[len(l.open)-1]
	l.open = l.open[:len(l.open)-1]
	switch {
	case c == ')' && was == 'c':
		l.end(l.at+1, begins)
	case c == ')' && was == '(', c == ']' && was == '[':
		l.end(l.at+1, divides)
	case c == '}' && was == '{':
		l.end(l.at+1, either)
	case c == '}' && was == '`':
		return l.readTemplate()
	default:
		return false
	}
	return true
}

// readSign reads a plus or minus, or two of them. The next two bytes follow it.
func (l *lexer) readSign(c, next, after byte) bool {
	if next != c {
		l.end(l.at+1, begins)
		return true
	}
	if c == '-' && after == '>' {
		return false // a comment, in a script
	}
	switch {
	case l.slash == divides && l.newline: // of what follows
		l.end(l.at+2, begins)
	default: // of what is before it, or of what follows, as was expected
		l.end(l.at+2, l.slash)
	}
	return true
}

// readWord reads a name, a keyword or a number, and what it may import.
func (l *lexer) readWord() bool {
	begin, dotted := l.at, l.dotted
	number := l.code[begin] == '.' || '0' <= l.code[begin] && l.code[begin] <= '9'
	end := wordEnd(l.code, begin, number)
	word := l.code[begin:end]
	if len(word) == 0 || bytes.IndexByte(word, '\\') >= 0 {
		return false
	}
	l.end(end, divides)
	switch {
	case number:
		return true
	case dotted:
		if string(word) == "require" && !l.accountsCall(end) {
			return false
		}
		return true
	case !l.accountsWord(word, end):
		return false
	}
	l.word = word
	switch {
	case eitherOperand[string(word)]:
		l.slash = either
	case beforeRegexp[string(word)]:
		l.slash = begins
	}
	return true
}

// skipSpace returns where the next token begins, and whether the line ended before it. It says no if a comment
// has no end.
func skipSpace(code []byte, at int) (next int, newline, ok bool) {
	for at < len(code) {
		switch c := code[at]; {
		case c == '\n', c == '\r':
			newline = true
			at++
		case c == ' ', c == '\t', c == '\v', c == '\f':
			at++
		case c == '/' && at+1 < len(code) && code[at+1] == '/':
			at = lineEnd(code, at)
		case c == '/' && at+1 < len(code) && code[at+1] == '*':
			n := bytes.Index(code[at+2:], []byte("*/"))
			if n < 0 {
				return at, newline, false
			}
			comment := code[at : at+2+n]
			newline = newline || bytes.ContainsAny(comment, "\n\r\u2028\u2029")
			at += n + 4
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRune(code[at:])
			switch {
			case r == '\u2028' || r == '\u2029':
				newline = true
			case r != '\ufeff' && !unicode.Is(unicode.Zs, r):
				return at, newline, true
			}
			at += size
		default:
			return at, newline, true
		}
	}
	return at, newline, true
}

// lineEnd returns where the line ends that has at.
func lineEnd(code []byte, at int) int {
	for ; at < len(code); at++ {
		switch c := code[at]; {
		case c == '\n', c == '\r', c == 0xe2 && isLineSeparator(code[at:]):
			return at
		}
	}
	return at
}

func isLineSeparator(code []byte) bool {
	return bytes.HasPrefix(code, []byte("\u2028")) || bytes.HasPrefix(code, []byte("\u2029"))
}

// isWordByte reports whether a byte is of a name, a keyword or a number. Spaces beyond ASCII were skipped.
func isWordByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '$' || c == '\\' ||
		c >= utf8.RuneSelf
}

// wordEnd returns where a word ends that begins at at. That of a number has dots.
func wordEnd(code []byte, at int, number bool) int {
	for at < len(code) {
		c := code[at]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRune(code[at:])
			if r == '\u2028' || r == '\u2029' || r == '\ufeff' || unicode.Is(unicode.Zs, r) {
				break
			}
			at += size
			continue
		}
		if !isWordByte(c) && !(number && c == '.') {
			break
		}
		at++
	}
	return at
}

// stringEnd returns where a string ends that begins at at, after its quote.
func stringEnd(code []byte, at int) (end int, ok bool) {
	quote := code[at]
	for i := at + 1; i < len(code); i++ {
		switch code[i] {
		case quote:
			return i + 1, true
		case '\\':
			if i++; i+1 < len(code) && code[i] == '\r' && code[i+1] == '\n' {
				i++
			}
		case '\n', '\r':
			return 0, false
		}
	}
	return 0, false
}

// templateEnd returns where a part of a template ends that begins at at: after its quote, or after the ${ of
// an expression.
func templateEnd(code []byte, at int) (end int, expression, ok bool) {
	for i := at; i < len(code); i++ {
		switch code[i] {
		case '`':
			return i + 1, false, true
		case '\\':
			i++
		case '$':
			if i+1 < len(code) && code[i+1] == '{' {
				return i + 2, true, true
			}
		}
	}
	return 0, false, false
}

// regexpEnd returns where a regular expression ends that begins at at, after its flags.
func regexpEnd(code []byte, at int) (end int, ok bool) {
	class := false
	for i := at + 1; i < len(code); i++ {
		switch c := code[i]; {
		case c == '\n', c == '\r', c == 0xe2 && isLineSeparator(code[i:]):
			return 0, false
		case c == '\\':
			if i++; i >= len(code) || code[i] == '\n' || code[i] == '\r' || isLineSeparator(code[i:]) {
				return 0, false
			}
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '/' && !class:
			return wordEnd(code, i+1, false), true
		}
	}
	return 0, false
}
