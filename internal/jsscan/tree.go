package jsscan

import (
	"bytes"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/tdewolff/parse/v2/js"

	"github.com/hallmark-mcp/hallmark/plugin"
)

// meaning is what a value is, as far as it matters to imports.
type meaning int

const (
	nothing        meaning = iota
	requires               // require, or a function that acts as it
	creates                // createRequire
	resolves               // require.resolve, import.meta.resolve
	loads                  // Module._load
	builtins               // process.getBuiltinModule, process.binding
	opens                  // process.dlopen
	imports                // import, as in import()
	evaluates              // eval, Function
	moduleItself           // module, require.main
	moduleSpace            // the module "module"
	machines               // the module "vm"
	processItself          // process
	global                 // globalThis
	meta                   // import.meta
	moduleCache            // require.cache, module.children: modules
	loaders                // require.extensions: functions that load a file
	loadsFile              // one of them
	compiles               // module._compile
	executes               // process.execve
	perhapsProcess         // what globalThis has under a name that is not known
)

// globals are what free names mean.
var globals = map[string]meaning{
	"require": requires, "module": moduleItself, "process": processItself, "globalThis": global, "global": global,
	"eval": evaluates, "Function": evaluates,
}

// members are what properties of known values mean.
var members = map[meaning]map[string]meaning{
	moduleItself: {"require": requires, "constructor": moduleSpace, "parent": moduleItself, "children": moduleCache, "__proto__": moduleItself,
		"load": loads, "_compile": compiles},
	requires:       {"resolve": resolves, "main": moduleItself, "bind": nothing, "cache": moduleCache, "extensions": loaders},
	processItself:  ofProcess,
	perhapsProcess: ofProcess,
	moduleSpace: {"createRequire": creates, "createRequireFromPath": creates, "_load": loads, "runMain": loads, "register": imports, "Module": moduleSpace,
		"default": moduleSpace, "prototype": moduleItself, "_cache": moduleCache, "_extensions": loaders},
	global: {"process": processItself, "require": requires, "module": moduleItself, "globalThis": global, "global": global, "eval": evaluates, "Function": evaluates},
	meta:   {"resolve": resolves},
	machines: {"runInThisContext": evaluates, "runInContext": evaluates, "runInNewContext": evaluates, "compileFunction": evaluates, "Script": evaluates,
		"SourceTextModule": evaluates, "default": machines},
}

// ofProcess are the properties of process.
var ofProcess = map[string]meaning{"mainModule": moduleItself, "getBuiltinModule": builtins, "binding": builtins, "_linkedBinding": builtins, "dlopen": opens, "execve": executes}

// named are properties that mean the same whatever they belong to.
var named = map[string]meaning{
	"createRequire": creates, "getBuiltinModule": builtins, "_linkedBinding": builtins, "mainModule": moduleItself, "constructor": evaluates,
}

// bindings are what process.binding gives, whatever it was called on, to reach what a
// permission is for.
var bindings = []string{"fs", "spawn_sync", "process_wrap", "tcp_wrap", "pipe_wrap", "udp_wrap", "cares_wrap", "tls_wrap", "natives", "contextify", "inspector"}

// spaces are the modules that give a known value.
var spaces = map[string]meaning{"module": moduleSpace, "process": processItself, "vm": machines}

// shim is what esbuild puts before bundles that require, printed without white space:
// a function that is require where there is one.
var shim = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(strings.NewReplacer("ID", `[\w$]+`, "DEF", `(!=="undefined"|<"u")`).Replace(`^\(\(ID\)=>\{returntypeofrequireDEF\?require:typeofProxyDEF\?newProxy\(ID,\{get:\(ID,ID\)=>\{return\(typeofrequireDEF\?require:ID\)\[ID\];\}\}\):ID;\}\)` +
		`\(function\(ID\)\{if\(typeofrequireDEF\)returnrequire\.apply\(this,arguments\);throw(new)?Error\([^;{}]{0,120}\);\}\)$`))
})

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

