package jsscan

import (
	"slices"
	"strings"

	"github.com/tdewolff/parse/v2/js"

	"github.com/hallmark-mcp/hallmark/plugin"
)

// scanner judges each use of a root in a file. What is no plain use is computed: what it leads to is known only when it
// runs.
type scanner struct {
	*names
	all     *lines
	above   []js.INode // what holds the node that is looked at, from the file down
	strict  []bool     // of the functions and classes that hold it: whether this is never the global object
	bare    bareFinder // names of what may be called without a receiver
	found   []place
	globals []place // that reach the network
}

// place is an import and where it stands.
type place struct {
	plugin.Import
	at int // offset, -1 if it is not known
}

// add records an import.
func (s *scanner) add(at js.INode, imp plugin.Import) {
	piece := pieceAt(at, s.above)
	imp.Line = s.all.of(piece)
	if imp.Computed {
		imp.Specifier = clipText(imp.Specifier)
	}
	s.found = append(s.found, place{imp, s.all.offset(piece)})
}

// compute records what is known only when it runs.
func (s *scanner) compute(at js.INode, kind plugin.Kind, text string) {
	s.add(at, plugin.Import{Kind: kind, Specifier: text, Computed: true})
}

// clipText shortens code for a person.
func clipText(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > 80 {
		text = strings.ToValidUTF8(text[:80], "") + "…"
	}
	return text
}

func (s *scanner) Enter(n js.INode) js.IVisitor {
	switch n := n.(type) {
	case js.LiteralExpr: // a name behind a dot
		return nil
	case *js.ImportStmt:
		s.importStatement(n)
	case *js.ExportStmt:
		s.exportStatement(n)
	case *js.WithStmt:
		s.compute(n.Cond, plugin.Use, "with "+printCode(n.Cond))
	case *js.CallExpr:
		s.call(n)
		s.text(n)
		if s.names.globals[n] || isShim(n) {
			return nil
		}
	case *js.BinaryExpr:
		if v, ok := withoutParens(n.X).(*js.Var); ok && isAssignment(n.Op) && s.isFree(v) &&
			freeNames[plainIdentifier(v.Data)] == none && isOfLanguage(plainIdentifier(v.Data)) {
			s.compute(n, plugin.Use, plainIdentifier(v.Data)+", replaced")
		}
		s.text(n)
	case *js.TemplateExpr:
		s.text(n)
	case *js.Var:
		s.name(n)
	case *js.LiteralExpr:
		s.literal(n)
	case *js.DotExpr:
		s.member(n, n.X, propertyName(n.Y))
	case *js.IndexExpr:
		name, ok := fold(n.Y)
		if ok {
			s.member(n, n.X, name)
		} else if spells(n.Y, "constructor") {
			s.member(n, n.X, "constructor")
		}
	case *js.BindingObjectItem:
		s.takeByPattern(n)
	}
	if r := s.rootOf(n); r != none && !isGroup(n) {
		s.judge(n, r)
	}
	s.above = append(s.above, n)
	s.enterFunction(n)
	return s
}

// takeByPattern looks at a member that a pattern takes of an object.
func (s *scanner) takeByPattern(n *js.BindingObjectItem) {
	name, ok := keyOf(n)
	if ok {
		s.taken(n, name)
	}
	if ok && s.webpack && name == "g" {
		s.compute(n, plugin.Use, "the global object, taken by a pattern")
	}
}

func (s *scanner) Exit(n js.INode) {
	s.above = s.above[:len(s.above)-1]
	if changesThis(n) || isArrow(n) {
		s.strict = s.strict[:len(s.strict)-1]
	}
}

func isGroup(n js.INode) bool {
	_, ok := n.(*js.GroupExpr)
	return ok
}

// parent returns what holds a node, and is no parentheses, and the child of it that the node is, or is in. The node is
// the one that is looked at, or above it.
func (s *scanner) parent(n js.INode) (parent, child js.INode) {
	child = n
	i := slices.Index(s.above, n)
	if i < 0 {
		i = len(s.above)
	}
	for i--; i >= 0; i-- {
		if !isGroup(s.above[i]) {
			return s.above[i], child
		}
		child = s.above[i]
	}
	return nil, child
}

