package jsscan

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

// propertyName returns the name of a property that stands after a dot; "" if e is none.
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

// isShim reports whether a call is the one that esbuild puts before bundles that require.
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

// isSymbol reports whether an expression is Symbol(…), Symbol.for(…) or a member of Symbol.
func (n *names) isSymbol(e js.INode) bool {
	of := withoutParens(e)
	if call, ok := of.(*js.CallExpr); ok {
		of = withoutParens(call.X)
		if dot, ok := of.(*js.DotExpr); ok && propertyName(dot.Y) != "for" {
			return false
		}
	} else if _, ok := of.(*js.DotExpr); !ok {
		return false
	}
	if dot, ok := of.(*js.DotExpr); ok {
		of = withoutParens(dot.X)
	}
	v, ok := of.(*js.Var)
	return ok && plainIdentifier(v.Data) == "Symbol" && n.isFree(v)
}

var (
	// importDefault matches the functions that TypeScript, Babel and rollup put around what is required, printed
	// without white space.
	importDefault = sync.OnceValue(func() *regexp.Regexp {
		return shape(`^(\(?this&&ID\)?\|\|)?\(?(function(ID)?\(ID\)\{return|\(?ID\)?=>(\{return)?)` +
			`\(?ID&&(ID|typeofID===?"object"&&"default"inID)\)?` +
			`\?ID:\{"?default"?:ID\};?\}?\)?$`)
	})
	// toESM matches the function that esbuild puts there, with the functions that it calls, and copyProps the one of
	// these that is no member of Object.
	toESM = sync.OnceValue(func() *regexp.Regexp {
		return shape(`^\(ID,ID,ID\)=>\{?(?:return)?\(?ID=ID!=null\?(ID)\((ID)\(ID\)\):\{\},(ID)\(ID\|\|!ID\|\|!ID\?` +
			`(ID)\(ID,"default",\{value:ID,enumerable:(?:true|!0)\}\):ID,ID\)\)?;?\}?$`)
	})
	copyProps = sync.OnceValue(func() *regexp.Regexp {
		return shape(`^\(ID,ID,ID,ID\)=>\{if\(ID&&typeofID===?"object"\|\|typeofID===?"function"\)` +
			`\{?for\(letIDof(ID)\(ID\)\)` +
			`\{?(?:if\()?!(ID)\.call\(ID,ID\)&&ID!==ID(?:&&|\)\{?)` +
			`(ID)\(ID,ID,\{get:\(\)=>\{?(?:return)?ID\[ID\];?\}?,enumerable:` +
			`!\(ID=(ID)\(ID,ID\)\)\|\|ID\}\);?\}*;?returnID;?\}$`)
	})
)

// shape compiles an expression in which ID stands for a name.
func shape(pattern string) *regexp.Regexp {
	return regexp.MustCompile(strings.ReplaceAll(pattern, "ID", `[\w$.]+`))
}

// bareCode is the code of an expression without white space, "" if it is longer than a shape.
func bareCode(e js.INode) string {
	text := printCode(e)
	if len(text) > 800 {
		return ""
	}
	return strings.ReplaceAll(strings.Join(strings.Fields(text), ""), "'", `"`)
}

// hasInteropShape reports whether a function has the shape of those that compilers put around what is required. What it
// calls has to be what such a function calls.
func (n *names) hasInteropShape(f js.INode) bool {
	text := bareCode(f)
	if importDefault().MatchString(text) {
		return true
	}
	m := toESM().FindStringSubmatch(text)
	if m == nil || !n.isNamed(m[1], "Object.create") || !n.isNamed(m[2], "Object.getPrototypeOf") ||
		!n.isNamed(m[4], "Object.defineProperty") {
		return false
	}
	c := copyProps().FindStringSubmatch(n.codeOf(m[3]))
	return c != nil && n.isNamed(c[1], "Object.getOwnPropertyNames") &&
		n.isNamed(c[2], "Object.prototype.hasOwnProperty") &&
		n.isNamed(c[3], "Object.defineProperty") && n.isNamed(c[4], "Object.getOwnPropertyDescriptor")
}

// codeOf returns the code of the only thing that a name at the top of the file is given; "" if there is no such.
func (n *names) codeOf(name string) string {
	d := n.declared[name]
	if gifts := n.given[d]; d != nil && !n.others[d] && len(gifts) == 1 && len(gifts[0].member) == 0 {
		return bareCode(gifts[0].of)
	}
	return ""
}

