package jsscan

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"unsafe"

	"github.com/tdewolff/parse/v2/js"

	"github.com/hallmark-mcp/hallmark/plugin"
)

type scanner struct {
	code     []byte
	lines    bool // positions in code are those of the file
	names    map[*js.Var]meaning
	top      map[string]*js.Var // what is declared at the top, by name
	imported map[string]meaning // names of import statements, used or not
	opaque   []*js.PropertyName // computed names of patterns, of what imports
	stack    []js.INode
	found    []plugin.Import
}

func newScanner(ast *js.AST, code []byte, lines bool) *scanner {
	s := &scanner{code: code, lines: lines, names: map[*js.Var]meaning{}, top: map[string]*js.Var{}, imported: map[string]meaning{}}
	for _, v := range ast.Scope.Undeclared { // what is imported counts as such
		s.top[identifier(v.Data)] = variable(v)
	}
	for _, v := range ast.Scope.Declared {
		name := identifier(v.Data)
		s.top[name] = v
		// A script is the body of a function whose parameters these are: var declares them
		// again without a new value.
		if v.Decl == js.VariableDecl && (name == "require" || name == "module") {
			s.names[v] = globals[name]
		}
	}
	return s
}

func (s *scanner) run(ast *js.AST) []plugin.Import {
	// What a name means may depend on a name that is declared after it.
	for range 8 {
		before := len(s.names)
		js.Walk(naming{s}, ast)
		if len(s.names) == before {
			break
		}
	}
	js.Walk(s, ast)
	for _, k := range s.opaque {
		s.computed(plugin.Require, "["+printed(k.Computed)+"], of a pattern", position(k.Computed))
	}
	return s.found
}

// argumentsUse looks for a use of the arguments of a function.
type argumentsUse struct{ arrow, found bool }

func (a *argumentsUse) Enter(n js.INode) js.IVisitor {
	switch n := n.(type) {
	case *js.FuncDecl, *js.MethodDecl:
		return nil // has its own
	case *js.Var:
		a.found = a.found || !a.arrow && identifier(n.Data) == "arguments"
	case *js.DotExpr:
		a.found = a.found || propertyName(n.Y) == "arguments"
	}
	return a
}

func (a *argumentsUse) Exit(js.INode) {}

func isNil(n js.INode) bool { return n == nil }

// Enter records imports.
func (s *scanner) Enter(n js.INode) js.IVisitor {
	switch n := n.(type) {
	case *js.ImportStmt:
		s.statement(plugin.Static, n.Module)
	case *js.ExportStmt:
		s.export(n)
	case *js.CallExpr:
		if s.isShim(n) {
			return nil
		}
		s.call(n.X, n.Args.List)
		if of, name := memberCalled(n.X); name == "then" && acts(s.promised(of)) && len(n.Args.List) > 0 {
			if params, _, ok := function(n.Args.List[0].Value); !ok || params.Rest != nil || len(params.List) > 0 && !isPattern(params.List[0].Binding) {
				s.computed(plugin.Require, printed(of)+", handed on", position(of))
			}
		}
		switch s.result(n) {
		case requires, moduleSpace:
			s.handed(n, printed(n), position(n))
		}
	case *js.NewExpr:
		if call := asCall(n); s.meaningOf(n.X) == evaluates || kindOf[s.meaningOf(n.X)] != "" {
			s.call(call.X, call.Args.List)
		}
	case *js.TemplateExpr:
		if n.Tag != nil && s.meaningOf(n.Tag) == requires {
			s.computed(plugin.Require, printed(n), nil)
		}
	case *js.WithStmt:
		if s.meaningOf(n.Cond) != nothing {
			s.computed(plugin.Require, "with "+printed(n.Cond), position(n.Cond))
		}
	case *js.DotExpr:
		s.property(n)
	case *js.IndexExpr:
		s.index(n)
		s.property(n)
	case *js.Var:
		s.use(n)
	}
	s.stack = append(s.stack, n)
	if n, ok := n.(*js.ClassElementName); ok {
		js.Walk(s, &n.PropertyName) // which Walk leaves out
	}
	return s
}

