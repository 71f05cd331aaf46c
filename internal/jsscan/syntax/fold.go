package syntax

import (
	"math"
	"strconv"
	"strings"

	"github.com/tdewolff/parse/v2/js"
)

// Fold returns the string that an expression has whenever it runs; ok is false if that is not known.
func Fold(e js.INode) (string, bool) { return FoldBy(e, nil, 0) }

// MaxFold is how deep expressions are folded that are made of others.
const MaxFold = 8

// NamedText returns the text that a name stands for, read at a depth of folding; of element i of the array that
// it stands for where the depth is -i-1.
type NamedText = func(v *js.Var, depth int) (string, bool)

// FoldBy is [Fold] where names may stand for texts; name may be nil.
func FoldBy(e js.INode, name NamedText, depth int) (string, bool) {
	fold := func(e js.INode) (string, bool) { return FoldBy(e, name, depth) }
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
			return Unescape(string(e.Data[1 : len(e.Data)-1]))
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
	return "", false
}

// pieceText is the text of a piece of a template, which begins with one ` or } and ends with end. Each end of a line
// in it is a line feed.
func pieceText(piece, end string) (string, bool) {
	if piece == "" {
		return "", false
	}
	return Unescape(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.TrimSuffix(piece[1:], end)))
}

// foldIndex folds an element of a constant array.
func foldIndex(e *js.IndexExpr, name NamedText, depth int) (string, bool) {
	l, isLiteral := WithoutParens(e.Y).(*js.LiteralExpr)
	if !isLiteral {
		return "", false
	}
	i, err := strconv.Atoi(string(l.Data))
	if err != nil || i < 0 || i > 1000 {
		return "", false
	}
	switch x := WithoutParens(e.X).(type) {
	case *js.ArrayExpr:
		return FoldElement(x, i)
	case *js.Var:
		if name != nil {
			return name(x, -i-1)
		}
	}
	return "", false
}

// FoldElement folds element i of an array without names in it.
func FoldElement(e js.INode, i int) (string, bool) {
	array, ok := WithoutParens(e).(*js.ArrayExpr)
	if !ok || i >= len(array.List) || HasSpread(array) {
		return "", false
	}
	return FoldBy(array.List[i].Value, nil, 1)
}

// foldCall folds ['a', 'b'].join(”) and 'a'.concat('b').
func foldCall(e *js.CallExpr, name func(*js.Var, int) (string, bool), depth int) (string, bool) {
	dot, ok := WithoutParens(e.X).(*js.DotExpr)
	if !ok || len(e.Args.List) == 0 || depth > MaxFold {
		return "", false
	}
	fold := func(e js.INode) (string, bool) { return FoldBy(e, name, depth+1) }
	var pieces []string
	for _, a := range e.Args.List {
		text, ok := fold(a.Value)
		if !ok || a.Rest {
			return "", false
		}
		pieces = append(pieces, text)
	}
	switch PropertyName(dot.Y) {
	case "join":
		array, ok := WithoutParens(dot.X).(*js.ArrayExpr)
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

// NumberName returns the name of the property that a number stands for: 1e3 and 1000 are one. What is not whole,
// or too large to be written in digits alone, has the name that it is written as.
func NumberName(e js.INode) (string, bool) {
	l, ok := e.(*js.LiteralExpr)
	if !ok {
		return "", false
	}
	text := strings.ReplaceAll(string(l.Data), "_", "")
	switch l.TokenType {
	case js.DecimalToken, js.IntegerToken, js.HexadecimalToken, js.OctalToken, js.BinaryToken:
	default:
		return "", false
	}
	text = strings.TrimSuffix(text, "n")
	if i, err := strconv.ParseInt(text, 0, 64); err == nil { // 0777 is octal here too
		return strconv.FormatInt(i, 10), true
	}
	if x, err := strconv.ParseFloat(text, 64); err == nil && x == math.Trunc(x) && math.Abs(x) < 1e15 {
		return strconv.FormatInt(int64(x), 10), true
	}
	return text, true
}