// holder is parent without the child.
func (s *scanner) holder(n js.INode) js.INode {
	parent, _ := s.parent(n)
	return parent
}

// judge judges the use of an expression that may be a root.
func (s *scanner) judge(n js.INode, r root) {
	parent, child := s.parent(n)
	switch p := parent.(type) {
	case *js.DotExpr:
		if child == p.X {
			s.judgeMember(p, r, propertyName(p.Y), true)
		}
		return // or it is no name of its own
	case *js.IndexExpr:
		if child == p.X {
			s.judgeIndex(p, r)
		}
		return
	case *js.CallExpr:
		if child == p.X {
			s.judgeCall(p, r, p.Args.List)
			return
		}
	case *js.NewExpr:
		if child == p.X {
			s.judgeCall(p, r, argumentsOf(p))
			return
		}
	case *js.Arg:
		if s.isOpened(p) || s.isParameter(p) || s.isReadArgument(p, r) {
			return
		}
	case *js.BindingObject, *js.BindingArray, *js.Params, *js.FuncDecl, *js.TryStmt:
		return // a name that is declared
	case *js.ClassDecl:
		if child == js.INode(p.Name) {
			return
		}
	case *js.BindingElement:
		if child == js.INode(p.Binding) || child == p.Default && s.judgeBinding(p.Binding, r) && !s.isExported(p) {
			return
		}
	case *js.BinaryExpr:
		if s.isFollowed(p, child) {
			return
		}
	default:
		if s.rootOf(parent) != none && !isTest(parent, child) || isTest(parent, child) {
			return
		}
	}
	s.handOn(n)
}

// argumentsOf returns the arguments of new, which may have no brackets.
func argumentsOf(n *js.NewExpr) []js.Arg {
	if n.Args == nil {
		return nil
	}
	return n.Args.List
}

// judgeIndex judges the use of a member of a root that is in brackets.
func (s *scanner) judgeIndex(p *js.IndexExpr, r root) {
	name, ok := fold(p.Y)
	if !ok && (r == global || r == prototype) && (s.isKeySymbol(p.Y) || r == global && s.isTarget(p)) {
		return
	}
	s.judgeMember(p, r, name, ok)
}

// isFollowed reports whether the root that an operand is stays known, in a name or as that of the whole, or ends there.
func (s *scanner) isFollowed(p *js.BinaryExpr, child js.INode) bool {
	if isAssignment(p.Op) && child == p.Y {
		if _, ok := withoutParens(p.X).(*js.Var); ok || s.webpack && isMemberG(p.X) {
			return true
		}
	} else if s.rootOf(p) != none && (child == p.Y || p.Op != js.AndToken) {
		return true // judged as a whole
	}
	return isAssignment(p.Op) && child == p.X || endsIn(p, child)
}

// handOn records that a root goes to where it is not followed.
func (s *scanner) handOn(n js.INode) {
	s.compute(n, plugin.Use, printCode(n)+", handed on")
}

// endsIn reports whether the value of an operand stays in the operator.
func endsIn(p *js.BinaryExpr, child js.INode) bool {
	switch p.Op {
	case js.AndToken:
		return child == p.X
	case js.OrToken, js.NullishToken:
		return false
	}
	return !isAssignment(p.Op) || p.Op != js.EqToken && child == p.Y && !isLogical(p.Op)
}

func isLogical(op js.TokenType) bool {
	return op == js.AndEqToken || op == js.OrEqToken || op == js.NullishEqToken
}

func isMember(e js.INode) bool {
	switch withoutParens(e).(type) {
	case *js.DotExpr, *js.IndexExpr:
		return true
	}
	return false
}

// isMemberG reports whether an expression is a member g of something.
func isMemberG(e js.INode) bool {
	dot, ok := withoutParens(e).(*js.DotExpr)
	return ok && propertyName(dot.Y) == "g"
}

