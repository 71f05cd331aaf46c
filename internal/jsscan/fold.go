package jsscan

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tdewolff/parse/v2/js"
)

// fold returns the string that an expression has whenever it runs; ok is false if that is not known.
func fold(e js.INode) (string, bool) { return foldBy(e, nil, 0) }

// foldIn is fold where names of an environment have known texts.
func (b *builder) foldIn(e js.INode, in *env) (string, bool) {
	return foldBy(e, func(v *js.Var, depth int) (string, bool) {
		v = declarationOf(v)
		for e := in; e != nil; e = e.outer {
			if text, ok := e.consts[v]; ok {
				return text, true
			}
		}
		if x, ok := b.consts[v]; ok && depth < maxFold {
			if depth < 0 { // an element of it: see foldIndex
				return foldElement(x, -depth-1)
			}
			return foldBy(x, nil, depth+1)
		}
		return "", false
	}, 0)
}

// maxFold is how deep expressions are folded that are made of others.
const maxFold = 8

type namedText = func(*js.Var, int) (string, bool)

func foldBy(e js.INode, name func(*js.Var, int) (string, bool), depth int) (string, bool) {
	fold := func(e js.INode) (string, bool) { return foldBy(e, name, depth) }
	switch e := e.(type) {
	case *js.Var:
		if name != nil {
			return name(e, depth)
		}
	case *js.CallExpr:
		return foldCall(e, name, depth)
	case *js.IndexExpr:
		return foldIndex(e, name, depth)
	case *js.GroupExpr:
		return fold(e.X)
	case *js.CommaExpr:
		if len(e.List) > 0 {
			return fold(e.List[len(e.List)-1])
		}
	case js.LiteralExpr:
		return fold(&e)
	case *js.LiteralExpr:
		if e.TokenType == js.StringToken && len(e.Data) >= 2 {
			return unescape(string(e.Data[1 : len(e.Data)-1]))
		}
	case *js.BinaryExpr:
		if e.Op == js.AddToken {
			x, ok := fold(e.X)
			if !ok {
				return "", false
			}
			y, ok := fold(e.Y)
			return x + y, ok
		}
	case *js.TemplateExpr:
		if e.Tag != nil {
			return "", false
		}
		var b strings.Builder
		for _, part := range e.List {
			text, ok := unescape(strings.TrimSuffix(strings.TrimLeft(string(part.Value), "`}"), "${"))
			if !ok {
				return "", false
			}
			x, ok := fold(part.Expr)
			if !ok {
				return "", false
			}
			b.WriteString(text + x)
		}
		text, ok := unescape(strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(string(e.Tail), "`"), "}"), "`"))
		return b.String() + text, ok
	}
	return "", false
}

// foldIndex folds an element of a constant array.
func foldIndex(e *js.IndexExpr, name namedText, depth int) (string, bool) {
	l, isLiteral := withoutParens(e.Y).(*js.LiteralExpr)
	if !isLiteral {
		return "", false
	}
	i, err := strconv.Atoi(string(l.Data))
	if err != nil || i < 0 || i > 1000 {
		return "", false
	}
	switch x := withoutParens(e.X).(type) {
	case *js.ArrayExpr:
		return foldElement(x, i)
	case *js.Var:
		if name != nil {
			return name(x, -i-1)
		}
	}
	return "", false
}

func foldElement(e js.INode, i int) (string, bool) {
	array, ok := withoutParens(e).(*js.ArrayExpr)
	if !ok || i >= len(array.List) || hasSpread(array) {
		return "", false
	}
	return foldBy(array.List[i].Value, nil, 1)
}

// foldCall folds ['a', 'b'].join(”) and 'a'.concat('b').
func foldCall(e *js.CallExpr, name func(*js.Var, int) (string, bool), depth int) (string, bool) {
	dot, ok := withoutParens(e.X).(*js.DotExpr)
	if !ok || len(e.Args.List) == 0 || depth > maxFold {
		return "", false
	}
	fold := func(e js.INode) (string, bool) { return foldBy(e, name, depth+1) }
	var pieces []string
	for _, a := range e.Args.List {
		text, ok := fold(a.Value)
		if !ok || a.Rest {
			return "", false
		}
		pieces = append(pieces, text)
	}
	switch propertyName(dot.Y) {
	case "join":
		array, ok := withoutParens(dot.X).(*js.ArrayExpr)
		if !ok {
			return "", false
		}
		separator := pieces[0]
		pieces = nil
		for _, el := range array.List {
			if el.Value == nil || el.Spread {
				return "", false
			}
			text, ok := fold(el.Value)
			if !ok {
				return "", false
			}
			pieces = append(pieces, text)
		}
		return strings.Join(pieces, separator), true
	case "concat":
		text, ok := fold(dot.X)
		return text + strings.Join(pieces, ""), ok
	}
	return "", false
}

// unescape returns the text of a string or template, given the code between its quotes; false if an
// escape is invalid.
func unescape(s string) (string, bool) {
	if !strings.Contains(s, `\`) {
		return s, true
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		if i++; i == len(s) {
			return "", false
		}
		text, size, ok := readEscape(s[i:])
		if !ok {
			return "", false
		}
		b.WriteString(text)
		i += size - 1
	}
	return b.String(), true
}

// letterEscapes are the escapes of one letter.
var letterEscapes = map[byte]string{'n': "\n", 't': "\t", 'r': "\r", 'b': "\b", 'f': "\f", 'v': "\v"}

// readEscape reads the escape at the beginning of s, without its backslash. It returns the text of
// the escape, and its size in bytes.
func readEscape(s string) (text string, size int, ok bool) {
	switch c := s[0]; {
	case letterEscapes[c] != "":
		return letterEscapes[c], 1, true
	case c == '\n':
		return "", 1, true
	case c == '\r':
		if strings.HasPrefix(s, "\r\n") {
			return "", 2, true
		}
		return "", 1, true
	case c == 'x':
		if len(s) < 3 {
			return "", 0, false
		}
		n, err := strconv.ParseUint(s[1:3], 16, 8)
		return string(rune(n)), 3, err == nil
	case c == 'u':
		r, size, ok := unicodeEscape(s[1:])
		return string(r), 1 + size, ok
	case '0' <= c && c <= '7':
		n := 1
		for n < len(s) && n < 3 && '0' <= s[n] && s[n] <= '7' {
			n++
		}
		v, _ := strconv.ParseUint(s[:n], 8, 16)
		if v > 0xff {
			n--
			v, _ = strconv.ParseUint(s[:n], 8, 16)
		}
		return string(rune(v)), n, true
	}
	r, size := utf8.DecodeRuneInString(s)
	if r == '\u2028' || r == '\u2029' { // a line continued
		return "", size, true
	}
	return s[:size], size, true
}

// unicodeEscape reads XXXX or {X…} after \u.
func unicodeEscape(s string) (r rune, size int, ok bool) {
	digits := ""
	if strings.HasPrefix(s, "{") {
		end := strings.IndexByte(s, '}')
		if end < 2 {
			return 0, 0, false
		}
		digits, size = s[1:end], end+1
	} else if len(s) >= 4 {
		digits, size = s[:4], 4
	}
	n, err := strconv.ParseUint(digits, 16, 32)
	return rune(n), size, err == nil && n <= utf8.MaxRune
}

// plainIdentifier returns a name with its escapes resolved.
func plainIdentifier(name []byte) string {
	s := string(name)
	if strings.Contains(s, `\`) {
		if plain, ok := unescape(s); ok {
			return plain
		}
	}
	return s
}
