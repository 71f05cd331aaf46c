package flow

import (
	"strings"

	"github.com/tdewolff/parse/v2/js"

	"github.com/hallmark-mcp/hallmark/internal/jsscan/meaning"
	"github.com/hallmark-mcp/hallmark/internal/jsscan/syntax"
	"github.com/hallmark-mcp/hallmark/plugin"
)

// builder reads a syntax tree into a graph, and records what the file imports.
type builder struct {
	*scanner
	g         *graph
	in        scopeOf
	base      *env
	functions []*object
	calls     []*call
	once      map[string]bool
	reads     pairs // what was read, and where it arrives
	iterated  pairs
	unwritten []pendingRead
	handed    map[handKey]bool
	hands     []handKey
	told      meaning.Set      // what calls of one of many values were told of
	vague     map[handKey]bool // those calls
	reported  map[string]map[js.INode]bool
	assigned  map[*js.Var]bool
	consts    map[*js.Var]js.IExpr // what names hold that are set once
	again     map[*js.Var]int      // how often a declaration sets a name
	natives   map[string]*object
	exports   *object
	awaited   js.INode // what await stands before
	asked     js.INode // what typeof asks for a member of
	imported  map[string]node
	rereads   int
	selected  int
	super     node
	lookups   map[node]node // what is found where a property is read, by the property
	put       map[meaning.Set]*object
	makers    map[node]bool // places that hold the constructor of something
}

// eval returns the place of an expression's value.
func (b *builder) eval(e js.INode) node {
	switch e := e.(type) {
	case nil:
		return noValue
	case *js.GroupExpr:
		return b.eval(e.X)
	case *js.CommaExpr:
		last := noValue
		for _, x := range e.List {
			last = b.eval(x)
		}
		return last
	case *js.CondExpr:
		b.eval(e.Cond)
		return b.either(b.eval(e.X), b.eval(e.Y))
	case *js.BinaryExpr:
		return b.binary(e)
	case *js.UnaryExpr:
		if e.Op == js.AwaitToken {
			b.awaited = syntax.WithoutParens(e.X)
		}
		if d, ok := syntax.WithoutParens(e.X).(*js.DotExpr); ok && e.Op == js.TypeofToken {
			b.asked = d.X
		}
		n := b.eval(e.X)
		if e.Op == js.AwaitToken {
			return n
		}
		return noValue
	case *js.Var:
		return b.use(e)
	case *js.ImportMetaExpr:
		return b.g.meaningAt(meaning.Meta)
	case *js.LiteralExpr:
		switch e.TokenType {
		case js.ImportToken:
			return b.g.meaningAt(meaning.Imports)
		case js.ThisToken:
			return b.in.parts.this
		case js.SuperToken:
			if b.in.fn != nil && b.in.fn.super != noValue {
				return b.in.fn.super
			}
			return fromAway
		}
		return noValue
	case *js.DotExpr:
		return b.load(e.X, b.object(e.X), syntax.PropertyName(e.Y))
	case *js.IndexExpr:
		of := b.object(e.X)
		b.eval(e.Y)
		if name, ok := b.key(e.Y); ok {
			return b.load(e.X, of, name)
		}
		return b.loadAny(of, e.Y)
	case *js.CallExpr:
		return b.call(e, e.X, e.Args.List, false)
	case *js.NewExpr:
		var args []js.Arg
		if e.Args != nil {
			args = e.Args.List
		}
		return b.call(e, e.X, args, true)
	case *js.TemplateExpr:
		return b.template(e)
	case *js.ArrayExpr:
		return b.array(e)
	case *js.ObjectExpr:
		return b.objectLiteral(e)
	case *js.FuncDecl:
		o := b.newFunction(e, &e.Params, &e.Body, false, e.Async)
		n := b.g.holding(o)
		if e.Name != nil {
			b.g.flow(n, b.place(e.Name))
		}
		return n
	case *js.ArrowFunc:
		return b.g.holding(b.newFunction(e, &e.Params, &e.Body, true, e.Async))
	case *js.MethodDecl:
		return b.g.holding(b.newFunction(e, &e.Params, &e.Body, false, e.Async))
	case *js.ClassDecl:
		return b.class(e)
	case *js.YieldExpr:
		if e.X != nil {
			b.escape(b.eval(e.X), e.X)
		}
		return fromAway
	case *js.VarDecl:
		b.declaration(e)
		return noValue
	case js.LiteralExpr:
		return noValue
	}
	return fromAway
}

