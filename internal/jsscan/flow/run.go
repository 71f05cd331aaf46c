// Package flow finds what a script imports, given its syntax tree.
//
// It reads the tree into a graph: places that hold values, and where values flow between them. The values that
// matter are those that can import (require, module, process, the global object, eval and what comes of them:
// see package meaning) and the objects and functions of the file itself. When nothing flows any more, each call and each
// place where a value leaves the file is looked at: a target that folds to a text is an import of it, any other a
// computed one, and so is what imports and is handed on to where nobody can follow it.
//
// The work is bounded: beyond the bounds a file is "more code than can be followed", which is a finding.
package flow

import (
	"github.com/tdewolff/parse/v2/js"

	"github.com/hallmark-mcp/hallmark/internal/jsscan/meaning"
	"github.com/hallmark-mcp/hallmark/internal/jsscan/syntax"
	"github.com/hallmark-mcp/hallmark/plugin"
)

// Imports finds what the code of a tree imports, in the order in which it stands. The pieces of the tree point
// into code; globals are those of [meaning.Networks] that it uses, each once. Lines says that these are the lines of the file, and not of a file that was rewritten.
func Imports(ast *js.AST, code []byte, lines bool) (imports, globals []plugin.Import) {
	b := newScanner(ast, code, lines).run(ast)
	return b.found, b.globals
}

// run finds what the file imports: it reads the tree into a graph of where values flow, lets them flow, and
// looks at what arrives where something is called, or leaves the file.
func (s *scanner) run(ast *js.AST) *builder {
	b := &builder{scanner: s, g: newGraph(len(s.code)), base: &env{vars: map[*js.Var]node{}},
		once: map[string]bool{}, handed: map[handKey]bool{}, reported: map[string]map[js.INode]bool{},
		assigned: map[*js.Var]bool{}, consts: map[*js.Var]js.IExpr{}, again: map[*js.Var]int{}, natives: map[string]*object{},
		imported: map[string]node{}, makers: map[node]bool{}, lookups: map[node]node{}, put: map[meaning.Set]*object{},
		vague: map[handKey]bool{}}
	b.g.crowded = b.leave
	b.survey(ast)
	b.exports = b.g.newObject(nil)
	b.leave(b.exports)
	b.in = scopeOf{env: b.base, strict: hasDirective(&ast.BlockStmt) || isModule(ast),
		parts: &parts{this: b.g.holding(b.exports), result: b.g.newNode()}}
	for _, st := range ast.List {
		if n, ok := st.(*js.ImportStmt); ok {
			b.importNames(n)
		}
	}
	for _, v := range ast.Scope.Declared {
		// A script is the body of a function with these parameters: var declares them again without
		// a new value.
		if name := syntax.PlainIdentifier(v.Data); v.Decl == js.VariableDecl && meaning.Free[name]&(meaning.Requires|meaning.ModuleItself) != 0 {
			b.g.addMask(b.place(v), meaning.Free[name])
		}
	}
	b.freeGlobals(ast)
	b.statements(ast.List)
	if !b.finish() {
		b.report(ast, plugin.Require, "more code than can be followed", true)
	}
	b.reportHands()
	for i := 0; i < len(b.calls); i++ {
		b.reportCall(b.calls[i])
	}
	return b
}

// isModule reports whether a file can only be an ES module.
func isModule(ast *js.AST) bool {
	for _, st := range ast.List {
		switch st.(type) {
		case *js.ImportStmt, *js.ExportStmt:
			return true
		}
	}
	return false
}

