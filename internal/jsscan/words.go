package jsscan

import (
	"slices"

	"github.com/tdewolff/parse/v2/js"

	"github.com/hallmark-mcp/hallmark/plugin"
)

// This file judges what gets at a root without naming one: the constructor of anything, which for a function is
// Function; the receiver of a function that is not strict, which may be the global object; and members that load native
// code.

// enterFunction remembers whether the code of a function or class is strict.
func (s *scanner) enterFunction(n js.INode) {
	strict := s.isStrict()
	switch n := n.(type) {
	case *js.FuncDecl:
		strict = strict || hasDirective(n.Body.List)
	case *js.MethodDecl:
		strict = strict || hasDirective(n.Body.List)
	case *js.ArrowFunc:
		strict = strict || hasDirective(n.Body.List)
	case *js.ClassDecl:
		strict = true
	default:
		return
	}
	s.strict = append(s.strict, strict)
}

func (s *scanner) isStrict() bool { return s.strict[len(s.strict)-1] }

// changesThis reports whether a node has a receiver of its own.
func changesThis(n js.INode) bool {
	switch n.(type) {
	case *js.FuncDecl, *js.MethodDecl, *js.ClassDecl:
		return true
	}
	return false
}

// hasDirective reports whether a body begins with "use strict". Of methods the parser does not tell it.
func hasDirective(body []js.IStmt) bool {
	for _, st := range body {
		switch st := st.(type) {
		case *js.Comment:
		case *js.DirectivePrologueStmt:
			return true
		case *js.ExprStmt:
			l, ok := st.Value.(*js.LiteralExpr)
			if !ok || l.TokenType != js.StringToken {
				return false
			}
			if string(l.Data[1:len(l.Data)-1]) == "use strict" {
				return true
			}
		default:
			return false
		}
	}
	return false
}

// stays reports whether the value of an expression stays where it is: it is compared, tested or thrown away, or only a
// member of it is taken whose name is fine.
func (s *scanner) stays(n js.INode, fine func(member string) bool) bool {
	parent, child := s.parent(n)
	for parent != nil {
		switch p := parent.(type) {
		case *js.DotExpr:
			return child == p.X && fine(propertyName(p.Y))
		case *js.IndexExpr:
			name, ok := fold(p.Y)
			if l, isLiteral := p.Y.(*js.LiteralExpr); isLiteral && l.TokenType != js.StringToken {
				name, ok = "0", true
			}
			return child == p.Y || ok && fine(name)
		case *js.BinaryExpr:
			switch {
			case isAssignment(p.Op) && child == p.X, endsIn(p, child):
				return true
			case isAssignment(p.Op):
				return false
			}
		case *js.CondExpr:
			if child == p.Cond {
				return true
			}
		case *js.CommaExpr:
			if isTest(p, child) {
				return true
			}
		default:
			return isTest(parent, child)
		}
		parent, child = s.parent(parent)
	}
	return false
}

// member judges a member of anything, by its name.
func (s *scanner) member(n, of js.INode, name string) {
	switch name {
	case "constructor":
		if !s.stays(n, isPlainOfClass) && !s.isStackTrace(n) {
			s.compute(n, plugin.Use, printCode(n))
		}
	case "caller":
		s.compute(n, plugin.Use, printCode(n))
	case "__proto__":
		if s.rootOf(of) == none && !s.stays(n, nothing) {
			s.compute(n, plugin.Use, printCode(n))
		}
	case "prepareStackTrace":
		if parent, child := s.parent(n); parent != nil {
			if p, ok := parent.(*js.BinaryExpr); ok && isAssignment(p.Op) && child == p.X {
				s.compute(n, plugin.Use, printCode(n)+", replaced")
			}
		}
	case "setEngine", "loadExtension", "enableLoadExtension":
		s.extension(n)
	}
}

// isPlainOfClass reports whether the member of a constructor is none by which a text is evaluated, if it is Function.
func isPlainOfClass(name string) bool {
	return !slices.Contains([]string{"constructor", "prototype", "__proto__", "call", "apply", "bind"}, name)
}

// isStackTrace reports whether an expression is an argument of Error.captureStackTrace.
func (s *scanner) isStackTrace(n js.INode) bool {
	arg, ok := s.above[len(s.above)-1].(*js.Arg)
	if !ok {
		return false
	}
	call := s.callOf(arg)
	if call == nil {
		return false
	}
	dot, ok := withoutParens(call.X).(*js.DotExpr)
	if !ok || propertyName(dot.Y) != "captureStackTrace" {
		return false
	}
	v, ok := withoutParens(dot.X).(*js.Var)
	return ok && s.isShared(v)
}

