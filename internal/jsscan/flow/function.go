package flow

import (
	"github.com/tdewolff/parse/v2/js"

	"github.com/hallmark-mcp/hallmark/internal/jsscan/syntax"
)

// function is a function of the file, in one of the places that make it.
type function struct {
	node     js.INode // *js.FuncDecl, *js.ArrowFunc, *js.MethodDecl or *js.ClassDecl without a constructor
	params   *js.Params
	body     *js.BlockStmt
	env      *env // where it was made
	strict   bool
	arrow    bool
	async    bool
	parts    *parts // shared by all calls but those with parts of their own
	this     node   // of all calls
	super    node   // the class that it extends
	instance *object
	called   bool
	own      int8 // 1 if it may know its arguments by another way than its parameters, -1 if not, 0 if nobody looked
	away     bool // it was called from elsewhere
	size     int
	reread   bool // for one call at least
	plain    bool // inside of a function that is no arrow function
	wrapper  int8 // 1 if it wraps, -1 if not
}

// parts are the places of one analysis of a function's body.
type parts struct {
	params []node
	this   node
	result node
	// returns are the expressions that give the result.
	returns []returned
}

type returned struct {
	n  node
	at js.INode
}

// env tells the names of one analysis of a function from those of another.
type env struct {
	vars   map[*js.Var]node
	consts map[*js.Var]string
	outer  *env
	of     js.INode // the function whose body this is
	depth  int
}

func (e *env) has(of js.INode) bool {
	for ; e != nil; e = e.outer {
		if e.of == of {
			return true
		}
	}
	return false
}

// scopeOf is what the builder knows of the function whose body it reads.
type scopeOf struct {
	fn     *function
	parts  *parts
	env    *env
	strict bool
	trying int  // how many try blocks that catch are around
	plain  bool // inside of a function that is no arrow function
}

// newFunction makes the object of a function, and reads its body.
func (b *builder) newFunction(n js.INode, params *js.Params, body *js.BlockStmt, arrow, async bool) *object {
	o := b.g.newObject(n)
	f := &function{node: n, params: params, body: body, env: b.in.env, arrow: arrow, async: async}
	f.strict = b.in.strict || hasDirective(body)
	o.fn = f
	b.functions = append(b.functions, o)
	f.super, b.super = b.super, noValue
	if arrow {
		f.this = b.in.parts.this
		if b.in.fn != nil {
			f.super = b.in.fn.super
		}
	} else {
		f.this = b.g.newNode()
	}
	f.plain = b.in.plain
	return o
}

// partsOf returns the parts that all calls of a function share. Its body is read when the first of them is
// found: of a function that is read again for each call nobody may need them.
func (b *builder) partsOf(f *function) *parts {
	if f.parts == nil {
		saved := b.super
		b.super = noValue
		f.parts = &parts{this: f.this, result: b.g.newNode()}
		b.readInto(f.parts, f, f.env, f.plain)
		b.super = saved
	}
	return f.parts
}

func hasDirective(body *js.BlockStmt) bool {
	for _, s := range body.List {
		d, ok := s.(*js.DirectivePrologueStmt)
		if !ok {
			return false
		}
		if len(d.Value) > 2 && string(d.Value[1:len(d.Value)-1]) == "use strict" {
			return true
		}
	}
	return false
}

// readBody reads the body of a function once, with the names of e.
func (b *builder) readBody(f *function, e *env) *parts {
	p := &parts{this: f.this, result: b.g.newNode()}
	b.readInto(p, f, e, true)
	return p
}

func (b *builder) readInto(p *parts, f *function, e *env, plain bool) {
	saved := b.in
	b.in = scopeOf{fn: f, parts: p, env: e, strict: f.strict, plain: plain || !f.arrow}
	b.declare(&f.body.Scope)
	for i := range f.params.List {
		n := b.g.newNode()
		p.params = append(p.params, n)
		b.bindElement(&f.params.List[i], n)
	}
	if f.params.Rest != nil {
		b.bind(f.params.Rest, fromAway)
	}
	b.block(f.body)
	b.in = saved
}

// declare gives the names of a scope places of their own where a body is read again.
func (b *builder) declare(s *js.Scope) {
	if b.in.env.outer == nil {
		return
	}
	for _, v := range s.Declared {
		if _, ok := b.in.env.vars[v]; !ok {
			b.in.env.vars[v] = b.g.newNode()
		}
	}
}

// callFromAway says that a function is called by what is not known.
func (b *builder) callFromAway(f *function) {
	if f.away {
		return
	}
	f.away, f.called = true, true
	shared := b.partsOf(f)
	for _, p := range shared.params {
		b.g.addMask(p, unknown)
	}
	if !f.arrow {
		b.g.addMask(shared.this, unknown)
	}
	for _, r := range shared.returns {
		b.escape(r.n, r.at)
	}
}