func (s *scanner) Exit(js.INode) { s.stack = s.stack[:len(s.stack)-1] }

// export records what is exported from another module, and names by which another file
// could import.
func (s *scanner) export(n *js.ExportStmt) {
	if n.Module != nil {
		s.statement(plugin.Export, n.Module)
		if module, _ := fold(&js.LiteralExpr{TokenType: js.StringToken, Data: n.Module}); spaces[strings.TrimPrefix(module, "node:")] != nothing {
			s.computed(plugin.Export, "names of "+module+", handed on", n.Module)
		}
		return
	}
	out := func(name []byte, m meaning) {
		if acts(m) {
			s.computed(plugin.Require, identifier(name)+", handed on", name)
		}
	}
	for _, a := range n.List {
		name := a.Name
		if name == nil {
			name = a.Binding
		}
		out(name, s.imported[identifier(name)])
		if v := s.top[identifier(name)]; v != nil && s.imported[identifier(name)] == nothing {
			out(name, s.names[v])
		}
	}
	if d, ok := n.Decl.(*js.VarDecl); ok {
		for _, e := range d.List {
			for _, v := range boundBy(e.Binding) {
				out(v.Data, s.names[variable(v)])
			}
		}
	}
}

// boundBy are the names that a declaration binds.
func boundBy(to js.IBinding) (all []*js.Var) {
	switch to := to.(type) {
	case *js.Var:
		all = append(all, to)
	case *js.BindingObject:
		for _, item := range to.List {
			all = append(all, boundBy(item.Value.Binding)...)
		}
		if to.Rest != nil {
			all = append(all, to.Rest)
		}
	}
	return all
}

// acts reports whether a value of this meaning imports, wherever it is handed to.
func acts(m meaning) bool {
	switch m {
	case requires, creates, loads, builtins, moduleItself, moduleSpace, moduleCache, loaders, loadsFile, compiles, executes, opens:
		return true
	}
	return false
}

// handed records an expression that imports if it is handed on to where it cannot be
// followed.
func (s *scanner) handed(n js.INode, text string, at []byte) {
	if !s.followed(n) {
		s.computed(plugin.Require, text+", handed on", at)
	}
}

// property records a property that is handed on.
func (s *scanner) property(n js.IExpr) {
	switch m := s.meaningOf(n); {
	case m == moduleCache && s.keysOf():
	case acts(m):
		s.handed(n, printed(n), position(n))
	}
}

// keysOf reports whether what is looked at is the argument of Object.keys.
func (s *scanner) keysOf() bool {
	if len(s.stack) < 3 {
		return false
	}
	if _, ok := s.stack[len(s.stack)-1].(*js.Arg); !ok {
		return false
	}
	call, ok := s.stack[len(s.stack)-3].(*js.CallExpr)
	return ok && printed(call.X) == "Object.keys"
}

// index records a property whose name is not known, of something that imports. That of
// a call is recorded with the call.
func (s *scanner) index(n *js.IndexExpr) {
	if _, known := fold(n.Y); known || len(s.stack) == 0 {
		return
	}
	parent := s.stack[len(s.stack)-1]
	if call, ok := parent.(*js.CallExpr); ok && strip(call.X) == js.INode(n) {
		return
	}
	switch s.meaningOf(n.X) {
	case processItself:
		switch parent.(type) {
		case *js.DotExpr, *js.IndexExpr:
			return
		}
	case moduleItself, moduleSpace, requires:
	default:
		return
	}
	s.computed(plugin.Require, printed(n), position(n.X))
}

func (s *scanner) statement(kind plugin.Kind, module []byte) {
	if target, ok := fold(&js.LiteralExpr{TokenType: js.StringToken, Data: module}); ok {
		s.found = append(s.found, plugin.Import{Line: s.line(module), Kind: kind, Specifier: target})
		return
	}
	s.computed(kind, string(module), module)
}

func (s *scanner) computed(kind plugin.Kind, text string, at []byte) {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > 80 {
		text = strings.ToValidUTF8(text[:80], "") + "…"
	}
	s.found = append(s.found, plugin.Import{Line: s.line(at), Kind: kind, Specifier: text, Computed: true})
}

