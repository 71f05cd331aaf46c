package jsscan

import (
	"strings"

	"github.com/tdewolff/parse/v2/js"
)

// fold returns the string that an expression is whatever runs: a literal, a template, or a sum of these; ok is false
// if that is not known.
func fold(e js.INode) (text string, ok bool) {
	switch e := withoutParens(e).(type) {
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
		return foldTemplate(e)
	}
	return "", false
}

// foldTemplate folds a template without a tag.
func foldTemplate(e *js.TemplateExpr) (string, bool) {
	if e.Tag != nil {
		return "", false
	}
	var b strings.Builder
	for _, part := range e.List {
		text, ok := pieceText(string(part.Value), "${")
		if !ok {
			return "", false
		}
		x, ok := fold(part.Expr)
		if !ok {
			return "", false
		}
		b.WriteString(text + x)
	}
	text, ok := pieceText(string(e.Tail), "`")
	return b.String() + text, ok
}

// pieceText is the text of a piece of a template, which begins with one ` or } and ends with end. Each end of a line
// in it is a line feed.
func pieceText(piece, end string) (string, bool) {
	if piece == "" {
		return "", false
	}
	return unescape(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.TrimSuffix(piece[1:], end)))
}

// spells reports whether an expression is likely to be a text, however it is put together: a sum or a template of
// literals, or a call of a method with literals as what it is called of and with, as "join" and "concat" are. What the
// method does is not known, so that this is for suspicion alone.
func spells(e js.INode, text string) bool {
	if folded, ok := fold(e); ok {
		return folded == text
	}
	call, ok := withoutParens(e).(*js.CallExpr)
	if !ok {
		return false
	}
	dot, ok := withoutParens(call.X).(*js.DotExpr)
	if !ok {
		return false
	}
	var pieces []string
	add := func(e js.INode) bool {
		piece, ok := fold(e)
		pieces = append(pieces, piece)
		return ok
	}
	if array, isArray := withoutParens(dot.X).(*js.ArrayExpr); isArray {
		for _, one := range array.List {
			if !add(one.Value) {
				return false
			}
		}
		return strings.Join(pieces, "") == text
	}
	all := add(dot.X)
	for _, a := range call.Args.List {
		all = all && add(a.Value)
	}
	return all && strings.Join(pieces, "") == text
}