// object is eval of what a property is read of.
func (b *builder) object(x js.IExpr) node {
	n := b.eval(x)
	if l, ok := x.(*js.LiteralExpr); ok && l.TokenType == js.SuperToken {
		return b.either(n, b.load(nil, n, "prototype"))
	}
	return n
}

func (b *builder) either(x, y node) node {
	switch {
	case x == noValue, x == y:
		return y
	case y == noValue:
		return x
	}
	n := b.g.newNode()
	b.g.flow(x, n)
	b.g.flow(y, n)
	if b.makers[x] || b.makers[y] {
		b.makers[n] = true
	}
	return n
}

func (b *builder) binary(e *js.BinaryExpr) node {
	switch e.Op {
	case js.OrToken, js.NullishToken:
		return b.either(b.eval(e.X), b.eval(e.Y))
	case js.AndToken:
		b.eval(e.X)
		if b.in.fn == nil && isHelperOfThis(e) {
			return noValue
		}
		return b.eval(e.Y)
	case js.EqToken:
		v := b.eval(e.Y)
		b.assign(e.X, v, e.Y)
		return v
	case js.OrEqToken, js.AndEqToken, js.NullishEqToken:
		old, v := b.eval(e.X), b.eval(e.Y)
		b.assign(e.X, v, e.Y)
		return b.either(old, v)
	case js.AddEqToken, js.SubEqToken, js.MulEqToken, js.DivEqToken, js.ModEqToken, js.ExpEqToken, js.LtLtEqToken,
		js.GtGtEqToken, js.GtGtGtEqToken, js.BitAndEqToken, js.BitOrEqToken, js.BitXorEqToken:
		b.eval(e.Y)
		b.eval(e.X)
		b.assign(e.X, noValue, nil)
		return noValue
	case js.InToken:
		b.eval(e.X)
		b.eval(e.Y)
		return noValue
	}
	// Long sums lean to the left.
	for {
		b.eval(e.Y)
		x, ok := e.X.(*js.BinaryExpr)
		if !ok || x.Op != e.Op {
			break
		}
		e = x
	}
	b.eval(e.X)
	return noValue
}

// isHelperOfThis reports whether an expression is this && this.__helper, as the TypeScript compiler looks for
// its helpers. At the top of a file nobody can have given it one.
func isHelperOfThis(e *js.BinaryExpr) bool {
	isThis := func(x js.IExpr) bool {
		l, ok := syntax.WithoutParens(x).(*js.LiteralExpr)
		return ok && l.TokenType == js.ThisToken
	}
	dot, ok := syntax.WithoutParens(e.Y).(*js.DotExpr)
	return ok && isThis(e.X) && isThis(dot.X) && strings.HasPrefix(syntax.PropertyName(dot.Y), "__")
}

// place returns the place of a name.
func (b *builder) place(v *js.Var) node {
	v = syntax.DeclarationOf(v)
	for e := b.in.env; e != nil; e = e.outer {
		if n, ok := e.vars[v]; ok {
			return n
		}
	}
	n := b.g.newNode()
	b.base.vars[v] = n
	if v.Decl == js.NoDecl {
		name := syntax.PlainIdentifier(v.Data)
		switch {
		case b.top[name] != v && b.top[name] != nil && b.imported[name] != noValue:
			b.g.flow(b.imported[name], n)
		case b.imported[name] != noValue:
			b.g.flow(b.imported[name], n)
		case name == "exports":
			b.g.addObject(n, b.exports.id)
		case nativeRoots[name]:
			b.g.addObject(n, b.native(name).id)
			b.g.addMask(n, 0)
		case name == "undefined", name == "NaN", name == "Infinity":
		default:
			b.g.addMask(n, meaning.Unknown|meaning.Free[name])
			if meaning.Free[name] != 0 {
				b.g.nodes[n].mask &^= meaning.Unknown
				b.g.nodes[n].fresh &^= meaning.Unknown
			}
		}
	}
	return n
}

// use returns the place of a name that is used.
func (b *builder) use(v *js.Var) node {
	if d := syntax.DeclarationOf(v); d.Decl == js.NoDecl {
		switch syntax.PlainIdentifier(d.Data) {
		case "arguments":
			if !b.in.plain {
				b.report(v, plugin.Require, "arguments at the top, which hold require", true)
				return noValue
			}
			return fromAway
		}
	}
	return b.place(v)
}