// call records what a call imports.
func (s *scanner) call(callee js.IExpr, args []js.Arg) {
	of, name := memberCalled(callee)
	if m := s.meaningOf(of); kindOf[m] != "" {
		switch name {
		case "call":
			s.target(m, args, 1)
			return
		case "apply":
			if len(args) > 1 {
				if list, ok := args[1].Value.(*js.ArrayExpr); ok && len(list.List) > 0 && !list.List[0].Spread {
					s.target(m, []js.Arg{{Value: list.List[0].Value}}, 0)
					return
				}
			}
			s.target(m, nil, 0)
			return
		}
	}
	if index, ok := strip(callee).(*js.IndexExpr); ok {
		if _, known := fold(index.Y); !known {
			switch s.meaningOf(index.X) {
			case moduleItself, moduleSpace, processItself, requires:
				s.computed(plugin.Require, printed(index), position(index.X))
				return
			}
		}
	}
	m := s.meaningOf(callee)
	switch {
	case m == nothing && name == "binding" && len(args) > 0:
		if target, ok := fold(args[0].Value); ok && slices.Contains(bindings, target) {
			s.target(builtins, args, 0)
		}
	case m == executes:
		s.found = append(s.found, plugin.Import{Line: s.line(position(callee)), Kind: plugin.Builtin, Specifier: "child_process"})
	case m == compiles:
		s.computed(plugin.Dynamic, printed(callee), position(callee))
	case m == loadsFile:
		s.target(m, args, 1)
	case m == evaluates:
		for _, a := range args {
			if text, ok := fold(a.Value); ok && holdsImport.MatchString(text) {
				s.computed(plugin.Dynamic, text, position(a.Value))
			}
		}
	case m == opens:
		s.target(m, args, 1)
	case kindOf[m] != "":
		s.target(m, args, 0)
	}
}

// memberCalled is the object and the name of a property that is called, or nil.
func memberCalled(callee js.IExpr) (of js.INode, name string) {
	switch x := strip(callee).(type) {
	case *js.DotExpr:
		return x.X, propertyName(x.Y)
	case *js.IndexExpr:
		if name, ok := fold(x.Y); ok {
			return x.X, name
		}
	}
	return nil, ""
}

// holdsImport is looked for in texts that are evaluated.
var holdsImport = regexp.MustCompile(`\b(require|import|process|module)\b`)

// kindOf names the imports that calls of a meaning are.
var kindOf = map[meaning]plugin.Kind{
	requires: plugin.Require, loads: plugin.Require, loadsFile: plugin.Require, resolves: plugin.Resolve,
	builtins: plugin.Builtin, opens: plugin.Native, imports: plugin.Dynamic,
}

// target records an import of the i-th argument.
func (s *scanner) target(m meaning, args []js.Arg, i int) {
	kind := kindOf[m]
	if i >= len(args) {
		if len(args) > 0 || m != requires && m != resolves && m != builtins {
			s.computed(kind, "an argument that is not there", nil)
		} else if m == requires {
			s.computed(kind, "nothing", nil)
		}
		return
	}
	for _, a := range args[:i+1] {
		if a.Rest {
			s.computed(kind, "a spread argument", position(a.Value))
			return
		}
	}
	at := position(args[i].Value)
	if target, ok := fold(args[i].Value); ok {
		s.found = append(s.found, plugin.Import{Line: s.line(at), Kind: kind, Specifier: target})
		return
	}
	s.computed(kind, printed(args[i].Value), at)
}

// use records a require that is handed on to where it cannot be followed.
func (s *scanner) use(v *js.Var) {
	name := identifier(variable(v).Data)
	if name == "arguments" && variable(v).Decl == js.NoDecl && !slices.ContainsFunc(s.stack, bindsArguments) {
		s.computed(plugin.Require, "arguments at the top, which hold require", v.Data)
		return
	}
	if m := s.meaningOf(v); acts(m) || m == resolves {
		s.handed(v, name, v.Data)
	}
}

func bindsArguments(n js.INode) bool {
	switch n.(type) {
	case *js.FuncDecl, *js.MethodDecl:
		return true
	}
	return false
}

