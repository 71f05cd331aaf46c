package syntax

import (
	"bytes"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/tdewolff/parse/v2/js"
)

// shim matches the code that esbuild puts before bundles that require, printed without white space:
// a function that is require where that exists.
var shim = sync.OnceValue(func() *regexp.Regexp {
	names := strings.NewReplacer("ID", `[\w$]+`, "DEF", `(!=="undefined"|<"u")`)
	return regexp.MustCompile(
		names.Replace(
			`^\(\(ID\)=>\{returntypeofrequireDEF\?require:typeofProxyDEF\?newProxy\(ID,\{get:\(ID,` +
				`ID\)=>\{return\(typeofrequireDEF\?require:ID\)\[ID\];\}\}\):ID;\}\)` +
				`\(function\(ID\)\{if\(typeofrequireDEF\)returnrequire\.apply\(this,` +
				`arguments\);throw(new)?Error\([^;{}]{0,120}\);\}\)$`))
})

// DeclarationOf returns the declaration that a use of a name belongs to.
func DeclarationOf(v *js.Var) *js.Var {
	for v.Link != nil {
		v = v.Link
	}
	return v
}

// PropertyName returns the name of a property that stands after a dot; "" if e is none.
func PropertyName(e js.IExpr) string {
	switch e := e.(type) {
	case js.LiteralExpr:
		return PlainIdentifier(e.Data)
	case *js.LiteralExpr:
		return PlainIdentifier(e.Data)
	case *js.Var:
		return PlainIdentifier(e.Data)
	}
	return ""
}

// IsShim reports whether a call is the one that esbuild puts before bundles that require.
func IsShim(call *js.CallExpr) bool {
	if len(call.Args.List) != 1 {
		return false
	}
	if _, ok := WithoutParens(call.X).(*js.ArrowFunc); !ok {
		return false
	}
	if _, ok := WithoutParens(call.Args.List[0].Value).(*js.FuncDecl); !ok {
		return false
	}
	text := PrintCode(call)
	return len(text) < 1000 && shim().MatchString(strings.Join(strings.Fields(text), ""))
}

// PrintCode returns the code of an expression.
func PrintCode(e interface{ JS(io.Writer) }) string {
	var b bytes.Buffer
	e.JS(&b)
	return b.String()
}

// WithoutParens returns the expression within parentheses.
func WithoutParens(e js.INode) js.INode {
	for {
		g, ok := e.(*js.GroupExpr)
		if !ok {
			return e
		}
		e = g.X
	}
}

// HasSpread reports whether an array has elements that are the elements of something else.
func HasSpread(a *js.ArrayExpr) bool {
	return slices.ContainsFunc(a.List, func(e js.Element) bool { return e.Spread })
}