// variable is the declaration that a use belongs to.
func variable(v *js.Var) *js.Var {
	for v.Link != nil {
		v = v.Link
	}
	return v
}

// meaningOf is what an expression means.
func (s *scanner) meaningOf(e js.INode) meaning {
	switch e := e.(type) {
	case *js.GroupExpr:
		return s.meaningOf(e.X)
	case *js.CommaExpr:
		if len(e.List) > 0 {
			return s.meaningOf(e.List[len(e.List)-1])
		}
	case *js.CondExpr:
		if m := s.meaningOf(e.X); m != nothing {
			return m
		}
		return s.meaningOf(e.Y)
	case *js.BinaryExpr:
		switch e.Op {
		case js.OrToken, js.AndToken, js.NullishToken:
			if m := s.meaningOf(e.X); m != nothing && e.Op != js.AndToken {
				return m
			}
			return s.meaningOf(e.Y)
		case js.EqToken:
			return s.meaningOf(e.Y)
		}
	case *js.UnaryExpr:
		if e.Op == js.AwaitToken {
			return s.meaningOf(e.X)
		}
	case *js.Var:
		v := variable(e)
		if m, ok := s.names[v]; ok {
			return m
		}
		if v.Decl == js.NoDecl {
			return globals[identifier(v.Data)]
		}
	case *js.ImportMetaExpr:
		return meta
	case *js.LiteralExpr:
		if e.TokenType == js.ImportToken {
			return imports
		}
	case *js.DotExpr:
		return s.member(e.X, propertyName(e.Y))
	case *js.IndexExpr:
		if name, ok := fold(e.Y); ok {
			return s.member(e.X, name)
		}
		switch s.meaningOf(e.X) {
		case moduleCache:
			return moduleItself
		case loaders:
			return loadsFile
		case global:
			return perhapsProcess
		}
	case *js.NewExpr:
		if s.meaningOf(e.X) == moduleSpace {
			return moduleItself
		}
		return s.result(asCall(e)) // new gives what a function returns, if that is an object
	case *js.CallExpr:
		return s.result(e)
	}
	return nothing
}

// asCall is the call of the function that makes an object.
func asCall(n *js.NewExpr) *js.CallExpr {
	call := &js.CallExpr{X: n.X}
	if n.Args != nil {
		call.Args = *n.Args
	}
	return call
}

func propertyName(e js.IExpr) string {
	switch e := e.(type) {
	case js.LiteralExpr:
		return identifier(e.Data)
	case *js.LiteralExpr:
		return identifier(e.Data)
	case *js.Var:
		return identifier(e.Data)
	}
	return ""
}

func (s *scanner) member(of js.INode, name string) meaning { return memberOf(s.meaningOf(of), name) }

// memberOf is what the property name of a value means.
func memberOf(of meaning, name string) meaning {
	switch m, ok := members[of][name]; {
	case ok:
		return m
	case of == moduleCache:
		return moduleItself
	case of == loaders:
		return loadsFile
	}
	return named[name]
}

// result is what a call gives.
func (s *scanner) result(call *js.CallExpr) meaning {
	if dot, ok := call.X.(*js.DotExpr); ok && propertyName(dot.Y) == "bind" {
		return s.meaningOf(dot.X)
	}
	if s.givesThis(call) {
		return global
	}
	switch s.meaningOf(call.X) {
	case creates:
		return requires
	case requires, imports, builtins, loads:
		if len(call.Args.List) > 0 {
			if target, ok := fold(call.Args.List[0].Value); ok {
				return spaces[strings.TrimPrefix(target, "node:")]
			}
		}
		return nothing
	}
	if s.isShim(call) {
		return requires
	}
	// __toESM(require("module")) and the like hand a namespace through.
	if len(call.Args.List) > 0 {
		switch m := s.meaningOf(call.Args.List[0].Value); m {
		case moduleSpace, processItself, machines:
			return m
		}
	}
	return nothing
}

