package jsscan

import (
	"bytes"
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
	s := &scanner{code: code, lines: lines, names: map[*js.Var]meaning{}, top: map[string]*js.Var{},
		imported: map[string]meaning{}}
	for _, v := range ast.Scope.Undeclared { // what is imported counts as such
		s.top[plainIdentifier(v.Data)] = declarationOf(v)
	}
	for _, v := range ast.Scope.Declared {
		name := plainIdentifier(v.Data)
		s.top[name] = v
		// A script is the body of a function with these parameters: var declares them again without
		// a new value.
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
		s.addComputed(plugin.Require, "["+printCode(k.Computed)+"], of a pattern", firstPiece(k.Computed))
	}
	return s.found
}

func isNil(n js.INode) bool { return n == nil }

// Enter records imports.
func (s *scanner) Enter(n js.INode) js.IVisitor {
	switch n := n.(type) {
	case *js.ImportStmt:
		s.addStatement(plugin.Static, n.Module)
	case *js.ExportStmt:
		s.checkExport(n)
	case *js.CallExpr:
		if s.isShim(n) {
			return nil
		}
		s.checkCall(n.X, n.Args.List)
		if of, name := memberCalled(n.X); name == "then" && canImport(s.promisedModule(of)) && len(n.Args.List) > 0 {
			if params, _, ok := functionParts(n.Args.List[0].Value); !ok || params.Rest != nil ||
				len(params.List) > 0 && !isPattern(params.List[0].Binding) {
				s.addComputed(plugin.Require, printCode(of)+", handed on", firstPiece(of))
			}
		}
		switch s.resultOf(n) {
		case requires, moduleSpace:
			s.addHandedOn(n, printCode(n), firstPiece(n))
		}
	case *js.NewExpr:
		if call := asCall(n); s.meaningOf(n.X) == evaluates || kindOf[s.meaningOf(n.X)] != "" {
			s.checkCall(call.X, call.Args.List)
		}
	case *js.TemplateExpr:
		if n.Tag != nil && s.meaningOf(n.Tag) == requires {
			s.addComputed(plugin.Require, printCode(n), nil)
		}
	case *js.WithStmt:
		if s.meaningOf(n.Cond) != nothing {
			s.addComputed(plugin.Require, "with "+printCode(n.Cond), firstPiece(n.Cond))
		}
	case *js.DotExpr:
		s.checkProperty(n)
	case *js.IndexExpr:
		s.checkIndex(n)
		s.checkProperty(n)
	case *js.Var:
		s.checkUse(n)
	}
	s.stack = append(s.stack, n)
	if n, ok := n.(*js.ClassElementName); ok {
		js.Walk(s, &n.PropertyName) // which Walk leaves out
	}
	return s
}

func (s *scanner) Exit(js.INode) { s.stack = s.stack[:len(s.stack)-1] }

// checkExport records what is exported from another module, and names by which another file
// could import.
func (s *scanner) checkExport(n *js.ExportStmt) {
	if n.Module != nil {
		s.addStatement(plugin.Export, n.Module)
		module, _ := fold(&js.LiteralExpr{TokenType: js.StringToken, Data: n.Module})
		if moduleSpaces[strings.TrimPrefix(module, "node:")] != nothing {
			s.addComputed(plugin.Export, "names of "+module+", handed on", n.Module)
		}
		return
	}
	out := func(name []byte, m meaning) {
		if canImport(m) {
			s.addComputed(plugin.Require, plainIdentifier(name)+", handed on", name)
		}
	}
	for _, a := range n.List {
		name := a.Name
		if name == nil {
			name = a.Binding
		}
		out(name, s.imported[plainIdentifier(name)])
		if v := s.top[plainIdentifier(name)]; v != nil && s.imported[plainIdentifier(name)] == nothing {
			out(name, s.names[v])
		}
	}
	if d, ok := n.Decl.(*js.VarDecl); ok {
		for _, e := range d.List {
			for _, v := range boundNames(e.Binding) {
				out(v.Data, s.names[declarationOf(v)])
			}
		}
	}
}

