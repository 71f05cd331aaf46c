package jsscan

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/hallmark-mcp/hallmark/plugin"
)

// known are the words that tokens looks at, by their first bytes.
var known = func() (known [256][]string) {
	for _, w := range []string{
		"require", "module", "process", "globalThis", "global", "eval", "Function", // globals
		"createRequire", "getBuiltinModule", "_linkedBinding", "mainModule", "constructor", // named
		"import", "export", "arguments", "binding", "with", "function", "this",
	} {
		known[w[0]] = append(known[w[0]], w)
	}
	return known
}()

// isKnown reports whether a word, which is not empty, is one of known.
func isKnown(s []byte) bool {
	for _, w := range known[s[0]] {
		if string(s) == w {
			return true
		}
	}
	return false
}

// harmless reports whether a word that ends at end imports nothing where it stands, or
// plainly what is then noted. As a property it may be one of anything.
func (t *tokenizer) harmless(s []byte, end int, isProperty bool) bool {
	name := string(s)
	switch {
	case name == "constructor" && isProperty:
		// A function to make functions with, of which only a name or a comparison is taken.
		switch next := t.next(end); t.at(next) {
		case '=', '!':
			return t.at(next+1) == '=' || t.at(next) == '=' && t.at(next+1) != '>'
		}
		return t.harmlessMember(evaluates, end)
	case name == "constructor":
		return t.at(t.next(end)) == '('
	case named[name] != nothing, name == "with" && !isProperty, name == "binding" && isProperty:
		return false
	case isProperty:
		return true
	case name == "arguments":
		return t.bodies > 0
	case globals[name] == nothing:
		return true
	}
	switch {
	case t.is(t.prev, "typeof"), name == "Function" && t.is(t.prev, "instanceof"):
		if t.ends(end) {
			return true
		}
	case name == "require":
		return !t.is(t.prev, "new") && t.called(plugin.Require, end)
	}
	return name != "eval" && name != "require" && t.harmlessMember(globals[name], end)
}

// harmlessMember reports whether a property is taken, after end, that means nothing.
func (t *tokenizer) harmlessMember(of meaning, end int) bool {
	pos := t.next(end)
	if t.at(pos) != '.' {
		return false
	}
	pos = t.next(pos + 1)
	name := string(t.code[pos:t.wordEnd(pos)])
	return name != "" && name != "bind" && memberOf(of, name) == nothing
}

// ends reports whether nothing after end belongs to the operand that ends there.
func (t *tokenizer) ends(end int) bool {
	switch pos := t.next(end); t.at(pos) {
	case 0, '=', '!', '<', '>', ')', '&', '|', ';', ',', ':', '}', ']':
		return true
	case '?':
		return t.at(pos+1) != '.'
	}
	return false
}

// called notes the import of a call with one string, whose parenthesis opens after end.
func (t *tokenizer) called(kind plugin.Kind, end int) bool {
	pos := t.next(end)
	if t.at(pos) != '(' {
		return false
	}
	pos = t.next(pos + 1)
	if classes[t.at(pos)] != quote {
		return false
	}
	after, ok := t.textEnd(pos)
	return ok && t.at(t.next(after)) == ')' && t.note(kind, pos, after)
}

// note notes an import of what the string from start to end says.
func (t *tokenizer) note(kind plugin.Kind, start, end int) bool {
	target, ok := unescape(string(t.code[start+1 : end-1]))
	if !ok || !utf8.ValidString(target) || spaces[strings.TrimPrefix(target, "node:")] != nothing {
		return false
	}
	t.lines += bytes.Count(t.code[t.counted:start], []byte("\n"))
	t.counted = start
	t.found = append(t.found, plugin.Import{Line: t.lines + 1, Kind: kind, Specifier: target})
	return true
}

// statement reads import or export, which ends at end, and what belongs to it up to the
// target. An export without one is read as the code that it is.
func (t *tokenizer) statement(start, end int) int {
	pos := t.next(end)
	imports := t.code[start] == 'i'
	if imports {
		switch t.at(pos) {
		case '(':
			if !t.called(plugin.Dynamic, end) {
				return t.stop()
			}
			return t.token(word, start, end)
		case '.': // import.meta
			pos = t.next(pos + 1)
			after := t.wordEnd(pos)
			if string(t.code[pos:after]) != "meta" || !t.harmlessMember(meta, after) {
				return t.stop()
			}
			return t.token(word, start, end)
		}
	}
	begins := t.newline || t.prev.kind == block || t.prev.kind == operator && (t.read == 0 || t.at(t.prev.start) == ';')
	if len(t.open) > 0 || !begins {
		return t.stop()
	}
	kind := plugin.Static
	if imports && classes[t.at(pos)] == quote {
		return t.target(kind, pos)
	}
	if !imports {
		if kind = plugin.Export; t.at(pos) != '*' && t.at(pos) != '{' {
			return t.token(word, start, end)
		}
	}
	pos, ok := t.names(pos)
	if !ok {
		return t.stop()
	}
	if after := t.next(pos); string(t.code[after:t.wordEnd(after)]) == "from" {
		if pos = t.next(after + len("from")); classes[t.at(pos)] == quote {
			return t.target(kind, pos)
		}
		return t.stop()
	}
	if imports {
		return t.stop()
	}
	return t.token(block, start, pos)
}

// target notes the import of a statement, whose target begins at pos.
func (t *tokenizer) target(kind plugin.Kind, pos int) int {
	end, ok := t.textEnd(pos)
	if !ok || !t.note(kind, pos, end) {
		return t.stop()
	}
	return t.token(literal, pos, end)
}

// names reads what stands between import or export and from: a name, * as a name, or
// names between braces.
func (t *tokenizer) names(pos int) (end int, ok bool) {
	name := func() bool {
		pos = t.next(pos)
		after := t.wordEnd(pos)
		if after == pos || isKnown(t.code[pos:after]) {
			return false
		}
		pos = after
		return true
	}
	renamed := func() bool {
		after := t.next(pos)
		if string(t.code[after:t.wordEnd(after)]) != "as" {
			return true
		}
		pos = after + len("as")
		return name()
	}
	for {
		switch t.at(pos) {
		case '*':
			if pos++; !renamed() {
				return 0, false
			}
		case '{':
			for pos = t.next(pos + 1); t.at(pos) != '}'; pos = t.next(pos) {
				if !name() || !renamed() {
					return 0, false
				}
				if pos = t.next(pos); t.at(pos) == ',' {
					pos++
				} else if t.at(pos) != '}' {
					return 0, false
				}
			}
			pos++
		default:
			if !name() {
				return 0, false
			}
		}
		after := t.next(pos)
		if t.at(after) != ',' {
			return pos, true
		}
		pos = t.next(after + 1)
	}
}