// extension judges a member that loads native code.
func (s *scanner) extension(n js.INode) {
	parent, child := s.parent(n)
	call, ok := parent.(*js.CallExpr)
	switch {
	case !ok || child != call.X:
		s.compute(n, plugin.Native, printCode(n))
	case len(call.Args.List) > 0 && !isFalse(call.Args.List[0].Value):
		target, ok := fold(call.Args.List[0].Value)
		if !ok {
			target = printCode(call.Args.List[0].Value)
		}
		s.add(n, plugin.Import{Kind: plugin.Native, Specifier: target, Computed: !ok})
	}
}

func isFalse(e js.INode) bool {
	switch x := withoutParens(e).(type) {
	case *js.LiteralExpr:
		return x.TokenType == js.FalseToken
	case *js.UnaryExpr: // !1
		l, ok := x.X.(*js.LiteralExpr)
		return ok && x.Op == js.NotToken && string(l.Data) == "1"
	}
	return false
}

// taken judges what a pattern takes, by its name.
func (s *scanner) taken(item *js.BindingObjectItem, name string) {
	switch name {
	case "constructor":
		s.compute(item, plugin.Use, name+", taken by a pattern")
	case "caller":
		s.compute(item, plugin.Use, name+", taken by a pattern")
	case "setEngine", "loadExtension", "enableLoadExtension":
		s.compute(item, plugin.Native, name+", taken by a pattern")
	}
}

// literal judges this, and texts that name a constructor.
func (s *scanner) literal(n *js.LiteralExpr) {
	switch n.TokenType {
	case js.ThisToken:
		s.this(n)
	case js.StringToken:
		s.text(n)
	case js.IdentifierToken:
		if p, ok := s.above[len(s.above)-1].(*js.PropertyName); ok && p.Computed == nil {
			s.key(string(n.Data))
		}
	}
}

// key judges the name of a property that an object has.
func (s *scanner) key(name string) {
	if name != "allowExtension" {
		return
	}
	p, ok := s.above[len(s.above)-2].(*js.Property)
	if ok && !isFalse(p.Value) {
		s.compute(p.Value, plugin.Native, name)
	}
}

// text judges a text that may be the name by which a constructor is reached.
func (s *scanner) text(n js.INode) {
	if !spells(n, "constructor") {
		if l, ok := n.(*js.LiteralExpr); ok && string(l.Data[1:len(l.Data)-1]) == "allowExtension" {
			if p, ok := s.above[len(s.above)-1].(*js.PropertyName); ok && p.Computed == nil {
				s.key("allowExtension")
			}
		}
		return
	}
	switch p, child := s.parent(n); p := p.(type) {
	case *js.PropertyName:
		if p.Computed == nil {
			return
		}
	case *js.IndexExpr: // see member
		if child == p.Y {
			return
		}
	case *js.BinaryExpr:
		if p.Op == js.AddToken && spells(p, "constructor") || endsIn(p, child) && p.Op != js.AddToken {
			return
		}
	case *js.CaseClause:
		if child == p.Cond {
			return
		}
	}
	s.compute(n, plugin.Use, printCode(n))
}

// this judges the receiver of a function that is not strict.
func (s *scanner) this(n js.INode) {
	i := len(s.above) - 1
	for i >= 0 && !changesThis(s.above[i]) {
		i--
	}
	parent, child := s.parent(n)
	switch p := parent.(type) {
	case *js.IndexExpr:
		if child == p.X && s.isKeySymbol(p.Y) {
			return
		}
	case *js.BindingElement:
		if s.takesNoRoot(p.Binding) {
			return
		}
	}
	if s.isReceiverOfOthers(parent) {
		return
	}
	if i < 0 || s.isStrict() || !s.isBare(s.above[i]) || s.stays(n, func(string) bool { return true }) {
		return
	}
	s.compute(n, plugin.Use, "this of a function that is not strict, which may be the global object")
}

// takesNoRoot reports whether a pattern takes members of what may be the global object that are harmless there.
func (s *scanner) takesNoRoot(b js.IBinding) bool {
	o, ok := b.(*js.BindingObject)
	if !ok || o.Rest != nil {
		return false
	}
	return !slices.ContainsFunc(o.List, func(item js.BindingObjectItem) bool {
		name, ok := keyOf(&item)
		return !ok || freeNames[name] != none || networks[name]
	})
}

// isReceiverOfOthers reports whether an argument is the receiver of a function that the file does not have.
func (s *scanner) isReceiverOfOthers(n js.INode) bool {
	arg, ok := n.(*js.Arg)
	if !ok {
		return false
	}
	call := s.callOf(arg)
	if call == nil || !givesReceiver(call) || &call.Args.List[0] != arg {
		return false
	}
	switch of := withoutParens(call.X.(*js.DotExpr).X).(type) {
	case *js.Var:
		d := declarationOf(of)
		return s.functions[d] == nil && !slices.ContainsFunc(s.given[d], func(g gift) bool {
			_, ok := withoutParens(g.of).(*js.FuncDecl)
			return ok
		})
	case *js.DotExpr:
		return true
	}
	return false
}

