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

// meaning is what a value means for imports.
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

// globals maps free names to their meanings.
var globals = map[string]meaning{
	"require": requires, "module": moduleItself, "process": processItself, "globalThis": global, "global": global,
	"eval": evaluates, "Function": evaluates,
}

// members maps the properties of known values to their meanings.
var members = map[meaning]map[string]meaning{
	moduleItself: {
		"require": requires, "constructor": moduleSpace, "parent": moduleItself, "children": moduleCache,
		"__proto__": moduleItself, "load": loads, "_compile": compiles,
	},
	requires: {
		"resolve": resolves, "main": moduleItself, "bind": nothing, "cache": moduleCache, "extensions": loaders,
	},
	processItself:  ofProcess,
	perhapsProcess: ofProcess,
	moduleSpace: {"createRequire": creates, "createRequireFromPath": creates, "_load": loads, "runMain": loads,
		"register": imports, "Module": moduleSpace,
		"default": moduleSpace, "prototype": moduleItself, "_cache": moduleCache, "_extensions": loaders},
	global: {"process": processItself, "require": requires, "module": moduleItself, "globalThis": global,
		"global": global, "eval": evaluates, "Function": evaluates},
	meta: {"resolve": resolves},
	machines: {"runInThisContext": evaluates, "runInContext": evaluates, "runInNewContext": evaluates,
		"compileFunction": evaluates, "Script": evaluates,
		"SourceTextModule": evaluates, "default": machines},
}

// ofProcess are the properties of process.
var ofProcess = map[string]meaning{"mainModule": moduleItself, "getBuiltinModule": builtins, "binding": builtins,
	"_linkedBinding": builtins, "dlopen": opens, "execve": executes}

// namedMembers are properties that have the same meaning on every object.
var namedMembers = map[string]meaning{
	"createRequire": creates, "getBuiltinModule": builtins, "_linkedBinding": builtins, "mainModule": moduleItself,
	"constructor": evaluates,
}

// bindings are the names by which process.binding, called on anything, reaches what needs a
// permission.
var bindings = []string{"fs", "spawn_sync", "process_wrap", "tcp_wrap", "pipe_wrap", "udp_wrap", "cares_wrap",
	"tls_wrap", "natives", "contextify", "inspector"}

// moduleSpaces are the modules whose namespace has a meaning.
var moduleSpaces = map[string]meaning{"module": moduleSpace, "process": processItself, "vm": machines}

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

// meaningOf returns the meaning of an expression; nothing if it is unknown.
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
		v := declarationOf(e)
		if m, ok := s.names[v]; ok {
			return m
		}
		if v.Decl == js.NoDecl {
			return globals[plainIdentifier(v.Data)]
		}
	case *js.ImportMetaExpr:
		return meta
	case *js.LiteralExpr:
		if e.TokenType == js.ImportToken {
			return imports
		}
	case *js.DotExpr:
		return s.memberMeaning(e.X, propertyName(e.Y))
	case *js.IndexExpr:
		if name, ok := fold(e.Y); ok {
			return s.memberMeaning(e.X, name)
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
		return s.resultOf(asCall(e)) // new gives what a function returns, if that is an object
	case *js.CallExpr:
		return s.resultOf(e)
	}
	return nothing
}

// asCall returns the call of the function that makes an object.
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
		return plainIdentifier(e.Data)
	case *js.LiteralExpr:
		return plainIdentifier(e.Data)
	case *js.Var:
		return plainIdentifier(e.Data)
	}
	return ""
}

func (s *scanner) memberMeaning(of js.INode, name string) meaning {
	return memberOf(s.meaningOf(of), name)
}

// memberOf returns the meaning of the property name of a value.
func memberOf(of meaning, name string) meaning {
	switch m, ok := members[of][name]; {
	case ok:
		return m
	case of == moduleCache:
		return moduleItself
	case of == loaders:
		return loadsFile
	}
	return namedMembers[name]
}

// resultOf returns the meaning of the result of a call.
func (s *scanner) resultOf(call *js.CallExpr) meaning {
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
				return moduleSpaces[strings.TrimPrefix(target, "node:")]
			}
		}
		return nothing
	}
	if s.isShim(call) {
		return requires
	}
	// __toESM(require("module")) and similar helpers return the namespace that they get.
	if len(call.Args.List) > 0 {
		switch m := s.meaningOf(call.Args.List[0].Value); m {
		case moduleSpace, processItself, machines:
			return m
		}
	}
	return nothing
}

// givesThis reports whether a call returns the global object, in one of the forms that libraries use
// for that.
func (s *scanner) givesThis(call *js.CallExpr) bool {
	var maker js.INode
	var args []js.Arg
	switch x := withoutParens(call.X).(type) {
	case *js.FuncDecl: // function() { return this }()
		return len(x.Body.List) == 1 && strings.Join(strings.Fields(printCode(&x.Body)), "") == "{returnthis;}"
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
	forms := []string{"this", "return this", "globalThis", "return globalThis", "global", "return global"}
	return ok && slices.Contains(forms, strings.Trim(text, "; \t\n"))
}

func (s *scanner) isShim(call *js.CallExpr) bool {
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

// promisedModule returns the module that a promise of import() resolves to; nothing if it is not known.
func (s *scanner) promisedModule(of js.INode) meaning {
	switch m := s.meaningOf(of); m {
	case moduleSpace, processItself, machines:
		return m
	}
	return nothing
}