// givesThis reports whether a call gives what this is outside of any function, in one of
// the forms that libraries have for it.
func (s *scanner) givesThis(call *js.CallExpr) bool {
	var maker js.INode
	var args []js.Arg
	switch x := strip(call.X).(type) {
	case *js.FuncDecl: // function() { return this }()
		return len(x.Body.List) == 1 && strings.Join(strings.Fields(printed(&x.Body)), "") == "{returnthis;}"
	case *js.CallExpr: // Function("return this")()
		maker, args = x.X, x.Args.List
	case *js.NewExpr:
		if maker = x.X; x.Args != nil {
			args = x.Args.List
		}
	default: // eval("this")
		maker, args = x, call.Args.List
	}
	if len(args) != 1 || s.meaningOf(maker) != evaluates {
		return false
	}
	text, ok := fold(args[0].Value)
	return ok && slices.Contains([]string{"this", "return this", "globalThis", "return globalThis", "global", "return global"}, strings.Trim(text, "; \t\n"))
}

func (s *scanner) isShim(call *js.CallExpr) bool {
	if len(call.Args.List) != 1 {
		return false
	}
	if _, ok := strip(call.X).(*js.ArrowFunc); !ok {
		return false
	}
	if _, ok := strip(call.Args.List[0].Value).(*js.FuncDecl); !ok {
		return false
	}
	text := printed(call)
	return len(text) < 1000 && shim().MatchString(strings.Join(strings.Fields(text), ""))
}

// printed is the code of an expression.
func printed(e interface{ JS(io.Writer) }) string {
	var b bytes.Buffer
	e.JS(&b)
	return b.String()
}

func strip(e js.INode) js.INode {
	for {
		g, ok := e.(*js.GroupExpr)
		if !ok {
			return e
		}
		e = g.X
	}
}

// naming is the visitor that learns what names mean.
type naming struct{ *scanner }

func (s naming) Enter(n js.INode) js.IVisitor {
	switch n := n.(type) {
	case *js.ImportStmt:
		module, _ := fold(&js.LiteralExpr{TokenType: js.StringToken, Data: n.Module})
		space := spaces[strings.TrimPrefix(module, "node:")]
		learn := func(binding []byte, m meaning) {
			if m == nothing {
				return
			}
			s.imported[identifier(binding)] = m
			if v := s.top[identifier(binding)]; v != nil {
				s.names[v] = m
			}
		}
		learn(n.Default, space)
		for _, a := range n.List {
			name := a.Name
			if name == nil {
				name = a.Binding
			}
			switch plain := strings.Trim(identifier(name), `"'`); {
			case plain == "*", plain == "default":
				learn(a.Binding, space)
			case members[space][plain] != nothing:
				learn(a.Binding, members[space][plain])
			}
		}
	case *js.BindingElement:
		s.bind(n.Binding, n.Default)
	case *js.BinaryExpr:
		if n.Op == js.EqToken || n.Op == js.OrEqToken || n.Op == js.NullishEqToken || n.Op == js.AndEqToken {
			s.assign(n.X, n.Y)
		}
	case *js.CallExpr:
		s.parameters(n)
	case *js.ClassElementName:
		js.Walk(s, &n.PropertyName) // which Walk leaves out
	}
	return s
}

func (s naming) Exit(js.INode) {}

func (s naming) learn(v *js.Var, m meaning) {
	if m != nothing {
		s.names[variable(v)] = m
	}
}

// bind learns the names of a declaration. Without a value only properties that mean the
// same everywhere are known.
func (s naming) bind(to js.IBinding, value js.INode) {
	m := nothing
	if !isNil(value) {
		m = s.meaningOf(value)
	}
	s.bindTo(to, m)
}

func (s naming) bindTo(to js.IBinding, m meaning) {
	switch to := to.(type) {
	case *js.Var:
		s.learn(to, m)
	case *js.BindingObject:
		for _, item := range to.List {
			name := ""
			if v, ok := item.Value.Binding.(*js.Var); ok {
				name = identifier(v.Data)
			}
			if item.Key != nil {
				name = s.key(item.Key, m)
			}
			s.bindTo(item.Value.Binding, memberOf(m, name))
		}
		if to.Rest != nil {
			s.learn(to.Rest, m)
		}
	}
}