// isBare reports whether a function may be called without a receiver: it is not written as a method, and is called so
// by its name, or goes to where that is not followed.
func (s *scanner) isBare(f js.INode) bool {
	fn, ok := f.(*js.FuncDecl)
	if !ok {
		return false
	}
	switch p := s.holder(f).(type) {
	case *js.Property:
		return false
	case *js.BinaryExpr:
		if v, ok := withoutParens(p.X).(*js.Var); ok && isAssignment(p.Op) {
			return s.bare[plainIdentifier(v.Data)]
		}
		return !isAssignment(p.Op)
	case *js.BindingElement:
		v, ok := p.Binding.(*js.Var)
		return !ok || s.bare[plainIdentifier(v.Data)]
	case *js.DotExpr:
		call, ok := s.holder(p).(*js.CallExpr)
		return !ok || !givesReceiver(call)
	case *js.NewExpr:
		return false
	case *js.BlockStmt, *js.ExportStmt, *js.CaseClause:
		return fn.Name == nil || s.bare[plainIdentifier(fn.Name.Data)]
	}
	return true
}

// givesReceiver reports whether a call is one of call, apply or bind, with this or a new object as the receiver.
func givesReceiver(call *js.CallExpr) bool {
	dot, ok := withoutParens(call.X).(*js.DotExpr)
	if !ok || !slices.Contains([]string{"call", "apply", "bind"}, propertyName(dot.Y)) || len(call.Args.List) == 0 {
		return false
	}
	switch e := withoutParens(call.Args.List[0].Value).(type) {
	case *js.LiteralExpr:
		return e.TokenType == js.ThisToken
	case *js.ObjectExpr, *js.NewExpr, *js.ArrayExpr:
		return true
	}
	return false
}

// bareFinder collects the names of what is called without a receiver, or passed on.
type bareFinder map[string]bool

func (b bareFinder) Enter(n js.INode) js.IVisitor {
	switch n := n.(type) {
	case *js.CallExpr:
		b.add(n.X)
		if dot, ok := withoutParens(n.X).(*js.DotExpr); ok && !givesReceiver(n) &&
			slices.Contains([]string{"call", "apply", "bind"}, propertyName(dot.Y)) {
			b.add(dot.X)
		}
	case *js.Arg:
		b.add(n.Value)
	case *js.Element:
		b.add(n.Value)
	case *js.BindingElement:
		b.add(n.Default)
	case *js.BinaryExpr:
		switch {
		case n.Op == js.AndToken, n.Op == js.OrToken, n.Op == js.NullishToken, isAssignment(n.Op) && !isMember(n.X):
			b.add(n.X)
			b.add(n.Y)
		}
	case *js.CondExpr:
		b.add(n.X)
		b.add(n.Y)
	case *js.ReturnStmt:
		b.add(n.Value)
	case *js.CommaExpr:
		for _, e := range n.List {
			b.add(e)
		}
	case *js.TemplateExpr:
		b.add(n.Tag)
	case *js.YieldExpr:
		b.add(n.X)
	}
	return b
}

func (bareFinder) Exit(js.INode) {}

func (b bareFinder) add(e js.INode) {
	if v, ok := withoutParens(e).(*js.Var); ok {
		b[plainIdentifier(v.Data)] = true
	}
}

// usesThis reports whether an argument is a function that uses its receiver, which for a listener of process is
// process.
func (s *scanner) usesThis(arg js.Arg) bool {
	f := withoutParens(arg.Value)
	if v, ok := f.(*js.Var); ok {
		d := declarationOf(v)
		if s.functions[d] != nil {
			f = s.functions[d]
		} else if gifts := s.given[d]; len(gifts) > 0 {
			return slices.ContainsFunc(gifts, func(g gift) bool {
				_, isName := withoutParens(g.of).(*js.Var)
				return !isName && s.usesThis(js.Arg{Value: g.of.(js.IExpr)})
			})
		}
	}
	fn, ok := f.(*js.FuncDecl)
	if !ok {
		return false
	}
	t := &thisFinder{}
	walk(t, &fn.Body)
	return t.found
}

type thisFinder struct{ found bool }

func (t *thisFinder) Enter(n js.INode) js.IVisitor {
	if l, ok := n.(*js.LiteralExpr); ok && l.TokenType == js.ThisToken {
		t.found = true
	}
	if t.found || changesThis(n) {
		return nil
	}
	return t
}

func (t *thisFinder) Exit(js.INode) {}
