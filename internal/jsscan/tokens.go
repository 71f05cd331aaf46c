package jsscan

import (
	"bytes"
	"strings"

	"github.com/hallmark-mcp/hallmark/plugin"
)

// Most files of a plugin import by a handful of plain statements and calls, and a syntax
// tree of them costs fifty times what reading their tokens does. tokens finds the imports
// of such a file and is sure of it, or leaves the file to the tree.
//
// # Why it finds what the tree does
//
// The tree reports an expression only if that has a meaning, or makes something of one
// that has. Meanings come from the free names of globals, from import and import.meta,
// from properties that mean the same whatever they belong to (named), from what require
// and import() give for a module of spaces, and from this in a function that is called
// where it stands. A call of a property binding, the name arguments outside of a function,
// the statement with and the statements import and export … from are reported whatever
// they stand beside. So tokens looks at each word of these:
//
//   - require("x"), import("x") and the statements of a plain target are imports, unless
//     the target is one of spaces. A declaration of the name require, which would make a
//     call of it another function's, has it in no such call, and is left to the tree.
//   - process.x, module.x and the like mean nothing if the tree's own table, memberOf, says
//     so; a word after typeof means nothing.
//   - constructor(…) is a method, or a call of a name that means nothing.
//   - arguments means nothing in the body of a function.
//
// Everything else is left to the tree: the word anywhere else, as a declaration or a key
// too; a string with one of the names as its value as a key; strings put together between brackets,
// where they could be a property's name; { return this } before a call.
//
// # Why its tokens are those of Node
//
// The tokens of the language depend on its grammar in few places only. A slash begins a
// regular expression or divides by what stands before it: where that takes more than the
// word or the bracket before it to tell, or a line may have ended a statement, the file is
// left to the tree. So is one with an escape or a character outside of ASCII in a name, a
// comment in the form of HTML, brackets that do not match, or two operands in a row, as in
// prose. Other mistakes are not noticed: code that Node does not read imports nothing.

// maxNesting is how deep brackets are followed.
const maxNesting = 500

type tokenKind uint8

const (
	operator  tokenKind = iota // also the beginning, and brackets that open
	member                     // . and ?.
	word                       // a name or a keyword
	property                   // a word after member, or a private name
	literal                    // a number, string, template or regular expression
	closing                    // ) and ]
	block                      // }
	increment                  // ++ and --
)

// token is one that was read.
type token struct {
	kind       tokenKind
	start, end int
}

// bracket is one that is open.
type bracket struct {
	open   byte // ( [ { or $ for that of a template
	start  int
	group  bool // ( not of a call
	index  bool // [ after an operand
	key    bool // [ where a key of an object may stand
	comma  bool // [ with a comma
	words  int  // before it
	commas int  // before it
	params bool // ( of a function
	body   bool // { of a function
	clause bool // ( after a keyword that a statement follows
}

// tokenizer reads tokens of code that it understands.
type tokenizer struct {
	code      []byte
	found     []plugin.Import
	lines     int // before counted
	counted   int
	prev      token
	before    token // prev
	newline   bool  // after prev
	read      int   // tokens
	words     int   // of them
	commas    int   // of them
	function  int   // read when the last word function was, and 1
	returned  int   // where the { of the last { return this began, and 1
	bodies    int   // of functions that are open
	closed    bracket
	open      []bracket
	undecided bool
}

// tokens finds the imports of code, or is not sure.
func tokens(code []byte) (found []plugin.Import, decided bool) {
	if bytes.Contains(code, []byte("\u2028")) || bytes.Contains(code, []byte("\u2029")) { // ends of lines
		return nil, false
	}
	t := tokenizer{code: code, open: make([]bracket, 0, 32)}
	t.run()
	return t.found, !t.undecided && len(t.open) == 0
}

// What a byte of code is.
const (
	other byte = iota // not understood
	white
	lineEnd
	quote
	punctuation
	letter
	digit // and letter are those of words
)

var classes = func() (class [256]byte) {
	set := func(chars string, is byte) {
		for i := range len(chars) {
			class[chars[i]] = is
		}
	}
	set(" \t\v\f", white)
	set("\r\n", lineEnd)
	set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$", letter)
	set("0123456789", digit)
	set("'\"", quote)
	set("{}()[];,<>+-*%&|^!~?:=./#`", punctuation)
	return class
}()