// load reads the property name of a value.
func (b *builder) load(x js.INode, of node, name string) node {
	if name == "constructor" && x != nil {
		switch syntax.WithoutParens(x).(type) {
		case *js.FuncDecl, *js.ArrowFunc:
			return b.g.meaningAt(meaning.Evaluates)
		}
	}
	switch of {
	case noValue:
		if name == "constructor" {
			return b.maker(meaning.PerhapsEvaluates)
		}
		return fromAway
	case fromAway:
		if name == "constructor" {
			return b.maker(meaning.MemberOf(meaning.Unknown, name))
		}
		return b.g.meaningAt(meaning.MemberOf(meaning.Unknown, name))
	}
	to := b.g.newNode()
	b.g.watch(of, &member{b: b, name: name, to: to, at: x, asked: x != nil && x == b.asked})
	if name == "constructor" {
		if b.makers[of] { // of a constructor: that of functions
			b.g.addMask(to, meaning.Evaluates)
		}
		b.makers[to] = true
	}
	return to
}

// maker returns a new place that holds the constructor of something.
func (b *builder) maker(m meaning.Set) node {
	n := b.g.meaningAt(m)
	b.makers[n] = true
	return n
}

// loadAny reads a property whose name is not known.
func (b *builder) loadAny(of node, key js.IExpr) node {
	if of <= fromAway || b.isSymbol(key) {
		return fromAway
	}
	to := b.g.newNode()
	b.g.watch(of, &element{b, to})
	return to
}

// isSymbol reports whether an expression is a symbol whenever it runs.
func (b *builder) isSymbol(e js.INode) bool {
	switch e := syntax.WithoutParens(e).(type) {
	case *js.CallExpr:
		switch printShort(e.X) {
		case "Symbol", "Symbol.for":
			return true
		}
	case *js.DotExpr:
		x, ok := syntax.WithoutParens(e.X).(*js.Var)
		return ok && syntax.PlainIdentifier(x.Data) == "Symbol" && syntax.DeclarationOf(x).Decl == js.NoDecl
	case *js.Var:
		if d, ok := b.consts[syntax.DeclarationOf(e)]; ok {
			_, again := syntax.WithoutParens(d).(*js.Var)
			return !again && b.isSymbol(d)
		}
	}
	return false
}

// printShort prints a name or a member of a name; "" for anything else.
func printShort(e js.INode) string {
	switch e := syntax.WithoutParens(e).(type) {
	case *js.Var:
		return syntax.PlainIdentifier(e.Data)
	case *js.DotExpr:
		if x, ok := syntax.WithoutParens(e.X).(*js.Var); ok {
			return syntax.PlainIdentifier(x.Data) + "." + syntax.PropertyName(e.Y)
		}
	}
	return ""
}

// key returns the name of a property that an expression gives.
func (b *builder) key(e js.INode) (string, bool) {
	if name, ok := syntax.NumberName(syntax.WithoutParens(e)); ok {
		return name, true
	}
	if v, ok := syntax.WithoutParens(e).(*js.Var); ok {
		v = syntax.DeclarationOf(v)
		for e := b.in.env; e != nil; e = e.outer {
			if name, ok := e.number[v]; ok {
				return name, true
			}
		}
	}
	return b.foldIn(e, b.in.env)
}

// set lets a value arrive in a name.
func (b *builder) set(v *js.Var, value node) {
	n := b.place(v)
	b.g.flow(value, n)
	if b.makers[value] {
		b.makers[n] = true
	}
}

// assign lets a value arrive in the target of an assignment.
func (b *builder) assign(to js.INode, value node, at js.INode) {
	switch to := syntax.WithoutParens(to).(type) {
	case *js.Var:
		b.set(to, value)
	case *js.DotExpr:
		of := b.eval(to.X)
		name := syntax.PropertyName(to.Y)
		b.store(of, &name, value, at, to)
	case *js.IndexExpr:
		of := b.eval(to.X)
		b.eval(to.Y)
		if name, ok := b.key(to.Y); ok {
			b.store(of, &name, value, at, to)
		} else {
			b.store(of, nil, value, at, to)
		}
	case *js.BinaryExpr: // a default
		if to.Op == js.EqToken {
			d := b.eval(to.Y)
			b.assign(to.X, b.either(value, d), at)
		}
	case *js.ObjectExpr:
		for i := range to.List {
			p := &to.List[i]
			switch {
			case p.Spread:
				b.assign(p.Value, b.rest(value), at)
			case p.Name != nil:
				from := b.patternKey(p.Name, value)
				if p.Init != nil {
					from = b.either(from, b.eval(p.Init))
				}
				b.assign(p.Value, from, at)
			default:
				if v, ok := p.Value.(*js.Var); ok {
					from := b.load(nil, value, syntax.PlainIdentifier(v.Data))
					if p.Init != nil {
						from = b.either(from, b.eval(p.Init))
					}
					b.assign(v, from, at)
				} else {
					b.assign(p.Value, fromAway, at)
				}
			}
		}
	case *js.ArrayExpr:
		for i := range to.List {
			if to.List[i].Value != nil {
				b.assign(to.List[i].Value, b.elementOf(value, at), at)
			}
		}
	case *js.VarDecl: // of a loop
		for i := range to.List {
			b.bind(to.List[i].Binding, value)
		}
	default:
		b.eval(to)
	}
}