// finish lets all values flow. What stays without a value then is not known: properties that nobody writes,
// functions that nobody calls, and what is called although no function arrives there.
func (b *builder) finish() bool {
	reads, calls, functions := 0, 0, 0
	for {
		if !b.g.settle() {
			return false
		}
		changed := false
		for ; reads < len(b.unwritten); reads++ {
			r := b.unwritten[reads]
			if b.g.nodes[r.n].written || r.o.proto != noValue && len(b.g.nodes[r.o.proto].objects) > 0 {
				continue
			}
			b.g.addMask(r.to, meaning.MemberOf(meaning.Unknown, r.name)) // and not to who reads all properties
			changed = true
		}
		if changed {
			continue
		}
		for ; calls < len(b.calls); calls++ {
			c := b.calls[calls]
			if !c.known && c.means == meaning.Nothing && c.linked != nil {
				b.g.addMask(c.result, meaning.Unknown)
				if b.isMissing(c) {
					b.callMissing(c)
				} else {
					b.escapeArguments(c)
				}
				changed = true
			}
		}
		if changed {
			continue
		}
		for ; functions < len(b.functions); functions++ {
			if o := b.functions[functions]; !o.fn.called || o.fn.parts == nil && !o.fn.reread {
				b.callFromAway(o.fn)
				changed = true
			}
		}
		if !changed && len(b.g.queue) == 0 && reads == len(b.unwritten) && calls == len(b.calls) &&
			functions == len(b.functions) {
			return true
		}
	}
}

// survey learns which names are assigned to, and what those hold that are set once.
func (b *builder) survey(ast *js.AST) {
	s := &survey{b: b}
	js.Walk(s, ast)
	for v, times := range b.again {
		if times > 1 || b.assigned[v] || s.opens || meaning.Free[syntax.PlainIdentifier(v.Data)] != 0 {
			delete(b.consts, v)
		}
	}
	if s.scopes {
		clear(b.consts)
	}
}

type survey struct {
	b      *builder
	opens  bool // a text may be evaluated that sets names
	scopes bool // a name may stand for a property: with
}

func (s *survey) Enter(n js.INode) js.IVisitor {
	switch n := n.(type) {
	case *js.VarDecl:
		for i := range n.List {
			for _, v := range boundNames(n.List[i].Binding) {
				d := syntax.DeclarationOf(v)
				if _, isName := n.List[i].Binding.(*js.Var); isName && n.List[i].Default != nil {
					s.b.consts[d] = n.List[i].Default
				}
				if n.TokenType != js.ConstToken && (n.List[i].Default != nil || d.Decl == js.ArgumentDecl || d.Decl == js.CatchDecl) {
					s.b.again[d]++
				}
				if d.Decl != js.VariableDecl && d.Decl != js.LexicalDecl {
					s.b.assigned[d] = true
				}
			}
		}
	case *js.Var:
		s.opens = s.opens || n.Decl == js.NoDecl && string(n.Data) == "eval"
	case *js.WithStmt:
		s.scopes = true
	case *js.BinaryExpr:
		if n.Op == js.EqToken || js.AddEqToken <= n.Op && n.Op <= js.NullishEqToken {
			s.assigned(n.X)
		}
	case *js.UnaryExpr:
		switch n.Op {
		case js.PreIncrToken, js.PreDecrToken, js.PostIncrToken, js.PostDecrToken:
			s.assigned(n.X)
		}
	case *js.ForInStmt:
		s.assigned(n.Init)
	case *js.ForOfStmt:
		s.assigned(n.Init)
	case *js.FuncDecl:
		if n.Name != nil {
			s.b.assigned[syntax.DeclarationOf(n.Name)] = true
		}
	}
	return s
}

func (s *survey) Exit(js.INode) {}

func (s *survey) assigned(to js.INode) {
	switch to := syntax.WithoutParens(to).(type) {
	case *js.Var:
		s.b.assigned[syntax.DeclarationOf(to)] = true
	case *js.VarDecl, *js.ObjectExpr, *js.ArrayExpr:
		js.Walk(&targets{s.b}, to)
	}
}

// targets takes each name in a pattern for one that is assigned to.
type targets struct{ b *builder }

func (t *targets) Enter(n js.INode) js.IVisitor {
	if v, ok := n.(*js.Var); ok {
		t.b.assigned[syntax.DeclarationOf(v)] = true
	}
	return t
}
func (t *targets) Exit(js.INode) {}