func isAssignment(op js.TokenType) bool { return op == js.EqToken || isLogical(op) }

// isTest reports whether the value of a child stays in what holds it.
func isTest(parent, child js.INode) bool {
	switch p := parent.(type) {
	case *js.UnaryExpr:
		return p.Op != js.AwaitToken
	case *js.CondExpr:
		return child == p.Cond
	case *js.IfStmt:
		return child == p.Cond
	case *js.WhileStmt:
		return child == p.Cond
	case *js.DoWhileStmt:
		return child == p.Cond
	case *js.ForStmt, *js.ExprStmt, *js.SwitchStmt, *js.CaseClause, *js.PropertyName:
		return true
	case *js.ForInStmt:
		return child == p.Value
	case *js.CommaExpr:
		return len(p.List) > 0 && child != js.INode(p.List[len(p.List)-1])
	}
	return false
}

// judgeMember judges a member of a root.
func (s *scanner) judgeMember(n js.INode, of root, name string, known bool) {
	r := none
	if known {
		r = memberOf(of, name)
	}
	parent, _ := s.parent(n)
	target := s.isTarget(n)
	switch {
	case of == global && known && networks[name] && !isTypeof(parent):
		s.useGlobal(name, n)
	case r == none && (target || !s.stays(n, nothing)), of == prototype && target,
		of == global && target && isOfLanguage(name):
		s.compute(n, plugin.Use, printCode(n))
	}
}

// isOfLanguage reports whether a name of the global object is one that the scan takes for what the language has there.
func isOfLanguage(name string) bool {
	return freeNames[name] != none || globalFunctions[name] ||
		slices.Contains([]string{"Object", "Reflect", "Symbol", "Error"}, name)
}

func nothing(string) bool { return false }

// isTarget reports whether a member is what is assigned to.
func (s *scanner) isTarget(n js.INode) bool {
	parent, child := s.parent(n)
	p, ok := parent.(*js.BinaryExpr)
	return ok && child == p.X && isAssignment(p.Op)
}

func isTypeof(n js.INode) bool {
	u, ok := n.(*js.UnaryExpr)
	return ok && u.Op == js.TypeofToken
}

// judgeBinding judges what a pattern takes of a root. It is false if that goes to where it is not followed.
func (s *scanner) judgeBinding(b js.IBinding, r root) bool {
	switch b := b.(type) {
	case *js.Var:
		return true
	case *js.BindingObject:
		if b.Rest != nil {
			return false
		}
		for i := range b.List {
			item := &b.List[i]
			name, ok := keyOf(item)
			if !ok {
				return false
			}
			if r == global && networks[name] {
				s.useGlobal(name, item)
			}
			switch one := memberOf(r, name); one {
			case none:
				return false
			case harmless:
			default:
				if !s.judgeBinding(item.Value.Binding, one) {
					return false
				}
			}
		}
		return true
	}
	return false
}

// isExported reports whether a declaration is in an export statement.
func (s *scanner) isExported(b js.INode) bool {
	declaration, _ := s.parent(b)
	if _, ok := declaration.(*js.VarDecl); !ok {
		return false
	}
	_, exported := s.holder(declaration).(*js.ExportStmt)
	return exported
}

// isParameter reports whether an argument goes to a name of a function that is called where it is written.
func (s *scanner) isParameter(arg *js.Arg) bool {
	call := s.callOf(arg)
	if call == nil {
		return false
	}
	for i, binding := range s.parametersOf(call) {
		if &call.Args.List[i] == arg {
			return s.judgeBinding(binding, s.rootOf(arg.Value))
		}
	}
	return false
}

// isOpened reports whether an argument is the module that a native addon is loaded for.
func (s *scanner) isOpened(arg *js.Arg) bool {
	call := s.callOf(arg)
	return call != nil && s.rootOf(call.X) == opens && &call.Args.List[0] == arg
}