// store writes a property of what is at a place.
func (b *builder) store(of node, name *string, value node, origin, at js.INode) {
	if of == noValue {
		return
	}
	b.g.watch(of, &writer{b, name, value, origin, at})
}

// elementOf reads an element of what is iterated over.
func (b *builder) elementOf(of node, at js.INode) node {
	if of <= fromAway {
		return fromAway
	}
	to := b.g.newNode()
	b.g.watch(of, &iterated{b, to, at})
	return to
}

// iterated reads the elements of an array.
type iterated struct {
	b  *builder
	to node
	at js.INode
}

func (i *iterated) object(o *object) {
	if !i.b.iterated.add(pairOf(i.b.all(o), i.to)) {
		return
	}
	i.b.index(o)
	i.b.g.flow(i.b.all(o), i.to)
	i.b.leaveIterated(o)
}

func (i *iterated) meanings(m meaning.Set) {
	i.b.g.addMask(i.to, meaning.Unknown)
	if m&meaning.Powerful != 0 {
		i.b.handOn(m&meaning.Powerful, i.at)
	}
}

// leaveIterated lets an object be called by what iterates over it, if it has an iterator of its own.
func (b *builder) leaveIterated(o *object) {
	if _, isArray := o.origin.(*js.ArrayExpr); !isArray && o.any != noValue {
		b.g.watch(o.any, &leavingFunction{b})
	}
}

// leavingFunction is a function that an iteration calls.
type leavingFunction struct{ b *builder }

func (*leavingFunction) meanings(meaning.Set) {}
func (l *leavingFunction) object(o *object) {
	if o.fn != nil {
		l.b.leave(o)
	}
}

// rest is what a pattern's rest takes from a value.
func (b *builder) rest(value node) node {
	if value <= fromAway {
		return value
	}
	o := b.g.newObject(nil)
	b.g.watch(value, &copier{b, o, nil})
	return b.g.holding(o)
}

func (b *builder) patternKey(k *js.PropertyName, value node) node {
	if k.IsComputed() {
		b.eval(k.Computed)
		if name, ok := b.key(k.Computed); ok {
			return b.load(nil, value, name)
		}
		if value > fromAway {
			b.g.watch(value, &opaque{b, k})
		}
		return b.loadAny(value, k.Computed)
	}
	return b.load(nil, value, literalName(k))
}

func literalName(k *js.PropertyName) string {
	if name, ok := syntax.NumberName(&k.Literal); ok {
		return name
	}
	if k.Literal.TokenType == js.StringToken {
		if name, ok := syntax.Fold(&k.Literal); ok {
			return name
		}
	}
	return strings.Trim(syntax.PlainIdentifier(k.Literal.Data), `"'`)
}

// opaque records the computed name of a pattern of what imports.
type opaque struct {
	b *builder
	k *js.PropertyName
}

func (*opaque) object(*object) {}
func (o *opaque) meanings(m meaning.Set) {
	if m&(meaning.ModuleItself|meaning.ModuleSpace|meaning.ProcessItself|meaning.Requires) != 0 {
		o.b.report(o.k, plugin.Require, "["+syntax.PrintCode(o.k.Computed)+"], of a pattern", true)
	}
}

