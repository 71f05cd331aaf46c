package flow

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/tdewolff/parse/v2/js"

	"github.com/hallmark-mcp/hallmark/internal/jsscan/meaning"
	"github.com/hallmark-mcp/hallmark/internal/jsscan/syntax"
	"github.com/hallmark-mcp/hallmark/plugin"
)

// What is called, with what, and what that imports.

// call is a place in the code that calls something.
type call struct {
	b        *builder
	node     js.INode // *js.CallExpr, *js.NewExpr or *js.TemplateExpr
	callee   js.IExpr
	of       js.IExpr // what the callee is a member of, or nil
	name     string   // of that member
	anyName  bool     // which is not known
	ofSuper  bool     // of what this inherits
	args     []argument
	receiver node
	result   node
	env      *env
	in       *parts
	isNew    bool
	tag      bool
	known    bool             // functions of the file were found
	optional bool             // what it imports may be missing
	given    bool             // its arguments were handed on
	linked   map[int32]*parts // of what was called, by its number
	means    meaning.Set
	through  bool // by call or apply, which have no meaning of their own
	promise  bool // by then: what nobody takes is lost
}

type argument struct {
	n      node
	at     js.IExpr
	spread bool
}

// kindOf maps a meaning to the kind of import that calling it is.
var kindOf = map[meaning.Set]plugin.Kind{
	meaning.Requires: plugin.Require, meaning.Loads: plugin.Require, meaning.LoadsFile: plugin.Require,
	meaning.Resolves: plugin.Resolve,
	meaning.Builtins: plugin.Builtin, meaning.Opens: plugin.Native, meaning.Imports: plugin.Dynamic,
}

