package flow

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

// declarationOf returns the declaration that a use of a name belongs to.
func declarationOf(v *js.Var) *js.Var {
	for v.Link != nil {
		v = v.Link
	}
	return v
}

func propertyName(e js.IExpr) string {
	switch e := e.(type) {
	case js.LiteralExpr:
		return plainIdentifier(e.Data)
	case *js.LiteralExpr:
		return plainIdentifier(e.Data)
	case *js.Var:
		return plainIdentifier(e.Data)
	}
	return ""
}

func isShim(call *js.CallExpr) bool {
	if len(call.Args.List) != 1 {
		return false
	}
	if _, ok := withoutParens(call.X).(*js.ArrowFunc); !ok {
		return false
	}
	if _, ok := withoutParens(call.Args.List[0].Value).(*js.FuncDecl); !ok {
		return false
	}
	text := printCode(call)
	return len(text) < 1000 && shim().MatchString(strings.Join(strings.Fields(text), ""))
}

// printCode returns the code of an expression.
func printCode(e interface{ JS(io.Writer) }) string {
	var b bytes.Buffer
	e.JS(&b)
	return b.String()
}

func withoutParens(e js.INode) js.INode {
	for {
		g, ok := e.(*js.GroupExpr)
		if !ok {
			return e
		}
		e = g.X
	}
}

func hasSpread(a *js.ArrayExpr) bool {
	return slices.ContainsFunc(a.List, func(e js.Element) bool { return e.Spread })
}