// run reads all tokens, or stops where it is not sure.
func (t *tokenizer) run() {
	code, pos := t.code, 0
	if bytes.HasPrefix(code, []byte("#!")) {
		pos = t.lineComment(0)
	}
	for pos < len(code) && !t.undecided {
		switch classes[code[pos]] {
		case white:
			pos++
		case lineEnd:
			t.newline = true
			pos++
		case letter:
			pos = t.word(pos)
		case digit:
			pos = t.number(pos)
		case quote:
			pos = t.text(pos)
		case punctuation:
			pos = t.punctuation(pos)
		default:
			t.undecided = true
		}
	}
}

// token takes note of one that was read, and returns its end.
func (t *tokenizer) token(kind tokenKind, start, end int) int {
	t.before, t.prev = t.prev, token{kind, start, end}
	t.newline = false
	t.read++
	if kind == word {
		t.words++
	}
	return end
}

// stop leaves the file to the tree.
func (t *tokenizer) stop() int {
	t.undecided = true
	return len(t.code)
}

// is reports whether a token is a word, and this one.
func (t *tokenizer) is(k token, s string) bool {
	return k.kind == word && string(t.code[k.start:k.end]) == s
}

// next is where the next token begins.
func (t *tokenizer) next(pos int) int {
	for pos < len(t.code) {
		switch {
		case classes[t.code[pos]] == white, classes[t.code[pos]] == lineEnd:
			pos++
		case t.code[pos] == '/' && t.at(pos+1) == '/':
			pos = t.lineComment(pos)
		case t.code[pos] == '/' && t.at(pos+1) == '*':
			pos = t.comment(pos)
		default:
			return pos
		}
	}
	return pos
}

// at is the byte at pos, or 0.
func (t *tokenizer) at(pos int) byte {
	if pos < len(t.code) {
		return t.code[pos]
	}
	return 0
}

// wordEnd is where a word at pos ends.
func (t *tokenizer) wordEnd(pos int) int {
	code := t.code
	for pos < len(code) && classes[code[pos]] >= letter {
		pos++
	}
	return pos
}

// word reads a name or a keyword.
func (t *tokenizer) word(start int) int {
	end := t.wordEnd(start)
	s := t.code[start:end]
	if t.prev.kind == member {
		if isKnown(s) && !t.harmless(s, end, true) {
			return t.stop()
		}
		return t.token(property, start, end)
	}
	if !t.newline && t.adjoins() && !between(s) {
		return t.stop()
	}
	if isKnown(s) {
		switch string(s) {
		case "import", "export":
			return t.statement(start, end)
		case "function":
			t.function = t.read + 1
		case "this":
			if t.is(t.prev, "return") && t.before.kind == operator && t.at(t.before.start) == '{' {
				t.returned = t.before.start + 1
			}
		default:
			if !t.harmless(s, end, false) {
				return t.stop()
			}
		}
	}
	return t.token(word, start, end)
}

// adjoins reports whether no operand can follow the last token in its line.
func (t *tokenizer) adjoins() bool {
	switch t.prev.kind {
	case property, literal:
		return true
	case word:
		switch string(t.code[t.prev.start:t.prev.end]) {
		case "const", "let", "var", "return", "new", "typeof", "function", "class", "extends", "async", "await", "yield", "static", "get", "set",
			"of", "in", "instanceof", "delete", "void", "throw", "case", "do", "else", "default", "export", "break", "continue", "for":
			return false
		}
		return true
	}
	return false
}

// between reports whether a word stands between two operands.
func between(s []byte) bool {
	switch string(s) {
	case "in", "of", "instanceof", "extends":
		return true
	}
	return false
}

func (t *tokenizer) number(pos int) int {
	if !t.newline && t.adjoins() {
		return t.stop()
	}
	end := t.wordEnd(pos)
	// A point belongs to a number, whatever follows it, if that is decimal and has neither
	// an exponent nor an n. Behind a zero that takes a look at the digits.
	if t.at(end) == '.' && len(bytes.Trim(t.code[pos:end], "0123456789_")) == 0 {
		if t.code[pos] == '0' && end > pos+1 {
			return t.stop()
		}
		end = t.wordEnd(end + 1)
	}
	return t.token(literal, pos, end)
}

