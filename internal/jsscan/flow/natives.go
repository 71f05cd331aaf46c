package flow

import (
	"strings"

	"github.com/tdewolff/parse/v2/js"

	"github.com/hallmark-mcp/hallmark/internal/jsscan/meaning"
)

// Functions of the language that libraries use to copy, wrap and describe objects. They are followed, so
// that what is handed to them is not lost sight of.

// nativeRoots are the free names of which natives are members.
var nativeRoots = map[string]bool{"Object": true, "Reflect": true, "Proxy": true, "WeakRef": true, "Array": true,
	"Boolean": true, "String": true, "Symbol": true}

// nativeFunctions are the natives that are followed; what else the roots have is unknown.
var nativeFunctions = func() map[string]bool {
	all := map[string]bool{}
	for _, name := range strings.Fields(`Object.defineProperty Object.defineProperties Object.create Object.assign
		Object.freeze Object.seal Object.preventExtensions Object.keys Object.getOwnPropertyNames
		Object.getOwnPropertySymbols Object.getOwnPropertyDescriptor Object.getOwnPropertyDescriptors
		Object.getPrototypeOf Object.setPrototypeOf Object.is Object.hasOwn Object.isFrozen Object.isExtensible
		Object.prototype Object.entries Object.values
		Reflect.get Reflect.set Reflect.apply Reflect.construct Reflect.has Reflect.ownKeys Reflect.getPrototypeOf
		Reflect.setPrototypeOf Reflect.getOwnPropertyDescriptor Reflect.defineProperty
		Array.isArray Proxy.revocable`) {
		all[name] = true
	}
	return all
}()

// harmlessMethods tell something of an object, and keep nothing.
var harmlessMethods = map[string]bool{"hasOwnProperty": true, "propertyIsEnumerable": true, "toString": true,
	"isPrototypeOf": true}

func (b *builder) native(name string) *object {
	if o := b.natives[name]; o != nil {
		return o
	}
	o := b.g.newObject(nil)
	o.native = name
	b.natives[name] = o
	return o
}

// readNative reads a member of a native.
func (b *builder) readNative(o *object, name string, to node) {
	full := o.native + "." + name
	switch {
	case nativeFunctions[full]:
		b.g.addObject(to, b.native(full).id)
	case harmlessMethods[name]:
		b.g.addObject(to, b.native("harmless").id)
	case name == "constructor":
		b.g.addMask(to, meaning.Evaluates)
	case name == "__proto__":
		b.g.addMask(to, meaning.Functions)
	default:
		b.g.addMask(to, meaning.Unknown)
	}
}

