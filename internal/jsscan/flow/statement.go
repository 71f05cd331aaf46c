package flow

import (
	"strconv"

	"github.com/tdewolff/parse/v2/js"

	"github.com/hallmark-mcp/hallmark/internal/jsscan/meaning"
	"github.com/hallmark-mcp/hallmark/internal/jsscan/syntax"
	"github.com/hallmark-mcp/hallmark/plugin"
)

func itoa(i int) string { return strconv.Itoa(i) }

// block reads the statements of a block.
func (b *builder) block(s *js.BlockStmt) {
	if s == nil {
		return
	}
	b.declare(&s.Scope)
	b.statements(s.List)
}

func (b *builder) statements(list []js.IStmt) {
	for _, s := range list {
		b.statement(s)
	}
}

func (b *builder) statement(s js.IStmt) {
	switch s := s.(type) {
	case nil:
	case *js.BlockStmt:
		b.block(s)
	case *js.ExprStmt:
		b.eval(s.Value)
	case *js.VarDecl:
		b.declaration(s)
	case *js.IfStmt:
		b.eval(s.Cond)
		b.statement(s.Body)
		b.statement(s.Else)
	case *js.DoWhileStmt:
		b.statement(s.Body)
		b.eval(s.Cond)
	case *js.WhileStmt:
		b.eval(s.Cond)
		b.statement(s.Body)
	case *js.ForStmt:
		if s.Body != nil {
			b.declare(&s.Body.Scope)
		}
		b.eval(s.Init)
		b.eval(s.Cond)
		b.eval(s.Post)
		b.block(s.Body)
	case *js.ForInStmt:
		if s.Body != nil {
			b.declare(&s.Body.Scope)
		}
		b.eval(s.Value)
		b.assign(s.Init, noValue, nil)
		b.block(s.Body)
	case *js.ForOfStmt:
		if s.Body != nil {
			b.declare(&s.Body.Scope)
		}
		b.assign(s.Init, b.elementOf(b.eval(s.Value), s.Value), s.Value)
		b.block(s.Body)
	case *js.SwitchStmt:
		b.declare(&s.Scope)
		b.eval(s.Init)
		for i := range s.List {
			b.eval(s.List[i].Cond)
			b.statements(s.List[i].List)
		}
	case *js.ReturnStmt:
		if s.Value == nil {
			return
		}
		n := b.eval(s.Value)
		if b.in.fn == nil {
			b.escape(n, s.Value)
			return
		}
		b.g.flow(n, b.in.parts.result)
		if n > fromAway {
			b.in.parts.returns = append(b.in.parts.returns, returned{n, s.Value})
			if b.in.fn.away {
				b.escape(n, s.Value)
			}
		}
	case *js.WithStmt:
		n := b.eval(s.Cond)
		b.g.watch(n, &scoped{b, s})
		b.statement(s.Body)
	case *js.LabelledStmt:
		b.statement(s.Value)
	case *js.ThrowStmt:
		b.escape(b.eval(s.Value), s.Value)
	case *js.TryStmt:
		b.try(s)
	case *js.ImportStmt: // read ahead
		b.addStatement(plugin.Static, s.Module)
	case *js.ExportStmt:
		b.export(s)
	case *js.FuncDecl:
		b.eval(s)
	case *js.ClassDecl:
		b.eval(s)
	}
}

// scoped is what with puts into the scope of names.
type scoped struct {
	b *builder
	s *js.WithStmt
}

func (w *scoped) object(o *object) { w.b.leave(o) }
func (w *scoped) meanings(m meaning.Set) {
	if m&(meaning.Powerful|meaning.PerhapsGlobal) != 0 {
		w.b.report(w.s, plugin.Require, "with "+syntax.PrintCode(w.s.Cond), true)
	}
}

// try reads a try statement. What it imports itself may be missing, if it catches that.
func (b *builder) try(s *js.TryStmt) {
	catches := s.Catch != nil
	if catches {
		for _, c := range s.Catch.List {
			if _, ok := c.(*js.ThrowStmt); ok {
				catches = false
			}
		}
	}
	if catches {
		b.in.trying++
	}
	b.block(s.Body)
	if catches {
		b.in.trying--
	}
	if s.Catch != nil {
		b.declare(&s.Catch.Scope)
		if s.Binding != nil {
			b.bind(s.Binding, fromAway)
		}
		b.block(s.Catch)
	}
	b.block(s.Finally)
}

// importNames learns what the names of import statements mean.
func (b *builder) importNames(n *js.ImportStmt) {
	module, _ := syntax.Fold(&js.LiteralExpr{TokenType: js.StringToken, Data: n.Module})
	space := meaning.SpaceOf(module)
	learn := func(binding []byte, m meaning.Set) {
		if len(binding) > 0 {
			b.imported[syntax.PlainIdentifier(binding)] = b.g.meaningAt(m | meaning.Unknown)
			if m != meaning.Nothing {
				b.imported[syntax.PlainIdentifier(binding)] = b.g.meaningAt(m)
			}
		}
	}
	learn(n.Default, space)
	for i := range n.List {
		a := &n.List[i]
		name := a.Name
		if name == nil {
			name = a.Binding
		}
		switch plain := trimQuotes(syntax.PlainIdentifier(name)); {
		case plain == "*", plain == "default":
			learn(a.Binding, space)
		default:
			m := meaning.Nothing
			if space != meaning.Nothing {
				m = meaning.Members[space][plain]
			}
			learn(a.Binding, m)
		}
	}
}

func trimQuotes(s string) string {
	if len(s) > 1 && (s[0] == '"' || s[0] == '\'') {
		if text, ok := syntax.Unescape(s[1 : len(s)-1]); ok {
			return text
		}
	}
	return s
}

// export records what is exported from another module, and hands on what this one exports.
func (b *builder) export(n *js.ExportStmt) {
	if n.Module != nil {
		b.addStatement(plugin.Export, n.Module)
		module, _ := syntax.Fold(&js.LiteralExpr{TokenType: js.StringToken, Data: n.Module})
		if meaning.SpaceOf(module) != meaning.Nothing {
			b.report(n, plugin.Export, "names of "+module+", handed on", true)
		}
		return
	}
	for i := range n.List {
		a := &n.List[i]
		name := a.Name
		if name == nil {
			name = a.Binding
		}
		plain := syntax.PlainIdentifier(name)
		at := &js.Var{Data: name}
		if from := b.imported[plain]; from != noValue {
			b.escape(from, at)
		} else if v := b.top[plain]; v != nil {
			b.escape(b.place(v), at)
		}
	}
	switch d := n.Decl.(type) {
	case nil:
	case *js.VarDecl:
		b.declaration(d)
		for i := range d.List {
			for _, v := range boundNames(d.List[i].Binding) {
				b.escape(b.place(v), v)
			}
		}
	case *js.FuncDecl, *js.ClassDecl:
		b.escape(b.eval(d), d)
	default:
		b.escape(b.eval(d), d)
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
	case *js.BindingArray:
		for _, item := range to.List {
			if item.Binding != nil {
				all = append(all, boundNames(item.Binding)...)
			}
		}
		if to.Rest != nil {
			all = append(all, boundNames(to.Rest)...)
		}
	}
	return all
}