// holdsImport matches the words that let an evaluated text import, or reach what imports.
var holdsImport = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(require|import|process|module|globalThis|global|eval|Function|constructor|` +
		`binding)\b|\bthis\[`)
})

// call reads a call.
func (b *builder) call(e js.INode, callee js.IExpr, list []js.Arg, isNew bool) node {
	if ce, ok := e.(*js.CallExpr); ok && syntax.IsShim(ce) {
		return b.g.meaningAt(meaning.Requires)
	}
	c := &call{b: b, node: e, callee: callee, result: b.g.newNode(), env: b.in.env, in: b.in.parts, isNew: isNew,
		optional: b.in.trying > 0}
	if l, ok := callee.(*js.LiteralExpr); ok && l.TokenType == js.ImportToken && b.awaited != e {
		c.optional = false // it fails later
	}
	of, fn := b.callee(c)
	b.arguments(c, list)
	return b.follow(c, of, fn)
}

// follow lets values go through a call of fn, which is a member of what is at of.
func (b *builder) follow(c *call, of, fn node) node {
	switch {
	case c.isNew || c.of == nil || c.anyName:
	case c.name == "call" || c.name == "apply" || c.name == "bind":
		return b.callThrough(c, of, fn)
	case c.name == "then" && len(c.args) > 0:
		b.g.watch(of, &promised{b, c})
	}
	if c.of != nil && harmlessMethods[c.name] {
		b.g.watch(fn, &harmless{b, c})
		b.dispatch(c)
		b.calls = append(b.calls, c)
		b.g.addMask(c.result, meaning.Unknown)
		return c.result
	}
	if b.givesThis(c, fn) {
		return b.g.meaningAt(meaning.Global)
	}
	b.begin(c, fn, c.receiver)
	b.dispatch(c)
	return c.result
}

// callee reads what a call calls. Of is the place of what that is a member of, if it is one.
func (b *builder) callee(c *call) (of, fn node) {
	switch x := syntax.WithoutParens(c.callee).(type) {
	case *js.DotExpr:
		c.of, c.name = x.X, syntax.PropertyName(x.Y)
		of = b.receiver(c)
		return of, b.load(c.of, of, c.name)
	case *js.IndexExpr:
		c.of = x.X
		of = b.receiver(c)
		b.eval(x.Y)
		if name, ok := b.key(x.Y); ok {
			c.name = name
			return of, b.load(c.of, of, name)
		}
		c.anyName = true
		return of, b.loadAny(of, x.Y)
	case *js.LiteralExpr:
		if x.TokenType == js.SuperToken {
			c.receiver = b.in.parts.this
		}
	}
	return noValue, b.eval(c.callee)
}

// receiver reads what a callee is a member of. What super has is called with this.
func (b *builder) receiver(c *call) node {
	of := b.object(c.of)
	c.receiver = of
	if l, ok := c.of.(*js.LiteralExpr); ok && l.TokenType == js.SuperToken {
		c.receiver, c.ofSuper = b.in.parts.this, true
	}
	return of
}

// dispatch lets a function that is found on an object have that object as its receiver, and nothing else that came
// to the same place: no other object, on which it was not found. A known value has the functions that the file put
// on it, and gives itself to those.
func (b *builder) dispatch(c *call) {
	if c.of != nil && !c.ofSuper && !c.isNew {
		b.g.watch(c.receiver, &dispatcher{c})
	}
}

type dispatcher struct{ c *call }

func (d *dispatcher) meanings(m meaning.Set) {
	d.c.b.eachPut(m, func(one meaning.Set, o *object) { d.find(o, d.c.b.g.meaningAt(one)) })
}

func (d *dispatcher) object(o *object) {
	if o.native == "" {
		d.find(o, d.c.b.g.holding(o))
	}
}

// find lets what is found on an object be called with what is at a place.
func (d *dispatcher) find(on *object, this node) {
	if d.c.anyName {
		d.c.b.g.watch(d.c.b.foundAny(on), &method{d.c, this})
	} else {
		d.c.b.g.watch(d.c.b.lookup(on, d.c.name), &method{d.c, this})
	}
}

// method is what is called as a member of something.
type method struct {
	c    *call
	this node
}

func (*method) meanings(meaning.Set) {}
func (m *method) object(o *object) {
	if o.fn == nil || o.fn.arrow || o.bound {
		return
	}
	m.c.b.link(m.c, o)
	if p := m.c.linked[o.id]; p != nil {
		m.c.b.g.flow(m.this, p.this)
	}
}

// hasLinked reports whether the arguments of a call arrived in an object.
func (c *call) hasLinked(o *object) bool {
	_, has := c.linked[o.id]
	return has
}

// harmless is a call of a method that tells something of an object, unless it is one of the file.
type harmless struct {
	b *builder
	c *call
}

func (h *harmless) meanings(m meaning.Set) {}
func (h *harmless) object(o *object) {
	if o.fn != nil {
		h.b.link(h.c, o)
	}
}

func (b *builder) arguments(c *call, list []js.Arg) {
	for i := range list {
		c.args = append(c.args, argument{b.eval(list[i].Value), list[i].Value, list[i].Rest})
	}
}

// begin follows a call from what its callee may be.
func (b *builder) begin(c *call, fn, receiver node) {
	c.receiver = receiver
	c.linked = map[int32]*parts{}
	b.calls = append(b.calls, c)
	b.g.watch(fn, c)
}

func (c *call) meanings(m meaning.Set) {
	b := c.b
	added := m &^ c.means
	c.means |= m
	if added&meaning.Unknown != 0 {
		b.escapeArguments(c)
		b.g.addMask(c.result, meaning.Unknown)
	}
	if added&meaning.Chains != 0 {
		b.g.flow(c.receiver, c.result)
		for _, a := range c.args {
			b.g.watch(a.n, &listener{b, c.receiver})
		}
	}
	if added&meaning.Creates != 0 {
		b.g.addMask(c.result, meaning.Requires)
	}
	if added&(meaning.Requires|meaning.Imports|meaning.Builtins|meaning.Loads) != 0 && len(c.args) > 0 && !c.args[0].spread {
		if target, ok := b.foldIn(c.args[0].at, c.env); ok {
			b.g.addMask(c.result, meaning.SpaceOf(target))
		}
	}
	if added&(meaning.Requires|meaning.Imports|meaning.Builtins|meaning.Loads|meaning.Opens|meaning.Extends|
		meaning.LoadsFile|meaning.Executes|meaning.OpensFiles|meaning.Compiles|meaning.Resolves|
		meaning.PerhapsEvaluates) != 0 {
		b.g.addMask(c.result, meaning.Unknown)
		if added&(meaning.Imports|meaning.PerhapsEvaluates) != 0 {
			b.escapeArguments(c)
		}
	}
	if added&meaning.Evaluates != 0 {
		b.g.addMask(c.result, meaning.Unknown)
		b.escapeArguments(c)
	}
	if added&(meaning.ModuleSpace) != 0 && c.isNew {
		b.g.addMask(c.result, meaning.ModuleItself)
	}
	if added&meaning.SomeMember != 0 {
		b.g.addMask(c.result, meaning.Unknown)
		b.escapeArguments(c)
	}
	if added&meaning.Functions != 0 {
		b.g.addMask(c.result, meaning.Unknown)
	}
}

// listener is called with process as its receiver.
type listener struct {
	b  *builder
	of node
}

func (l *listener) meanings(meaning.Set) {}
func (l *listener) object(o *object) {
	if o.fn != nil && !o.fn.arrow && !o.bound {
		l.b.g.flow(l.of, o.fn.this)
	}
	l.b.leave(o)
}

func (c *call) object(o *object) {
	switch {
	case c.hasLinked(o):
	case o.native != "":
		c.linked[o.id], c.known = nil, true
		c.b.callNative(o, c)
	case o.fn != nil:
		c.b.link(c, o)
	default:
		c.linked[o.id] = nil
		c.b.escapeArguments(c)
		c.b.g.addMask(c.result, meaning.Unknown)
	}
}

// link lets the arguments of a call arrive in the parameters of a function, and its result here.
func (b *builder) link(c *call, o *object) {
	if c.linked == nil {
		c.linked = map[int32]*parts{}
	}
	if c.hasLinked(o) {
		return
	}
	c.linked[o.id], c.known = nil, true
	f := o.fn
	args := c.args
	var p *parts
	if o.bound {
		args = append(slices.Clip(o.first), args...)
		f.called = true
		p = b.partsOf(f)
	} else {
		p = b.partsFor(f, c)
	}
	c.linked[o.id] = p
	switch {
	case f.arrow:
	case c.isNew:
		i := b.instance(o)
		b.g.addObject(c.result, i.id)
		b.g.addObject(p.this, i.id)
	case o.bound: // see bound
	case c.of != nil && !c.ofSuper: // see dispatch
	case c.receiver != noValue:
		b.g.flow(c.receiver, p.this)
	case !f.strict && !c.tag && !c.through:
		b.g.addMask(p.this, b.bareThis(c, f))
	}
	for i, a := range args {
		n := a.n
		if a.spread {
			n = b.elementOf(n, a.at)
			for _, to := range p.params[min(i, len(p.params)):] {
				b.g.flow(n, to)
			}
			b.escape(n, a.at)
			break
		}
		if i < len(p.params) {
			b.g.flow(n, p.params[i])
		} else if f.params.Rest == nil && f.takesNoMore() {
			if _, isName := syntax.WithoutParens(a.at).(*js.Var); isName && !c.promise { // a mistake is told of
				b.g.watch(n, &offered{b, a.at, false})
			}
		} else if f.params.Rest != nil || !c.promise {
			b.escape(n, a.at)
		}
	}
	if f.usesArguments() {
		b.escapeArguments(c)
	}
	b.g.flow(p.result, c.result)
}

// bareThis is what a sloppy function has as its receiver that is called without one: the global object. Where
// the function does more than to return that, it is no finding to hand it on.
func (b *builder) bareThis(c *call, f *function) meaning.Set {
	switch x := syntax.WithoutParens(c.callee).(type) {
	case *js.FuncDecl:
		return meaning.Global
	case *js.Var:
		if d := syntax.DeclarationOf(x); d.Decl == js.FunctionDecl && syntax.Size(f.body, 20) < 20 {
			return meaning.Global
		}
	}
	return meaning.PerhapsGlobal
}

// escapeArguments says that what is called may keep its arguments.
func (b *builder) escapeArguments(c *call) {
	if c.given {
		return
	}
	c.given = true
	for i, a := range c.args {
		if c.means&(meaning.Opens|meaning.LoadsFile) != 0 && i == 0 {
			continue
		}
		b.escape(a.n, a.at)
		if v, ok := syntax.WithoutParens(a.at).(*js.Var); ok && c.means&^meaning.Unknown == 0 {
			b.g.watch(a.n, &evaluator{b, v})
		}
		if f, ok := syntax.WithoutParens(a.at).(*js.FuncDecl); ok && len(c.args) == 1 && c.means&^meaning.Unknown == 0 && f.Name == nil {
			b.g.watch(a.n, &callback{b})
		}
	}
	if c.receiver != noValue && c.means&(meaning.Chains|meaning.Powerful) == 0 {
		b.g.watch(c.receiver, &receiver{b})
	}
}

// isMissing reports whether a call is one of a member, under a name that is not known, of plain objects of the file
// that have no function. It finds what all objects have, or fails.
func (b *builder) isMissing(c *call) bool {
	if !c.anyName || c.isNew || c.receiver <= fromAway || b.g.nodes[c.receiver].mask != 0 {
		return false
	}
	for _, id := range b.g.nodes[c.receiver].objects {
		o := b.g.objects[id]
		if _, isPlain := o.origin.(*js.ObjectExpr); !isPlain || o.escaped || o.fn != nil {
			return false
		}
	}
	return len(b.g.nodes[c.receiver].objects) > 0
}

// callMissing follows the call of a method that all objects have: it returns its receiver or its argument, or
// keeps a function as a getter, which is its second argument.
func (b *builder) callMissing(c *call) {
	b.g.flow(c.receiver, c.result)
	for i, a := range c.args {
		b.g.flow(a.n, c.result)
		b.g.watch(a.n, &offered{b, a.at, i == 1 || a.spread})
	}
}

// offered is an argument of a method that all objects have.
type offered struct {
	b      *builder
	at     js.INode
	getter bool
}

func (k *offered) meanings(m meaning.Set) { (&exits{b: k.b}).report(m, k.at) }
func (k *offered) object(o *object) {
	if k.getter && o.fn != nil {
		k.b.leave(o)
	}
}

// evaluator records eval or Function as the argument of what is not known.
type evaluator struct {
	b  *builder
	at *js.Var
}

func (*evaluator) object(*object) {}
func (e *evaluator) meanings(m meaning.Set) {
	if m&meaning.Evaluates != 0 {
		e.b.handOn(meaning.Evaluates, e.at)
	}
}

// callback is a function that is called with a receiver that is not known: in sloppy code perhaps the global object.
type callback struct{ b *builder }

func (*callback) meanings(meaning.Set) {}
func (k *callback) object(o *object) {
	if o.fn != nil && !o.fn.strict && !o.fn.arrow && !o.bound {
		k.b.g.addMask(o.fn.this, meaning.PerhapsGlobal)
	}
}

// receiver is an object of the file of which an unknown method is called.
type receiver struct{ b *builder }

func (*receiver) meanings(meaning.Set) {}
func (r *receiver) object(o *object) {
	r.b.leave(o)
}

// callThrough follows f.call, f.apply and f.bind.
func (b *builder) callThrough(c *call, f, own node) node {
	of, name := c.of, c.name
	first := js.IExpr(nil)
	this := node(noValue)
	if len(c.args) > 0 {
		this, first = c.args[0].n, c.args[0].at
		if c.args[0].spread {
			b.escapeArgumentsOf(c)
		}
	}
	c.known = true
	if v, ok := syntax.WithoutParens(of).(*js.Var); ok && syntax.DeclarationOf(v).Decl == js.NoDecl && timers[syntax.PlainIdentifier(v.Data)] {
		this = noValue // the global object, as most have it
		if first != nil {
			c.args = append([]argument{{n: noValue, at: first}}, c.args[1:]...)
		}
	}
	if x, ok := of.(*js.DotExpr); ok && first != nil && len(c.args) == 1 && sameName(x.X, first) {
		if name == "bind" { // process.nextTick.bind(process)
			b.g.flow(f, c.result)
			return c.result
		}
	}
	switch name {
	case "call":
		inner := &call{b: b, node: c.node, callee: c.callee, args: c.args[min(1, len(c.args)):], result: c.result,
			env: c.env, in: c.in, optional: c.optional, through: true}
		b.begin(inner, f, this)
		b.g.watch(f, &throughKnown{b, c, inner, of, name, first})
	case "apply":
		var list node
		var at js.IExpr
		if len(c.args) > 1 {
			list, at = c.args[1].n, c.args[1].at
		}
		b.callBy(c, f, of, this, at, list, false)
	case "bind":
		b.g.watch(f, &bound{b, c, this, first, nil})
	}
	b.g.watch(own, &fileMethods{b, c})
	b.dispatch(c)
	return c.result
}

// timers are functions of the engine that do nothing with their receiver.
var timers = map[string]bool{"queueMicrotask": true, "setTimeout": true, "setInterval": true, "setImmediate": true,
	"clearTimeout": true, "clearInterval": true, "clearImmediate": true, "fetch": true, "structuredClone": true}

func sameName(x, y js.INode) bool {
	v, ok := syntax.WithoutParens(x).(*js.Var)
	w, same := syntax.WithoutParens(y).(*js.Var)
	return ok && same && syntax.DeclarationOf(v) == syntax.DeclarationOf(w)
}

// fileMethods are methods of the file with the names of those that functions have.
type fileMethods struct {
	b *builder
	c *call
}

func (*fileMethods) meanings(meaning.Set) {}
func (f *fileMethods) object(o *object) {
	if f.c.linked == nil {
		f.c.linked = map[int32]*parts{}
	}
	if o.fn != nil || o.native != "" {
		f.c.object(o)
	}
}

// bound gives a function its receiver and its first arguments.
type bound struct {
	b    *builder
	c    *call
	this node
	at   js.INode
	made map[int32]bool
}

func (x *bound) meanings(m meaning.Set) {
	x.b.g.addMask(x.c.result, m)
	x.handOn()
	if m&meaning.Unknown != 0 {
		x.b.escape(x.this, x.at)
	}
}

func (x *bound) handOn() {
	for _, a := range x.c.args[min(1, len(x.c.args)):] {
		x.b.escape(a.n, a.at)
	}
}

func (x *bound) object(o *object) {
	switch {
	case x.made[o.id]:
		return
	case o.fn == nil || o.bound:
		x.b.g.addObject(x.c.result, o.id)
		x.handOn()
		return
	case x.made == nil:
		x.made = map[int32]bool{}
	}
	x.made[o.id] = true
	if !o.fn.arrow && x.this != noValue {
		x.b.g.flow(x.this, o.fn.this)
	}
	made := x.b.g.newObject(o.origin)
	made.fn, made.bound, made.first = o.fn, true, x.c.args[min(1, len(x.c.args)):]
	for _, a := range made.first {
		x.b.keep(made, a.n, a.at)
	}
	x.b.g.flow(x.b.g.holding(o), x.b.proto(made))
	x.b.g.addObject(x.c.result, made.id)
}

// throughKnown hands on the receiver of call where the function is not known.
type throughKnown struct {
	b     *builder
	c     *call
	inner *call
	of    js.INode
	name  string
	first js.IExpr
}

func (t *throughKnown) object(*object) {}
func (t *throughKnown) meanings(m meaning.Set) {
	if m&(meaning.Unknown|meaning.Functions) != 0 && len(t.c.args) > 0 {
		t.b.escapeArgumentsOf(t.c)
	}
}

func (b *builder) escapeArgumentsOf(c *call) {
	for _, a := range c.args {
		b.escape(a.n, a.at)
	}
}

// callBy follows a call whose arguments are in an array.
func (b *builder) callBy(c *call, f node, of js.INode, this node, at js.IExpr, list node, isNew bool) {
	inner := &call{b: b, node: c.node, callee: c.callee, result: c.result, env: c.env, in: c.in, isNew: isNew,
		optional: c.optional, through: true}
	if array, ok := syntax.WithoutParens(at).(*js.ArrayExpr); ok && !syntax.HasSpread(array) {
		o := b.objectOf(list)
		for i := range array.List {
			n := node(noValue)
			if o != nil && array.List[i].Value != nil {
				n = b.property(o, itoa(i))
			}
			inner.args = append(inner.args, argument{n: n, at: array.List[i].Value})
		}
	} else if at != nil {
		inner.args = []argument{{n: list, at: at, spread: true}}
	}
	b.begin(inner, f, this)
	b.g.watch(f, &throughKnown{b, c, inner, of, "apply", nil})
}

func (b *builder) objectOf(n node) *object {
	if n > fromAway && len(b.g.nodes[n].objects) == 1 {
		return b.g.objects[b.g.nodes[n].objects[0]]
	}
	return nil
}

// promised calls back with what import() promises.
type promised struct {
	b *builder
	c *call
}

func (p *promised) object(*object) {}
func (p *promised) meanings(m meaning.Set) {
	if m&meaning.Powerful == 0 {
		return
	}
	b := p.b
	inner := &call{b: b, node: p.c.node, callee: p.c.callee, result: p.c.result, env: p.c.env, in: p.c.in, through: true,
		promise: true, args: []argument{{n: b.g.meaningAt(m & meaning.Powerful), at: p.c.of}}}
	b.begin(inner, p.c.args[0].n, noValue)
}

// givesThis reports whether a call returns the global object, in one of the forms that libraries use
// for that: Function("return this")().
func (b *builder) givesThis(c *call, fn node) bool {
	var maker js.INode
	var args []js.Arg
	switch x := syntax.WithoutParens(c.callee).(type) {
	case *js.CallExpr:
		maker, args = x.X, x.Args.List
	case *js.NewExpr:
		if maker = x.X; x.Args != nil {
			args = x.Args.List
		}
	default: // eval("this")
		maker = x
		for _, a := range c.args {
			args = append(args, js.Arg{Value: a.at, Rest: a.spread})
		}
	}
	if len(args) != 1 {
		return false
	}
	text, ok := syntax.Fold(args[0].Value)
	if !ok || !isThisText(text) {
		return false
	}
	v, isName := syntax.WithoutParens(maker).(*js.Var)
	return isName && b.g.nodes[b.place(v)].mask&meaning.Evaluates != 0
}

// isThisText reports whether a text evaluates to the global object.
func isThisText(text string) bool {
	forms := []string{"this", "return this", "globalThis", "return globalThis", "global", "return global"}
	return slices.Contains(forms, strings.Trim(text, "; \t\n"))
}
