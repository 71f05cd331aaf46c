package jsscan

import (
	"bytes"
	"strings"

	"github.com/hallmark-mcp/hallmark/plugin"
)

// This file decides whether another parser could find an import with a literal target that is not in the
// list already. It reads the tokens of a script without the tree: each place at which require, import or
// from is in the code, and not in a string, a template, a regular expression or a comment, must name a
// target of the list.

// accountsForAll reports whether no parser can find an import with a literal target in content that is not
// in found. It says no wherever that is not certain.
func accountsForAll(content []byte, found []plugin.Import) bool {
	l := lexer{code: content, targets: map[string]bool{}}
	for _, f := range found {
		if !f.Computed {
			l.targets[f.Specifier] = true
		}
	}
	return l.read()
}

// accountsWord reports whether the list has what a word imports that stands before end.
func (l *lexer) accountsWord(word []byte, end int) bool {
	switch string(word) {
	case "require":
		return l.accountsCall(end)
	case "module": // a property of it may be require
		at, ok := l.space(end)
		return ok && !l.has(at, '[')
	case "from":
		at, ok := l.space(end)
		return ok && l.accountsStatement(at)
	case "import":
		return l.accountsImport(end)
	}
	return true
}

// accountsImport reports whether the list has what is imported by the import that stands before at. That of a
// statement with names stands behind its from.
func (l *lexer) accountsImport(at int) bool {
	at, ok := l.space(at)
	switch {
	case !ok:
		return false
	case l.has(at, '('):
		return l.accountsArgument(at + 1)
	case l.has(at, '.'):
		at, ok = l.space(at + 1)
		return ok && string(l.code[at:wordEnd(l.code, at, false)]) == "meta"
	}
	return l.accountsStatement(at)
}

// space is where the token begins that stands at or after at.
func (l *lexer) space(at int) (next int, ok bool) {
	next, _, ok = skipSpace(l.code, at)
	return next, ok
}

func (l *lexer) has(at int, c byte) bool { return at < len(l.code) && l.code[at] == c }

// accountsStatement reports whether the list has the target of a statement, if one stands at at.
func (l *lexer) accountsStatement(at int) bool {
	if !l.has(at, '"') && !l.has(at, '\'') {
		return true
	}
	end, ok := stringEnd(l.code, at)
	return ok && l.isTarget(at, end)
}

// accountsCall reports whether the list has what is imported by require, which stands before at.
func (l *lexer) accountsCall(at int) bool {
	at, ok := l.space(at)
	for member := false; ok && at < len(l.code); {
		switch c := l.code[at]; {
		case c == '(':
			return l.accountsArgument(at + 1)
		case c == '`', c == '[':
			return false
		case c == ')': // of parentheses, after which a call may follow
			for ok && l.has(at, ')') {
				at, ok = l.space(at + 1)
			}
			return ok && (at == len(l.code) || bytes.IndexByte([]byte("(.?[`"), l.code[at]) < 0)
		case c == '.' || c == '?' && l.has(at+1, '.'):
			if at++; c == '?' {
				at++
			}
			if at, ok = l.space(at); !ok {
				return false
			}
			end := wordEnd(l.code, at, false)
			switch name := string(l.code[at:end]); {
			case name == "": // ?.( or ?.[
				continue
			case name != "resolve" || member:
				return !strings.Contains(name, `\`)
			}
			member = true
			at, ok = l.space(end)
		default:
			return true
		}
	}
	return ok
}

// accountsArgument reports whether the list has the first argument of a call, which begins at at.
func (l *lexer) accountsArgument(at int) bool {
	at, ok := l.space(at)
	if !ok || at == len(l.code) {
		return false
	}
	end := at
	switch c := l.code[at]; c {
	case ')':
		return true
	case '"', '\'':
		end, ok = stringEnd(l.code, at)
	case '`':
		var expression bool
		end, expression, ok = templateEnd(l.code, at+1)
		ok = ok && !expression
	default: // names, which are no literal
		for ok && at < len(l.code) && (isWordByte(l.code[at]) || l.code[at] == '.') {
			at, ok = l.space(max(at+1, wordEnd(l.code, at, false)))
		}
		return ok && (l.has(at, ')') || l.has(at, ','))
	}
	if !ok {
		return false
	}
	after, ok := l.space(end)
	return ok && (l.has(after, ')') || l.has(after, ',')) && l.isTarget(at, end)
}

// isTarget reports whether the list has the literal that stands from at to end.
func (l *lexer) isTarget(at, end int) bool {
	text, ok := unescape(string(l.code[at+1 : end-1]))
	return ok && l.targets[text]
}

func wordSet(words string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(words) {
		out[w] = true
	}
	return out
}