// What is read once more for each call: small functions, such as those by which bundlers wrap modules.
const (
	smallBody  = 120
	maxDepth   = 2
	maxRereads = 3000
)

// partsFor returns the parts of a function for one call.
func (b *builder) partsFor(f *function, c *call) *parts {
	f.called = true
	if c.env.depth >= maxDepth || f.env.depth >= maxDepth || b.rereads >= maxRereads {
		return b.partsOf(f)
	}
	if f.size == 0 {
		f.size = sizeOf(f.body, smallBody+1)
	}
	if f.size > smallBody || c.env.has(f.node) || f.env.has(f.node) {
		return b.partsOf(f)
	}
	if _, ok := f.node.(*js.ClassDecl); ok || !f.wraps() || !givesParts(c) {
		return b.partsOf(f)
	}
	b.rereads++
	e := &env{vars: map[*js.Var]node{}, consts: map[*js.Var]string{}, outer: f.env, of: f.node,
		depth: max(c.env.depth, f.env.depth) + 1}
	for i, a := range c.args {
		if a.spread {
			break
		}
		if i >= len(f.params.List) {
			break
		}
		if v, ok := f.params.List[i].Binding.(*js.Var); ok && !b.assigned[v] {
			if text, ok := b.foldIn(a.at, c.env); ok {
				e.consts[v] = text
			}
		}
	}
	f.reread = true
	g := *f
	if !f.arrow {
		g.this = b.g.newNode()
		b.g.flow(f.this, g.this)
	}
	return b.readBody(&g, e)
}

// wraps reports whether a function makes functions, or takes members under names that it is given: what it
// gives back depends on its call.
func (f *function) wraps() bool {
	if f.wrapper == 0 {
		w := &wrapping{}
		js.Walk(w, f.body)
		if f.wrapper = -1; w.found {
			f.wrapper = 1
		}
	}
	return f.wrapper > 0
}

type wrapping struct{ found bool }

func (w *wrapping) Enter(n js.INode) js.IVisitor {
	switch n := n.(type) {
	case *js.FuncDecl, *js.ArrowFunc:
		w.found = true
	case *js.IndexExpr:
		if _, isLiteral := n.Y.(*js.LiteralExpr); !isLiteral {
			w.found = true
		}
	}
	if w.found {
		return nil
	}
	return w
}

func (w *wrapping) Exit(js.INode) {}

// givesParts reports whether a call gives what is not handed on by other code: a function, an object, a
// result, a number.
func givesParts(c *call) bool {
	if _, isName := syntax.WithoutParens(c.callee).(*js.Var); !isName {
		return false
	}
	for _, a := range c.args {
		switch x := syntax.WithoutParens(a.at).(type) {
		case *js.ObjectExpr, *js.ArrowFunc, *js.FuncDecl, *js.CallExpr:
			return true
		case *js.LiteralExpr:
			return len(c.args) == 1 && x.TokenType != js.StringToken || c.env.depth == 0 && len(c.args) == 1
		}
	}
	return c.env.depth > 0
}

// sizeOf counts nodes, up to a limit.
func sizeOf(n js.INode, limit int) int {
	c := &sizer{limit: limit}
	js.Walk(c, n)
	return c.n
}

type sizer struct{ n, limit int }

func (s *sizer) Enter(js.INode) js.IVisitor {
	if s.n++; s.n > s.limit {
		return nil
	}
	return s
}
func (s *sizer) Exit(js.INode) {}

// usesArguments reports whether a function may know its arguments by another way than its parameters.
func (f *function) usesArguments() bool {
	if f.own == 0 {
		a := &argumentsUse{arrow: f.arrow}
		js.Walk(a, f.body)
		js.Walk(a, f.params)
		if f.own = -1; a.found {
			f.own = 1
		}
	}
	return f.own > 0
}

// argumentsUse looks for a use of the arguments of a function.
type argumentsUse struct{ arrow, found bool }

func (a *argumentsUse) Enter(n js.INode) js.IVisitor {
	switch n := n.(type) {
	case *js.FuncDecl, *js.MethodDecl:
		return nil // has its own
	case *js.Var:
		a.found = a.found || !a.arrow && syntax.PlainIdentifier(n.Data) == "arguments"
	case *js.DotExpr:
		a.found = a.found || syntax.PropertyName(n.Y) == "arguments"
	}
	if a.found {
		return nil
	}
	return a
}

func (a *argumentsUse) Exit(js.INode) {}