// boundNames returns the names that a declaration binds.
func boundNames(to js.IBinding) (all []*js.Var) {
	switch to := to.(type) {
	case *js.Var:
		all = append(all, to)
	case *js.BindingObject:
		for _, item := range to.List {
			all = append(all, boundNames(item.Value.Binding)...)
		}
		if to.Rest != nil {
			all = append(all, to.Rest)
		}
	}
	return all
}

// addHandedOn records an expression that imports if it is passed on to where it cannot be followed.
func (s *scanner) addHandedOn(n js.INode, text string, at []byte) {
	if !s.isFollowed(n) {
		s.addComputed(plugin.Require, text+", handed on", at)
	}
}

// checkProperty records a property that is passed on.
func (s *scanner) checkProperty(n js.IExpr) {
	switch m := s.meaningOf(n); {
	case m == moduleCache && s.isObjectKeys():
	case canImport(m):
		s.addHandedOn(n, printCode(n), firstPiece(n))
	}
}

// isObjectKeys reports whether the node that is visited is the argument of Object.keys.
func (s *scanner) isObjectKeys() bool {
	if len(s.stack) < 3 {
		return false
	}
	if _, ok := s.stack[len(s.stack)-1].(*js.Arg); !ok {
		return false
	}
	call, ok := s.stack[len(s.stack)-3].(*js.CallExpr)
	return ok && printCode(call.X) == "Object.keys"
}

// checkIndex records a property with an unknown name, of a value that imports. The property of a
// call is recorded with the call.
func (s *scanner) checkIndex(n *js.IndexExpr) {
	if _, known := fold(n.Y); known || len(s.stack) == 0 {
		return
	}
	parent := s.stack[len(s.stack)-1]
	if call, ok := parent.(*js.CallExpr); ok && withoutParens(call.X) == js.INode(n) {
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
	s.addComputed(plugin.Require, printCode(n), firstPiece(n.X))
}

func (s *scanner) addStatement(kind plugin.Kind, module []byte) {
	if target, ok := fold(&js.LiteralExpr{TokenType: js.StringToken, Data: module}); ok {
		s.found = append(s.found, plugin.Import{Line: s.lineOf(module), Kind: kind, Specifier: target})
		return
	}
	s.addComputed(kind, string(module), module)
}

func (s *scanner) addComputed(kind plugin.Kind, text string, at []byte) {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > 80 {
		text = strings.ToValidUTF8(text[:80], "") + "…"
	}
	s.found = append(s.found, plugin.Import{Line: s.lineOf(at), Kind: kind, Specifier: text, Computed: true})
}

// firstPiece returns the first piece of the code that an expression holds, for lineOf; nil if it has none.
func firstPiece(e js.INode) []byte {
	switch e := e.(type) {
	case *js.LiteralExpr:
		return e.Data
	case *js.Var:
		return e.Data
	case *js.GroupExpr:
		return firstPiece(e.X)
	case *js.BinaryExpr:
		return firstPiece(e.X)
	case *js.DotExpr:
		return firstPiece(e.X)
	case *js.CallExpr:
		return firstPiece(e.X)
	case *js.TemplateExpr:
		if len(e.List) > 0 {
			return e.List[0].Value
		}
		return e.Tail
	}
	return nil
}

// lineOf returns the line, from 1, at which a piece of the code stands, or 0 if it is not known. The tree
// has no positions, but its pieces are slices of the code.
func (s *scanner) lineOf(piece []byte) int {
	if !s.lines || len(piece) == 0 || len(s.code) == 0 {
		return 0
	}
	at := uintptr(unsafe.Pointer(unsafe.SliceData(piece))) - uintptr(unsafe.Pointer(unsafe.SliceData(s.code)))
	if at >= uintptr(len(s.code)) { // a word of the parser's own
		return 0
	}
	return 1 + bytes.Count(s.code[:at], []byte("\n"))
}