// callOf returns the call that an argument is of; nil if it is new.
func (s *scanner) callOf(arg js.INode) *js.CallExpr {
	args := s.holder(arg)
	call, _ := s.holder(args).(*js.CallExpr)
	return call
}

// isReadArgument reports whether an argument is given to a function of the language that keeps and changes nothing of
// it.
func (s *scanner) isReadArgument(arg *js.Arg, r root) bool {
	call := s.callOf(arg)
	if call == nil {
		return false
	}
	if s.isInterop(call.X) {
		return true // see rootOfCall
	}
	dot, ok := withoutParens(call.X).(*js.DotExpr)
	if !ok {
		return false
	}
	first, name := &call.Args.List[0] == arg, propertyName(dot.Y)
	of, isName := withoutParens(dot.X).(*js.Var)
	switch {
	case first && printCode(dot) == "Object.prototype.toString.call":
		base := baseOf(dot)
		return base != nil && s.isFree(base)
	case !isName || !s.isFree(of):
		return false
	case r == global && plainIdentifier(of.Data) == "Object" && name == "defineProperty":
		_, unused := s.holder(call).(*js.ExprStmt)
		return first && unused
	case r == global: // the receiver of a function of the language
		return first && globalFunctions[plainIdentifier(of.Data)] && slices.Contains([]string{"call", "apply", "bind"},
			name)
	case r != prototype || !slices.Contains([]string{"Object", "Reflect"}, plainIdentifier(of.Data)):
		return false
	case name == "setPrototypeOf":
		return !first
	}
	return slices.Contains([]string{"create", "getOwnPropertyNames", "getOwnPropertyDescriptor", "keys", "ownKeys"},
		name)
}

// baseOf returns the name that a chain of members begins with; nil if it is none.
func baseOf(e js.INode) *js.Var {
	for {
		switch x := withoutParens(e).(type) {
		case *js.DotExpr:
			e = x.X
		case *js.Var:
			return x
		default:
			return nil
		}
	}
}

// judgeCall judges a call of a root.
func (s *scanner) judgeCall(n js.INode, r root, args []js.Arg) {
	switch r {
	case requires:
		s.target(n, plugin.Require, args, 0)
	case resolves:
		s.target(n, plugin.Resolve, args, 0)
	case builtins:
		s.target(n, plugin.Builtin, args, 0)
	case opens:
		s.target(n, plugin.Native, args, 1)
	case executes:
		s.add(n, plugin.Import{Kind: plugin.Builtin, Specifier: "child_process"})
	case creates, chains: // what they give is judged
		if _, isNew := n.(*js.NewExpr); isNew || r == chains && slices.ContainsFunc(args, s.usesThis) {
			s.compute(n, plugin.Use, printCode(n))
		}
	case functions:
		if parent, child := s.parent(n); s.givesGlobal(n) {
			if call, ok := parent.(*js.CallExpr); ok && child == call.X {
				return
			}
		}
		s.compute(n, plugin.Use, printCode(n))
	case evaluates:
		s.compute(n, plugin.Use, printCode(n))
	default:
		s.compute(n, plugin.Use, printCode(n))
	}
}

// target records what the i-th argument of a call imports.
func (s *scanner) target(n js.INode, kind plugin.Kind, args []js.Arg, i int) {
	for k := range min(i+1, len(args)) {
		if args[k].Rest {
			s.compute(n, kind, "a spread argument")
			return
		}
	}
	if i >= len(args) {
		s.compute(n, kind, "an argument that is not there")
		return
	}
	if text, ok := fold(args[i].Value); ok {
		s.add(args[i].Value, plugin.Import{Kind: kind, Specifier: text, Optional: s.isOptional(n, kind)})
		return
	}
	s.compute(args[i].Value, kind, printCode(args[i].Value))
}

