package jsscan

import (
	"bytes"
	"strings"
	"unsafe"

	"github.com/tdewolff/parse/v2/js"

	"github.com/hallmark-mcp/hallmark/plugin"
)

type scanner struct {
	code  []byte
	lines bool               // positions in code are those of the file
	top   map[string]*js.Var // what is declared at the top, by name
	found []plugin.Import
}

func newScanner(ast *js.AST, code []byte, lines bool) *scanner {
	s := &scanner{code: code, lines: lines, top: map[string]*js.Var{}}
	for _, v := range ast.Scope.Undeclared { // what is imported counts as such
		s.top[plainIdentifier(v.Data)] = declarationOf(v)
	}
	for _, v := range ast.Scope.Declared {
		s.top[plainIdentifier(v.Data)] = v
	}
	return s
}

// run finds what the file imports: it reads the tree into a graph of where values flow, lets them flow, and
// looks at what arrives where something is called, or leaves the file.
func (s *scanner) run(ast *js.AST) []plugin.Import {
	b := &builder{scanner: s, g: newGraph(), base: &env{vars: map[*js.Var]node{}}, written: map[node]bool{},
		once: map[string]bool{}, reads: map[readKey]bool{},
		escapes: map[escapeKey]bool{}, handed: map[js.INode]bool{}, reported: map[string]map[js.INode]bool{},
		assigned: map[*js.Var]bool{}, consts: map[*js.Var]js.IExpr{}, natives: map[string]*object{},
		imported: map[string]node{}}
	b.g.crowded = b.leave
	js.Walk(&survey{b}, ast)
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
		if name := plainIdentifier(v.Data); v.Decl == js.VariableDecl && globals[name]&(requires|moduleItself) != 0 {
			b.g.addMask(b.place(v), globals[name])
		}
	}
	b.statements(ast.List)
	if !b.finish() {
		b.report(ast, plugin.Require, "more code than can be followed", true)
	}
	for i := 0; i < len(b.calls); i++ {
		b.reportCall(b.calls[i])
	}
	return b.found
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
			if b.written[r.n] || r.o.proto != noValue && len(b.g.nodes[r.o.proto].objects) > 0 {
				continue
			}
			b.g.addMask(r.n, memberOf(unknown, r.name))
			changed = true
		}
		if changed {
			continue
		}
		for ; calls < len(b.calls); calls++ {
			c := b.calls[calls]
			if !c.known && c.means == nothing && c.linked != nil {
				b.g.addMask(c.result, unknown)
				b.escapeArguments(c)
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

// survey learns which names are assigned to, and which have one text.
type survey struct{ b *builder }

func (s *survey) Enter(n js.INode) js.IVisitor {
	switch n := n.(type) {
	case *js.VarDecl:
		if n.TokenType == js.ConstToken {
			for i := range n.List {
				if v, ok := n.List[i].Binding.(*js.Var); ok && n.List[i].Default != nil {
					s.b.consts[declarationOf(v)] = n.List[i].Default
				}
			}
		}
	case *js.BinaryExpr:
		if n.Op == js.EqToken || js.AddEqToken <= n.Op && n.Op <= js.NullishEqToken {
			s.assigned(n.X)
		}
	case *js.UnaryExpr:
		s.assigned(n.X)
	case *js.ForInStmt:
		s.assigned(n.Init)
	case *js.ForOfStmt:
		s.assigned(n.Init)
	case *js.FuncDecl:
		if n.Name != nil {
			s.b.assigned[declarationOf(n.Name)] = true
		}
	}
	return s
}

func (s *survey) Exit(js.INode) {}

func (s *survey) assigned(to js.INode) {
	switch to := withoutParens(to).(type) {
	case *js.Var:
		s.b.assigned[declarationOf(to)] = true
	case *js.ObjectExpr, *js.ArrayExpr:
		js.Walk(&targets{s.b}, to)
	}
}

// targets takes each name in a pattern for one that is assigned to.
type targets struct{ b *builder }

func (t *targets) Enter(n js.INode) js.IVisitor {
	if v, ok := n.(*js.Var); ok {
		t.b.assigned[declarationOf(v)] = true
	}
	return t
}
func (t *targets) Exit(js.INode) {}

func (s *scanner) addStatement(kind plugin.Kind, module []byte) {
	if target, ok := fold(&js.LiteralExpr{TokenType: js.StringToken, Data: module}); ok {
		s.found = append(s.found, plugin.Import{Line: s.lineOf(module), Kind: kind, Specifier: target})
		return
	}
	s.addComputed(kind, string(module), module)
}

func (s *scanner) addComputed(kind plugin.Kind, text string, at []byte) {
	s.found = append(s.found, plugin.Import{Line: s.lineOf(at), Kind: kind, Specifier: clipText(text), Computed: true})
}

// clipText shortens code for a person.
func clipText(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > 80 {
		text = strings.ToValidUTF8(text[:80], "") + "…"
	}
	return text
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