// callNative follows a call of a native.
func (b *builder) callNative(o *object, c *call) {
	arg := func(i int) node {
		if i >= len(c.args) {
			return noValue
		}
		for _, a := range c.args[:i+1] {
			if a.spread {
				return fromAway
			}
		}
		return c.args[i].n
	}
	at := func(i int) js.IExpr {
		if i < len(c.args) {
			return c.args[i].at
		}
		return nil
	}
	for _, a := range c.args {
		if a.spread {
			b.escapeArguments(c)
			break
		}
	}
	name := o.native
	switch name {
	case "Object", "Object.freeze", "Object.seal", "Object.preventExtensions", "Object.defineProperty",
		"Object.defineProperties", "Object.create", "Object.assign", "Object.setPrototypeOf":
	default:
		b.g.addMask(c.result, meaning.Unknown)
	}
	switch name {
	case "Object", "Object.freeze", "Object.seal", "Object.preventExtensions":
		b.g.flow(arg(0), c.result)
	case "Object.defineProperty", "Reflect.defineProperty":
		b.g.flow(arg(0), c.result)
		b.define(arg(0), at(1), arg(2), c)
	case "Object.defineProperties":
		b.g.flow(arg(0), c.result)
		b.g.watch(arg(1), &eachDescriptor{b, arg(0), c})
	case "Object.create":
		made := b.make(c)
		b.g.flow(arg(0), b.proto(made))
		b.g.watch(arg(0), &copier{b, made, at(0)})
		if len(c.args) > 1 {
			b.g.watch(arg(1), &eachDescriptor{b, b.g.holding(made), c})
		}
	case "Object.assign":
		b.g.flow(arg(0), c.result)
		for i := 1; i < len(c.args); i++ {
			b.g.watch(arg(0), &assigner{b, arg(i), at(i)})
		}
	case "Object.setPrototypeOf", "Reflect.setPrototypeOf":
		b.g.flow(arg(0), c.result)
		name := "__proto__"
		b.store(arg(0), &name, arg(1), at(1), at(0))
	case "Object.getPrototypeOf", "Reflect.getPrototypeOf":
		b.g.watch(arg(0), &prototyped{b, c.result})
	case "Object.getOwnPropertyDescriptor", "Reflect.getOwnPropertyDescriptor":
		made := b.make(c)
		v := b.propertyBy(arg(0), at(1), c)
		for _, name := range []string{"value", "get", "set"} {
			b.write(made, &name, v, at(0))
		}
	case "Object.getOwnPropertyDescriptors":
		made, each := b.make(c), b.g.newObject(nil)
		v := b.g.newNode()
		b.g.watch(arg(0), &element{b, v})
		for _, name := range []string{"value", "get", "set"} {
			b.write(each, &name, v, at(0))
		}
		b.write(made, nil, b.g.holding(each), nil)
	case "Object.entries", "Object.values":
		made := b.make(c)
		v := b.g.newNode()
		b.g.watch(arg(0), &element{b, v})
		if name == "Object.entries" {
			pair := b.g.newObject(nil)
			second := "1"
			b.write(pair, &second, v, at(0))
			v = b.g.holding(pair)
		}
		b.write(made, nil, v, at(0))
	case "Reflect.get":
		b.g.flow(b.propertyBy(arg(0), at(1), c), c.result)
	case "Reflect.set":
		if key, ok := b.foldArg(at(1), c); ok {
			b.store(arg(0), &key, arg(2), at(2), at(0))
		} else {
			b.store(arg(0), nil, arg(2), at(2), at(0))
		}
	case "Reflect.apply":
		b.callBy(c, arg(0), at(0), arg(1), at(2), arg(2), false)
	case "Reflect.construct":
		b.callBy(c, arg(0), at(0), noValue, at(1), arg(1), true)
	case "Proxy":
		b.proxy(c, arg(0), arg(1), at(1))
	case "harmless", "Reflect", "Boolean", "String", "Symbol", "Object.keys", "Object.getOwnPropertyNames",
		"Object.getOwnPropertySymbols", "Object.is", "Object.hasOwn", "Object.isFrozen", "Object.isExtensible",
		"Reflect.has", "Reflect.ownKeys", "Array.isArray":
	default:
		b.escapeArguments(c)
	}
}

// make is a new object as the result of a call.
func (b *builder) make(c *call) *object {
	o := b.g.newObject(c.node)
	b.g.addObject(c.result, o.id)
	return o
}

func (b *builder) foldArg(at js.IExpr, c *call) (string, bool) {
	if at == nil {
		return "", false
	}
	return b.foldIn(at, c.env)
}

// propertyBy reads a property whose name is an argument.
func (b *builder) propertyBy(of node, key js.IExpr, c *call) node {
	if of <= fromAway {
		return fromAway
	}
	to := b.g.newNode()
	if name, ok := b.foldArg(key, c); ok {
		b.g.watch(of, &member{b: b, name: name, to: to, at: c.node})
	} else if key != nil && !b.isSymbol(key) {
		b.g.watch(of, &element{b, to})
	}
	return to
}

// define adds a property by a descriptor.
func (b *builder) define(of node, key js.IExpr, descriptor node, c *call) {
	var name *string
	if text, ok := b.foldArg(key, c); ok {
		name = &text
	}
	b.g.watch(descriptor, &descriptorOf{b, of, name, c})
}

// descriptorOf adds a property by the descriptors that arrive.
type descriptorOf struct {
	b    *builder
	of   node
	name *string
	c    *call
}