// key is the name of a property in a pattern for a value of meaning of.
func (s naming) key(k *js.PropertyName, of meaning) string {
	if k.IsComputed() {
		name, ok := fold(k.Computed)
		switch of {
		case moduleItself, moduleSpace, processItself, requires:
			if !ok && !slices.Contains(s.opaque, k) {
				s.opaque = append(s.opaque, k)
			}
		}
		return name
	}
	return strings.Trim(identifier(k.Literal.Data), `"'`)
}

// assign learns the names of an assignment, destructuring included.
func (s naming) assign(to, value js.INode) { s.assignTo(to, s.meaningOf(value)) }

func (s naming) assignTo(to js.INode, m meaning) {
	switch to := strip(to).(type) {
	case *js.Var:
		s.learn(to, m)
	case *js.BinaryExpr: // a default
		if to.Op == js.EqToken {
			s.assignTo(to.X, m)
		}
	case *js.ObjectExpr:
		for _, p := range to.List {
			name := ""
			if v, ok := p.Value.(*js.Var); ok {
				name = identifier(v.Data)
			}
			switch {
			case p.Spread:
				s.assignTo(p.Value, m)
				continue
			case p.Name != nil:
				name = s.key(p.Name, m)
			}
			s.assignTo(p.Value, memberOf(m, name))
		}
	}
}

// parameters learns what a function that is called where it stands is given.
func (s naming) parameters(call *js.CallExpr) {
	if of, name := memberCalled(call.X); name == "then" && len(call.Args.List) > 0 {
		// What import() promises, the callback is given.
		if params, _, ok := function(call.Args.List[0].Value); ok && len(params.List) > 0 {
			s.bindTo(params.List[0].Binding, s.promised(of))
		}
	}
	params, first, ok := called(call)
	if !ok {
		return
	}
	for i, arg := range call.Args.List[min(first, len(call.Args.List)):] {
		if i < len(params.List) && !arg.Rest {
			s.bindTo(params.List[i].Binding, s.meaningOf(arg.Value))
		}
	}
}

// promised is the module that a promise is for, as import() gives it.
func (s *scanner) promised(of js.INode) meaning {
	switch m := s.meaningOf(of); m {
	case moduleSpace, processItself, machines:
		return m
	}
	return nothing
}

// called are the parameters of a function that is called where it stands, and which
// argument is for the first of them: f.call(this, a) has one before.
func called(call *js.CallExpr) (params *js.Params, first int, ok bool) {
	x := strip(call.X)
	if dot, ok := x.(*js.DotExpr); ok && propertyName(dot.Y) == "call" {
		x, first = strip(dot.X), 1
	}
	params, _, ok = function(x)
	return params, first, ok
}

// function is what a function is given and does.
func function(n js.INode) (params *js.Params, body *js.BlockStmt, ok bool) {
	switch f := strip(n).(type) {
	case *js.FuncDecl:
		return &f.Params, &f.Body, true
	case *js.ArrowFunc:
		return &f.Params, &f.Body, true
	}
	return nil, nil, false
}

// namedArgument reports whether a function that is called where it stands knows an argument
// by a parameter that was learned, and in no other way.
func namedArgument(call *js.CallExpr, arg *js.Arg) bool {
	params, first, ok := called(call)
	i := slices.IndexFunc(call.Args.List, func(a js.Arg) bool { return a.Value == arg.Value }) - first
	if !ok || i < 0 || i >= len(params.List) || arg.Rest || !isPattern(params.List[i].Binding) {
		return false
	}
	x := strip(call.X)
	if dot, ok := x.(*js.DotExpr); ok {
		x = strip(dot.X)
	}
	_, body, _ := function(x)
	a := &argumentsUse{arrow: !bindsArguments(x)}
	js.Walk(a, body)
	return !a.found
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