// bind lets a value arrive in the names of a declaration.
func (b *builder) bind(to js.IBinding, value node) {
	switch to := to.(type) {
	case *js.Var:
		b.set(to, value)
	case *js.BindingObject:
		for i := range to.List {
			item := &to.List[i]
			var from node
			if item.Key != nil {
				from = b.patternKey(item.Key, value)
			} else if v, ok := item.Value.Binding.(*js.Var); ok {
				from = b.load(nil, value, syntax.PlainIdentifier(v.Data))
			}
			b.bindElement(&item.Value, from)
		}
		if to.Rest != nil {
			b.bind(to.Rest, b.rest(value))
		}
	case *js.BindingArray:
		from := b.elementOf(value, to)
		for i := range to.List {
			b.bindElement(&to.List[i], from)
		}
		if to.Rest != nil {
			b.bind(to.Rest, value)
		}
	}
}

// bindElement is bind for a place and its default.
func (b *builder) bindElement(e *js.BindingElement, value node) {
	if e.Default != nil {
		value = b.either(value, b.eval(e.Default))
	}
	if e.Binding != nil {
		b.bind(e.Binding, value)
	}
}

func (b *builder) declaration(d *js.VarDecl) {
	for i := range d.List {
		e := &d.List[i]
		if e.Default == nil {
			continue // keeps its value
		}
		b.bind(e.Binding, b.eval(e.Default))
	}
}

func (b *builder) array(e *js.ArrayExpr) node {
	o := b.g.newObject(e)
	spread := false
	for i := range e.List {
		el := &e.List[i]
		if el.Value == nil {
			continue
		}
		v := b.eval(el.Value)
		if el.Spread {
			spread = true
			v = b.elementOf(v, el.Value)
		}
		if spread {
			b.write(o, nil, v, el.Value)
			continue
		}
		name := itoa(i)
		if v != noValue {
			b.write(o, &name, v, el.Value)
		}
	}
	return b.g.holding(o)
}

func (b *builder) objectLiteral(e *js.ObjectExpr) node {
	o := b.g.newObject(e)
	for i := range e.List {
		p := &e.List[i]
		if m, ok := p.Value.(*js.MethodDecl); ok {
			b.method(o, m, noValue)
			continue
		}
		v := b.eval(p.Value)
		switch {
		case p.Spread:
			b.g.watch(v, &copier{b, o, p.Value})
		case p.Name == nil:
			if x, ok := p.Value.(*js.Var); ok {
				name := syntax.PlainIdentifier(x.Data)
				b.write(o, &name, v, p.Value)
			}
		case p.Name.IsComputed():
			b.eval(p.Name.Computed)
			if name, ok := b.key(p.Name.Computed); ok {
				b.write(o, &name, v, p.Value)
			} else {
				b.write(o, nil, v, p.Value)
			}
		default:
			name := literalName(p.Name)
			if name == "__proto__" {
				b.g.flow(v, b.proto(o))
				b.g.watch(v, &copier{b, o, p.Value})
				continue
			}
			if name == "allowExtension" && !isFalse(p.Value) { // of a database
				b.reportExtension(p.Value, p.Value, b.in.env)
			}
			b.write(o, &name, v, p.Value)
		}
		if p.Init != nil {
			b.eval(p.Init)
		}
	}
	return b.g.holding(o)
}

// elementName reads the name of an element of a class or object; nil if it is not known.
func (b *builder) elementName(n *js.ClassElementName) *string {
	var name string
	switch {
	case n.Private != nil:
		name = syntax.PlainIdentifier(n.Private.Data)
	case n.IsComputed():
		b.eval(n.Computed)
		text, ok := b.key(n.Computed)
		if !ok {
			return nil
		}
		name = text
	default:
		name = literalName(&n.PropertyName)
	}
	return &name
}

// isConstructor reports whether a method is the constructor of its class.
func isConstructor(m *js.MethodDecl) bool {
	return !m.Static && !m.Name.IsComputed() && m.Name.Private == nil && literalName(&m.Name.PropertyName) == "constructor"
}

// method adds a method, getter or setter to an object.
func (b *builder) method(o *object, m *js.MethodDecl, super node) {
	name := b.elementName(&m.Name)
	b.super = super
	f := b.newFunction(m, &m.Params, &m.Body, false, m.Async)
	b.g.addObject(f.fn.this, o.id)
	switch {
	case m.Get:
		f.fn.called = true
		b.write(o, name, b.partsOf(f.fn).result, nil)
	case m.Set:
		f.fn.called = true
		if len(b.partsOf(f.fn).params) > 0 {
			var from node
			if name == nil {
				from = b.any(o)
			} else {
				from = b.property(o, *name)
				b.g.nodes[from].written = true
			}
			b.g.flow(from, b.partsOf(f.fn).params[0])
		}
	default:
		b.write(o, name, b.g.holding(f), nil)
	}
}