// isNamed reports whether a name stands for a member of Object, or is it.
func (n *names) isNamed(name, member string) bool {
	return n.declared["Object"] == nil && (name == member || n.codeOf(name) == member)
}

// isThisText reports whether a text that is evaluated is the global object, and nothing else.
func isThisText(text string) bool {
	return slices.Contains([]string{"this", "return this", "globalThis", "return globalThis"},
		strings.Trim(text, "; \t\n"))
}

// webpackGlobal matches the code with which webpack gets at the global object, printed without white space.
var webpackGlobal = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\(?function\(\)\{if\((typeofglobalThis===?"object"|"object"==typeofglobalThis)\)` +
		`\{?returnglobalThis;?\}?;?` +
		`try\{returnthis\|\|newFunction\("returnthis"\)\(\);?\}catch\([\w$]+\)` +
		`\{if\((typeofwindow===?"object"|"object"==typeofwindow)\)` +
		`\{?returnwindow;?\}?;?\}\}\)?\(\)$`)
})

// isWebpackGlobal reports whether a call is the one with which webpack gets at the global object.
func isWebpackGlobal(call *js.CallExpr) bool {
	if f, ok := withoutParens(call.X).(*js.FuncDecl); !ok || len(f.Body.List) != 2 || len(call.Args.List) > 0 {
		return false
	}
	text := strings.Join(strings.Fields(printCode(call)), "")
	return webpackGlobal().MatchString(strings.ReplaceAll(text, "'", `"`))
}

// argumentUsers finds the functions that know their arguments by another way than their parameters: by that name, by
// eval, or as a member of themselves.
type argumentUsers struct {
	users map[*js.FuncDecl]bool
	seen  map[*js.FuncDecl]bool     // whose name was met
	above []*js.FuncDecl            // that hold the node that is looked at
	named map[string][]*js.FuncDecl // those of them that have a name
}

func (u *argumentUsers) Enter(n js.INode) js.IVisitor {
	switch n := n.(type) {
	case *js.FuncDecl:
		u.above = append(u.above, n)
		if n.Name != nil {
			name := plainIdentifier(n.Name.Data)
			u.named[name] = append(u.named[name], n)
		}
	case *js.Var:
		name := plainIdentifier(n.Data)
		if own := u.named[name]; len(own) > 0 { // once it is where the function gives it to itself
			f := own[len(own)-1]
			u.users[f] = u.users[f] || u.seen[f]
			u.seen[f] = true
		}
		if name == "arguments" || name == "eval" {
			for i := len(u.above) - 1; i >= 0 && !u.users[u.above[i]]; i-- {
				u.users[u.above[i]] = true
			}
		}
	}
	return u
}

func (u *argumentUsers) Exit(n js.INode) {
	f, ok := n.(*js.FuncDecl)
	if !ok {
		return
	}
	u.above = u.above[:len(u.above)-1]
	if f.Name != nil {
		name := plainIdentifier(f.Name.Data)
		u.named[name] = u.named[name][:len(u.named[name])-1]
	}
}

// walker is [js.Walk], which leaves out the names of the members of classes.
type walker struct{ js.IVisitor }

func walk(v js.IVisitor, n js.INode) { js.Walk(walker{v}, n) }

func (w walker) Enter(n js.INode) js.IVisitor {
	next := w.IVisitor.Enter(n)
	if next == nil {
		return nil
	}
	if name, ok := n.(*js.ClassElementName); ok {
		js.Walk(walker{next}, &name.PropertyName)
	}
	return walker{next}
}

// maxPrinted is how much code is printed, in bytes: more than a shape has, and than a person is shown.
const maxPrinted = 1200

// printCode returns the code of an expression, or the beginning of it.
func printCode(e interface{ JS(io.Writer) }) (code string) {
	p := &printed{}
	defer func() {
		code = p.String()
		if r := recover(); r != nil && r != any(p) {
			panic(r)
		}
	}()
	e.JS(p)
	return
}

// printed ends the printing with a panic of itself when it has enough.
type printed struct{ bytes.Buffer }

func (p *printed) Write(b []byte) (int, error) {
	if p.Len() > maxPrinted {
		panic(any(p))
	}
	return p.Buffer.Write(b)
}

// withoutParens returns the expression within parentheses.
func withoutParens(e js.INode) js.INode {
	for {
		g, ok := e.(*js.GroupExpr)
		if !ok {
			return e
		}
		e = g.X
	}
}