// text reads a string.
func (t *tokenizer) text(start int) int {
	if !t.newline && t.adjoins() {
		return t.stop()
	}
	end, ok := t.textEnd(start)
	if !ok {
		return t.stop()
	}
	switch t.at(t.next(end)) {
	case ']', ':': // a property's name
		if isName(t.code[start+1 : end-1]) {
			return t.stop()
		}
	}
	return t.token(literal, start, end)
}

// textEnd is the end of the string that begins at start.
func (t *tokenizer) textEnd(start int) (end int, ok bool) {
	q := t.code[start]
	for pos := start + 1; pos < len(t.code); pos++ {
		switch t.code[pos] {
		case q:
			return pos + 1, true
		case '\\':
			pos++
		case '\n', '\r':
			return 0, false
		}
	}
	return 0, false
}

// isName reports whether the inside of a string is a property's name that means something
// whatever it belongs to.
func isName(inside []byte) bool {
	if len(inside) == 0 || bytes.IndexByte(inside, '\\') < 0 && !isKnown(inside) && classes[inside[0]] != quote {
		return false
	}
	name, ok := unescape(string(inside))
	name = strings.Trim(name, `"'`) // as key does
	return !ok || named[name] != nothing || name == "binding"
}

func (t *tokenizer) punctuation(pos int) int {
	switch c := t.code[pos]; c {
	case '/':
		return t.slash(pos)
	case '`':
		return t.template(pos, pos+1)
	case '(', '[', '{':
		return t.opening(pos, c)
	case ')', ']', '}':
		return t.closing(pos, c)
	case '.':
		switch {
		case classes[t.at(pos+1)] == digit:
			end := t.wordEnd(pos + 1)
			return t.token(literal, pos, end)
		case t.at(pos+1) == '.' && t.at(pos+2) == '.':
			return t.token(operator, pos, pos+3)
		}
		return t.token(member, pos, pos+1)
	case '?':
		if t.at(pos+1) == '.' && classes[t.at(pos+2)] != digit {
			return t.token(member, pos, pos+2)
		}
	case '+', '-':
		if t.at(pos+1) == c {
			if t.at(pos+2) == '>' {
				return t.stop()
			}
			return t.token(increment, pos, pos+2)
		}
	case '<':
		if t.at(pos+1) == '!' && t.at(pos+2) == '-' {
			return t.stop()
		}
	case '#':
		if classes[t.at(pos+1)] != letter {
			return t.stop()
		}
		return t.token(property, pos, t.wordEnd(pos+1))
	case ',':
		t.commas++
		if n := len(t.open); n > 0 {
			t.open[n-1].comma = true
		}
	}
	return t.token(operator, pos, pos+1)
}

func (t *tokenizer) opening(pos int, c byte) int {
	if len(t.open) == maxNesting {
		return t.stop()
	}
	b := bracket{open: c, start: pos, words: t.words, commas: t.commas}
	switch c {
	case '(':
		b.group = t.prev.kind == operator
		b.params = t.function > 0 && t.read-t.function < 3
		if t.prev.kind == word {
			switch string(t.code[t.prev.start:t.prev.end]) {
			case "if", "while", "for", "await":
				b.clause = true
			}
		}
	case '[':
		switch t.prev.kind {
		case word:
			b.index = !beforeOperand(t.code[t.prev.start:t.prev.end]) && !t.iterates()
		case operator:
			b.key = t.at(t.prev.start) == '{' || t.at(t.prev.start) == ','
		default:
			b.index = true
		}
	case '{':
		if b.body = t.prev.kind == closing && t.at(t.prev.start) == ')' && t.closed.params; b.body {
			t.bodies++
		}
	}
	t.open = append(t.open, b)
	return t.token(operator, pos, pos+1)
}

// iterates reports whether the last word is the of of a for.
func (t *tokenizer) iterates() bool {
	n := len(t.open)
	return n > 0 && t.open[n-1].clause && t.is(t.prev, "of") && t.before.kind != operator && t.before.kind != member
}

func (t *tokenizer) closing(pos int, c byte) int {
	n := len(t.open) - 1
	if n < 0 {
		return t.stop()
	}
	b := t.open[n]
	t.open = t.open[:n]
	switch {
	case c == ')' && b.open == '(':
	case c == ']' && b.open == '[':
		if t.joined(b, pos) {
			return t.stop()
		}
	case c == '}' && b.open == '$':
		return t.template(pos, pos+1)
	case c == '}' && b.open == '{':
		if b.body {
			t.bodies--
		}
		if t.returned == b.start+1 && (t.at(t.prev.start) == ';' || t.is(t.prev, "this")) && t.calledAfter(pos+1) {
			return t.stop()
		}
		return t.token(block, pos, pos+1)
	default:
		return t.stop()
	}
	t.closed = b
	return t.token(closing, pos, pos+1)
}