func (b *builder) class(e *js.ClassDecl) node {
	super := noValue
	if e.Extends != nil {
		super = b.eval(e.Extends)
		b.g.watch(super, &extended{b, e.Extends})
	}
	saved := b.in.strict
	b.in.strict = true
	defer func() { b.in.strict = saved }()
	b.declare(&e.Scope)
	var o *object
	for i := range e.List {
		if m := e.List[i].Method; m != nil && isConstructor(m) {
			o = b.newFunctionOf(m, super)
		}
	}
	if o == nil {
		empty := &js.BlockStmt{}
		o = b.newFunction(e, &js.Params{}, empty, false, false)
	}
	o.origin = e
	o.fn.super = super
	n := b.g.holding(o)
	if e.Name != nil {
		b.g.flow(n, b.place(e.Name))
	}
	inst := b.instance(o)
	if super != noValue {
		b.g.flow(super, b.proto(o))
		up := b.load(nil, super, "prototype")
		b.g.flow(up, b.proto(inst))
		b.g.watch(super, &upcall{b, o})
	}
	for i := range e.List {
		el := &e.List[i]
		switch {
		case el.StaticBlock != nil:
			this := b.g.holding(o)
			b.within(this, func() { b.block(el.StaticBlock) })
		case el.Method != nil:
			if el.Method.Static {
				b.method(o, el.Method, super)
			} else if !isConstructor(el.Method) {
				b.method(inst, el.Method, super)
			}
		default:
			on := inst
			if el.Static {
				on = o
			}
			name := b.elementName(&el.Name)
			if el.Init == nil {
				continue
			}
			this := b.g.holding(on)
			b.within(this, func() { b.write(on, name, b.eval(el.Init), el.Init) })
		}
	}
	return n
}

// newFunctionOf makes the function of a class's constructor.
func (b *builder) newFunctionOf(m *js.MethodDecl, super node) *object {
	b.super = super
	return b.newFunction(m, &m.Params, &m.Body, false, false)
}

// within runs f where this is what it is in a field.
func (b *builder) within(this node, f func()) {
	saved := b.in
	b.in.parts = &parts{this: this, result: b.g.newNode()}
	b.in.plain = true
	f()
	b.in = saved
}

// extended records a class that extends what evaluates texts.
type extended struct {
	b  *builder
	at js.INode
}

func (*extended) object(*object) {}
func (x *extended) meanings(m meaning.Set) {
	if m&(meaning.Powerful|meaning.Evaluates) != 0 {
		x.b.handOn(m&(meaning.Powerful|meaning.Evaluates), x.at)
	}
}

// upcall lets what a class makes be what its superclass makes.
type upcall struct {
	b *builder
	o *object
}

func (u *upcall) object(up *object) {
	if up.fn == nil {
		return
	}
	up.fn.called = true
	u.b.partsOf(up.fn)
	if u.o.fn.instance != nil {
		u.b.g.addObject(up.fn.this, u.o.fn.instance.id)
	}
}
func (u *upcall) meanings(m meaning.Set) {
	if m&meaning.Unknown != 0 {
		u.b.leave(u.b.instance(u.o))
	}
}

func (b *builder) template(e *js.TemplateExpr) node {
	var args []argument
	for i := range e.List {
		args = append(args, argument{n: b.eval(e.List[i].Expr), at: e.List[i].Expr})
	}
	if e.Tag == nil {
		return noValue
	}
	c := &call{b: b, node: e, callee: e.Tag, result: b.g.newNode(), env: b.in.env, tag: true}
	of, fn := b.callee(c)
	c.args = append([]argument{{n: noValue, at: e}}, args...)
	return b.follow(c, of, fn)
}

// foldIn is fold where names of an environment have known texts.
func (b *builder) foldIn(e js.INode, in *env) (string, bool) {
	return syntax.FoldBy(e, func(v *js.Var, depth int) (string, bool) {
		v = syntax.DeclarationOf(v)
		for e := in; e != nil; e = e.outer {
			if text, ok := e.consts[v]; ok {
				return text, true
			}
		}
		if x, ok := b.consts[v]; ok && depth < syntax.MaxFold {
			if depth < 0 { // an element of it: see foldIndex
				return syntax.FoldElement(x, -depth-1)
			}
			return syntax.FoldBy(x, nil, depth+1)
		}
		return "", false
	}, 0)
}
