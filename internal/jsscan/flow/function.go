package flow

import (
	"github.com/tdewolff/parse/v2/js"

	"github.com/hallmark-mcp/hallmark/internal/jsscan/meaning"
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
	reread   bool              // for one call at least
	plain    bool              // inside of a function that is no arrow function
	wrapper  int8              // 1 if it wraps, -1 if not
	lookup   int8              // 1 if it looks up what its parameter names, -1 if not
	byText   map[string]*parts // of the calls with one text or number by which it finds a member
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
	number map[*js.Var]string // what is a number is a text only where it is the whole name of a member
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
		b.g.addMask(p, meaning.Unknown)
	}
	if !f.arrow {
		b.g.addMask(shared.this, meaning.Unknown)
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
	// maxSelected is the number of texts and numbers by which calls of functions are told apart: of modules.
	maxSelected = 5000
)

// partsFor returns the parts of a function for one call.
func (b *builder) partsFor(f *function, c *call) *parts {
	f.called = true
	if text, isNumber, ok := b.selects(f, c); ok {
		return b.partsBy(f, text, isNumber)
	}
	if c.env.depth >= maxDepth || f.env.depth >= maxDepth || b.rereads >= maxRereads {
		return b.partsOf(f)
	}
	if f.size == 0 {
		f.size = syntax.Size(f.body, smallBody+1)
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
	g.away = false // it is this call's
	if !f.arrow {
		g.this = b.g.newNode()
		b.g.flow(f.this, g.this)
	}
	return b.readBody(&g, e)
}

// selects returns the text or number with which a call of a function finds a member that its only argument names,
// as the function does by which webpack's modules get each other.
func (b *builder) selects(f *function, c *call) (text string, isNumber, ok bool) {
	if len(c.args) != 1 || c.args[0].spread || len(f.params.List) == 0 || c.isNew || f.env.depth >= maxDepth {
		return "", false, false
	}
	v, isName := f.params.List[0].Binding.(*js.Var)
	if !isName || b.assigned[v] || !f.looksUp(v) || f.usesArguments() {
		return "", false, false
	}
	if text, ok = syntax.NumberName(syntax.WithoutParens(c.args[0].at)); ok {
		return text, true, true
	}
	if _, isLiteral := syntax.WithoutParens(c.args[0].at).(*js.LiteralExpr); !isLiteral {
		return "", false, false
	}
	text, ok = syntax.Fold(c.args[0].at)
	return text, false, ok
}

// partsBy returns the parts of a function for all calls with one text or number.
func (b *builder) partsBy(f *function, text string, isNumber bool) *parts {
	key := text
	if isNumber {
		key = "\x00" + text
	}
	if p := f.byText[key]; p != nil {
		return p
	}
	if b.selected++; b.selected > maxSelected {
		return b.partsOf(f)
	}
	b.g.steps += smallBody
	if f.byText == nil {
		f.byText = map[string]*parts{}
	}
	v := f.params.List[0].Binding.(*js.Var)
	e := &env{vars: map[*js.Var]node{}, outer: f.env, of: f.node, depth: f.env.depth + 1}
	if isNumber {
		e.number = map[*js.Var]string{v: text}
	} else {
		e.consts = map[*js.Var]string{v: text}
	}
	f.reread = true
	g := *f
	g.away = false // it is this call's
	if !f.arrow {
		g.this = b.g.newNode()
		b.g.flow(f.this, g.this)
	}
	p := &parts{this: g.this, result: b.g.newNode()}
	f.byText[key] = p // before it is read: it may call itself
	b.readInto(p, &g, e, true)
	return p
}

// looksUp reports whether a small function takes members under the name that is its parameter.
func (f *function) looksUp(v *js.Var) bool {
	if f.lookup == 0 {
		if f.lookup = -1; syntax.Size(f.body, smallBody+1) <= smallBody && syntax.LooksUp(f.body, v) {
			f.lookup = 1
		}
	}
	return f.lookup > 0
}

// wraps reports whether a function makes functions, or takes members under names that it is given: what it
// gives back depends on its call.
func (f *function) wraps() bool {
	if f.wrapper == 0 {
		if f.wrapper = -1; syntax.Wraps(f.body) {
			f.wrapper = 1
		}
	}
	return f.wrapper > 0
}

// givesParts reports whether a call gives what is not handed on by other code: a function, an object, a
// result, a number.
func givesParts(c *call) bool {
	switch x := syntax.WithoutParens(c.callee).(type) {
	case *js.Var:
	case *js.DotExpr: // of a function that has others as members, as webpack's does
		of, ok := syntax.WithoutParens(x.X).(*js.Var)
		if !ok || !c.b.finds(of) {
			return false
		}
	default:
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

// finds reports whether a name holds a function that finds members by what it is given: see selects.
func (b *builder) finds(v *js.Var) bool {
	o := b.objectOf(b.place(v))
	if o == nil || o.fn == nil || len(o.fn.params.List) == 0 {
		return false
	}
	by, isName := o.fn.params.List[0].Binding.(*js.Var)
	return isName && o.fn.looksUp(by)
}

// usesArguments reports whether a function may know its arguments by another way than its parameters.
func (f *function) usesArguments() bool {
	if f.own == 0 {
		if f.own = -1; syntax.UsesArguments(f.body, f.arrow) || syntax.UsesArguments(f.params, f.arrow) {
			f.own = 1
		}
	}
	return f.own > 0
}

// takesNoMore reports whether nothing knows the arguments of a function that it has no parameters for: they are no
// property of it either, as they are of others while they run.
func (f *function) takesNoMore() bool {
	_, isMethod := f.node.(*js.MethodDecl)
	return (f.strict || f.arrow || isMethod) && !f.usesArguments()
}