// joined reports whether what stands between brackets that end at pos may be a property's
// name that is put together. It then ends with a string, or a parenthesis, and begins with
// one, and has no name in it but before a comma, which throws away what it follows.
func (t *tokenizer) joined(b bracket, pos int) bool {
	switch {
	case !b.index && !(b.key && t.at(t.next(pos+1)) == ':'):
		return false
	case t.prev.kind == literal:
		if t.before.start == b.start { // one string or number alone was looked at
			return t.at(t.prev.end-1) == '`'
		}
	case t.prev.kind == closing && t.closed.group:
	default:
		return false
	}
	if b.comma {
		return true
	}
	switch first := t.at(t.next(b.start + 1)); {
	case classes[first] == quote, first == '`':
		return t.words == b.words || t.commas > b.commas
	case first == '(':
		return true
	}
	return false
}

// calledAfter reports whether the function that ends before pos may be called there.
func (t *tokenizer) calledAfter(pos int) bool {
	for pos = t.next(pos); t.at(pos) == ')'; {
		pos = t.next(pos + 1)
	}
	return t.at(pos) == '(' || t.at(pos) == '?'
}

// slash reads a comment, a regular expression or a division.
func (t *tokenizer) slash(pos int) int {
	switch t.at(pos + 1) {
	case '/':
		return t.lineComment(pos)
	case '*':
		end := t.comment(pos)
		t.newline = t.newline || bytes.ContainsAny(t.code[pos:end], "\r\n")
		return end
	}
	switch t.prev.kind {
	case operator:
		return t.regexp(pos)
	case word:
		if beforeOperand(t.code[t.prev.start:t.prev.end]) {
			return t.regexp(pos)
		}
		switch string(t.code[t.prev.start:t.prev.end]) {
		case "of", "await", "yield", "let", "static", "async", "get", "set", "break", "continue", "debugger", "extends":
			return t.stop()
		}
	case property, literal:
	case closing:
		if t.at(t.prev.start) == ')' && t.closed.clause {
			return t.stop()
		}
	default:
		return t.stop()
	}
	if t.newline { // which may have ended a statement
		return t.stop()
	}
	return t.token(operator, pos, pos+1)
}

// beforeOperand reports whether an operand follows a keyword, always.
func beforeOperand(s []byte) bool {
	switch string(s) {
	case "return", "typeof", "instanceof", "in", "new", "delete", "void", "throw", "case", "do", "else", "default":
		return true
	}
	return false
}

// lineComment is where one that begins at pos ends.
func (t *tokenizer) lineComment(pos int) int {
	if n := bytes.IndexAny(t.code[pos:], "\r\n"); n >= 0 {
		return pos + n
	}
	return len(t.code)
}

// comment is where one between marks that begins at pos ends.
func (t *tokenizer) comment(pos int) int {
	n := bytes.Index(t.code[pos+2:], []byte("*/"))
	if n < 0 {
		return t.stop()
	}
	return pos + n + 4
}

func (t *tokenizer) regexp(start int) int {
	class := false
	for pos := start + 1; pos < len(t.code); pos++ {
		switch t.code[pos] {
		case '\\':
			if pos++; classes[t.at(pos)] == lineEnd {
				return t.stop()
			}
		case '[':
			class = true
		case ']':
			class = false
		case '\n', '\r':
			return t.stop()
		case '/':
			if !class {
				return t.token(literal, start, t.wordEnd(pos+1))
			}
		}
	}
	return t.stop()
}

// template reads the text of a template, from pos to its end or to an expression in it.
func (t *tokenizer) template(start, pos int) int {
	for ; pos < len(t.code); pos++ {
		switch t.code[pos] {
		case '`':
			return t.token(literal, start, pos+1)
		case '\\':
			pos++
		case '$':
			if t.at(pos+1) == '{' {
				if len(t.open) == maxNesting {
					return t.stop()
				}
				t.open = append(t.open, bracket{open: '$', start: pos + 1})
				return t.token(operator, pos, pos+2)
			}
		}
	}
	return t.stop()
}