// isOptional reports whether what is imported may be missing: it is in a try block that catches.
func (s *scanner) isOptional(n js.INode, kind plugin.Kind) bool {
	if parent, _ := s.parent(n); kind == plugin.Dynamic {
		if u, ok := parent.(*js.UnaryExpr); !ok || u.Op != js.AwaitToken {
			return false // it fails later
		}
	}
	for i := len(s.above) - 1; i > 0; i-- {
		if changesThis(s.above[i]) || isArrow(s.above[i]) {
			return false
		}
		try, ok := s.above[i-1].(*js.TryStmt)
		if ok && js.INode(try.Body) == s.above[i] && try.Catch != nil && !slices.ContainsFunc(try.Catch.List, isThrow) {
			return true
		}
	}
	return false
}

func isThrow(n js.IStmt) bool {
	_, ok := n.(*js.ThrowStmt)
	return ok
}

func isArrow(n js.INode) bool {
	_, ok := n.(*js.ArrowFunc)
	return ok
}

// call judges what a call is by itself.
func (s *scanner) call(n *js.CallExpr) {
	if !isImport(n) {
		return
	}
	s.target(n, plugin.Dynamic, n.Args.List, 0)
	if spaceOfCall(n.Args.List) == none {
		return
	}
	if u, ok := s.above[len(s.above)-1].(*js.UnaryExpr); !ok || u.Op != js.AwaitToken {
		s.compute(n, plugin.Use, printCode(n)+", handed on")
	}
}

// importStatement judges an import statement.
func (s *scanner) importStatement(n *js.ImportStmt) {
	s.statement(plugin.Static, n.Module)
	module, _ := fold(&js.LiteralExpr{TokenType: js.StringToken, Data: n.Module})
	for _, a := range n.List {
		if ofSpace(spaceOf(module), a) == anyRoot {
			s.compute(&js.LiteralExpr{Data: n.Module}, plugin.Use, string(a.Name)+string(a.Binding)+" of "+module)
		}
	}
}

// exportStatement judges an export statement.
func (s *scanner) exportStatement(n *js.ExportStmt) {
	module, space := "", none
	if n.Module != nil {
		s.statement(plugin.Export, n.Module)
		module, _ = fold(&js.LiteralExpr{TokenType: js.StringToken, Data: n.Module})
		if space = spaceOf(module); space == none {
			return
		}
	}
	for _, a := range n.List {
		r, name := none, a.Name
		if name == nil {
			name = a.Binding
		}
		if n.Module != nil {
			r = ofSpace(space, js.Alias{Name: name, Binding: name})
		} else if plain := plainIdentifier(name); s.declared[plain] != nil {
			r = s.roots[s.declared[plain]]
		} else {
			r = s.imported[plain]
		}
		if r != none {
			s.compute(&js.LiteralExpr{Data: name}, plugin.Use, string(name)+", exported")
		}
	}
}

// statement records the module of an import or export statement.
func (s *scanner) statement(kind plugin.Kind, module []byte) {
	at := &js.LiteralExpr{TokenType: js.StringToken, Data: module}
	if target, ok := fold(at); ok {
		s.add(at, plugin.Import{Kind: kind, Specifier: target})
		return
	}
	s.compute(at, kind, string(module))
}

// name judges a name that is no root: globals that reach the network, and the arguments of a script.
func (s *scanner) name(v *js.Var) {
	parent, child := s.parent(v)
	if dot, ok := parent.(*js.DotExpr); ok && child == js.INode(dot.Y) || !s.isFree(v) {
		return
	}
	switch name := plainIdentifier(v.Data); {
	case networks[name] && !isTypeof(parent):
		s.useGlobal(name, v)
	case name == "arguments" && !slices.ContainsFunc(s.above, changesThis):
		s.compute(v, plugin.Use, "arguments of the script")
	}
}

// useGlobal records a global that reaches the network, once in a file.
func (s *scanner) useGlobal(name string, at js.INode) {
	if !slices.ContainsFunc(s.globals, func(g place) bool { return g.Specifier == name }) {
		piece := pieceAt(at, s.above)
		s.globals = append(s.globals, place{plugin.Import{Line: s.all.of(piece), Kind: plugin.Global, Specifier: name},
			s.all.offset(piece)})
	}
}