func (d *descriptorOf) meanings(m meaning.Set) {
	if m&meaning.Powerful != 0 {
		d.b.handOn(m&meaning.Powerful, d.c.node)
	}
}

func (d *descriptorOf) object(o *object) {
	b := d.b
	key := "define" + itoa(int(o.id)) + "/" + itoa(int(d.of))
	if d.name != nil {
		key += "/" + *d.name
	}
	if b.once[key] {
		return
	}
	b.once[key] = true
	value, get, set := b.g.newNode(), b.g.newNode(), b.g.newNode()
	b.read(o, "value", value)
	b.read(o, "get", get)
	b.read(o, "set", set)
	b.store(d.of, d.name, value, o.origin, nil)
	b.g.watch(get, &getter{b, d})
	b.escape(set, o.origin)
}

// getter lets what a getter returns arrive in the property. What reads members of known values by names
// that are not known gives them on.
type getter struct {
	b *builder
	d *descriptorOf
}

func (g *getter) meanings(m meaning.Set) {
	if m&meaning.Powerful != 0 { // copied from another descriptor
		g.b.store(g.d.of, g.d.name, g.b.g.meaningAt(m&meaning.Powerful), g.d.c.node, nil)
	}
}

func (g *getter) object(o *object) {
	if o.fn == nil {
		g.b.leave(o)
		return
	}
	o.fn.called = true
	if !o.fn.arrow {
		g.b.g.flow(g.d.of, o.fn.this)
	}
	g.b.store(g.d.of, g.d.name, g.b.partsOf(o.fn).result, o.origin, nil)
}

// eachDescriptor adds properties by an object of descriptors.
type eachDescriptor struct {
	b  *builder
	of node
	c  *call
}

func (e *eachDescriptor) meanings(m meaning.Set) {
	if m&meaning.Powerful != 0 {
		e.b.handOn(m&meaning.Powerful, e.c.node)
	}
}

func (e *eachDescriptor) object(o *object) {
	for i, name := range o.names {
		e.b.g.watch(o.props[i], &descriptorOf{e.b, e.of, &name, e.c})
	}
	e.b.g.watch(e.b.any(o), &descriptorOf{e.b, e.of, nil, e.c})
}

// assigner copies what an argument of Object.assign has.
type assigner struct {
	b    *builder
	from node
	at   js.INode
}

func (a *assigner) object(o *object) { a.b.g.watch(a.from, &copier{a.b, o, a.at}) }
func (a *assigner) meanings(m meaning.Set) {
	a.b.eachPut(m, func(_ meaning.Set, o *object) { a.object(o) })
	if m&(meaning.Unknown|meaning.Powerful) != 0 {
		a.b.escape(a.from, a.at)
	}
}

// prototyped reads the prototype of what arrives.
type prototyped struct {
	b  *builder
	to node
}

func (p *prototyped) object(o *object) {
	p.b.g.flow(p.b.proto(o), p.to)
	p.b.g.addMask(p.to, meaning.Unknown)
	if o.fn != nil {
		p.b.g.addMask(p.to, meaning.Functions)
	}
}

func (p *prototyped) meanings(m meaning.Set) {
	p.b.g.addMask(p.to, m&(meaning.ModuleItself|meaning.Unknown))
	if m&(meaning.Evaluates|meaning.Requires|meaning.Creates|meaning.ModuleSpace) != 0 {
		p.b.g.addMask(p.to, meaning.Functions)
	}
}

// proxy follows a new Proxy: it is its target, and what its traps return.
func (b *builder) proxy(c *call, target, traps node, at js.IExpr) {
	b.g.flow(target, c.result)
	b.g.watch(traps, &trapped{b, c, target})
}

type trapped struct {
	b      *builder
	c      *call
	target node
}

func (t *trapped) meanings(m meaning.Set) {
	if m&meaning.Unknown != 0 {
		t.b.escape(t.target, t.c.node)
	}
}

func (t *trapped) object(o *object) {
	if len(o.names) == 0 && o.any == noValue {
		return
	}
	t.b.escape(t.target, t.c.node)
	t.b.leave(o)
}