// followed reports whether the use of n, which is below the stack, is one that is
// understood: a call, a member, a test, or a name that was learned.
func (s *scanner) followed(n js.INode) bool {
	child := n
	for i := len(s.stack) - 1; i >= 0; child, i = s.stack[i], i-1 {
		switch p := s.stack[i].(type) {
		case *js.GroupExpr, *js.CommaExpr:
			continue
		case *js.CondExpr:
			if js.INode(p.Cond) == child { // tested
				return true
			}
		case *js.BinaryExpr:
			switch p.Op {
			case js.AndToken:
				if js.INode(p.X) == child { // passes on only what is nothing
					return true
				}
				continue
			case js.OrToken, js.NullishToken:
				continue
			case js.EqToken, js.OrEqToken, js.AndEqToken, js.NullishEqToken:
				if js.INode(p.X) == child { // written
					return true
				}
				return isPattern(p.X)
			}
			return true // compared
		case *js.UnaryExpr:
			if p.Op != js.AwaitToken {
				return true
			}
		case *js.CallExpr, *js.DotExpr, *js.IndexExpr, *js.TemplateExpr, *js.ExprStmt, *js.IfStmt, *js.NewExpr, *js.ForInStmt:
			return true
		case *js.BindingElement:
			return p.Default == nil || isPattern(p.Binding)
		case *js.Property:
			return s.assigned(i)
		case *js.BindingObjectItem, *js.BindingObject, *js.Params, *js.VarDecl, *js.FuncDecl, *js.ClassDecl, *js.ImportStmt, *js.Alias:
			return true // declared
		case *js.Arg:
			if i < 2 {
				return false
			}
			call, ok := s.stack[i-2].(*js.CallExpr)
			if !ok {
				return false
			}
			if m := s.meaningOf(call.X); m == opens || m == loadsFile {
				return true // the module that something is loaded for
			}
			// Given to a function that is called where it stands, it has a name there.
			if _, _, known := called(call); known {
				return namedArgument(call, p)
			}
			// A function may hand a namespace through.
			if m := s.meaningOf(p.Value); m != moduleSpace || s.result(call) != m {
				return false
			}
			i -= 2
		default:
			return false
		}
	}
	return true
}

// isPattern reports whether the names of what is bound or assigned to are learned.
func isPattern(to js.INode) bool {
	switch strip(to).(type) {
	case *js.Var, *js.BindingObject, *js.ObjectExpr:
		return true
	}
	return false
}

// assigned reports whether the property at i of the stack is a target of an assignment
// to an object's pattern, not part of a value.
func (s *scanner) assigned(i int) bool {
	if i < 2 {
		return false
	}
	pattern, ok := s.stack[i-1].(*js.ObjectExpr)
	to, isBinary := s.stack[i-2].(*js.BinaryExpr)
	return ok && isBinary && to.Op == js.EqToken && strip(to.X) == js.INode(pattern)
}

// position is a piece of the code in an expression.
func position(e js.INode) []byte {
	switch e := e.(type) {
	case *js.LiteralExpr:
		return e.Data
	case *js.Var:
		return e.Data
	case *js.GroupExpr:
		return position(e.X)
	case *js.BinaryExpr:
		return position(e.X)
	case *js.DotExpr:
		return position(e.X)
	case *js.CallExpr:
		return position(e.X)
	case *js.TemplateExpr:
		if len(e.List) > 0 {
			return e.List[0].Value
		}
		return e.Tail
	}
	return nil
}

// line is the line at which a piece of the code stands, or 0 if it is not known. The tree
// has no positions, but its pieces are parts of the code.
func (s *scanner) line(piece []byte) int {
	if !s.lines || len(piece) == 0 || len(s.code) == 0 {
		return 0
	}
	at := uintptr(unsafe.Pointer(unsafe.SliceData(piece))) - uintptr(unsafe.Pointer(unsafe.SliceData(s.code)))
	if at >= uintptr(len(s.code)) { // a word of the parser's own
		return 0
	}
	return 1 + bytes.Count(s.code[:at], []byte("\n"))
}
