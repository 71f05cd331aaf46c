package flow

import (
	"slices"

	"github.com/tdewolff/parse/v2/js"

	"github.com/hallmark-mcp/hallmark/internal/jsscan/meaning"
	"github.com/hallmark-mcp/hallmark/internal/jsscan/syntax"
)

// Objects of the file: their properties, and what happens when one leaves it.

// manyProperties is the number of properties of an object from which on a map finds them.
const manyProperties = 8

// property returns the place of a property that the object is known to have, or noValue.
func (o *object) property(name string) node {
	if o.byName != nil {
		return o.byName[name]
	}
	if i := slices.Index(o.names, name); i >= 0 {
		return o.props[i]
	}
	return noValue
}

// addProperty adds a property that the object did not have.
func (o *object) addProperty(name string, n node) {
	o.names, o.props = append(o.names, name), append(o.props, n)
	switch {
	case o.byName != nil:
		o.byName[name] = n
	case len(o.names) > manyProperties:
		o.byName = make(map[string]node, 2*manyProperties)
		for i, name := range o.names {
			o.byName[name] = o.props[i]
		}
	}
}

// property returns the place of a property of an object.
func (b *builder) property(o *object, name string) node {
	if n := o.property(name); n != noValue {
		return n
	}
	n := b.g.newNode()
	o.addProperty(name, n)
	b.g.watch(n, &among{b, b.all(o)})
	if o.escaped {
		b.g.addMask(n, meaning.Unknown)
	}
	for i := 0; i < len(o.copies) && !b.g.spent(); i++ {
		b.copyProperty(name, n, o.copies[i])
	}
	switch {
	case o.fn != nil && name == "prototype":
		b.g.addObject(n, b.instance(o).id)
		b.g.nodes[n].written = true
	case o.fn != nil && name == "constructor":
		b.g.addMask(n, meaning.PerhapsEvaluates)
	}
	return n
}

// whole are the values that are not followed through names that are not known: what reads them so is found.
const whole = meaning.Powerful &^ meaning.SomeMember

// among lets what a property holds be read under a name that is not known.
type among struct {
	b  *builder
	to node
}

func (a *among) meanings(m meaning.Set) { a.b.g.addMask(a.to, m&^(whole|meaning.Evaluates)) }
func (a *among) object(o *object)       { a.b.g.addObject(a.to, o.id) }

// index says that properties of an object are read under names that are not known.
func (b *builder) index(o *object) {
	if o.indexed {
		return
	}
	o.indexed = true
	for _, k := range o.kept {
		b.g.watch(k.n, &indexed{b, k.at})
	}
}

// indexed records a value that is read under a name that is not known.
type indexed struct {
	b  *builder
	at js.INode
}

func (*indexed) object(*object) {}
func (i *indexed) meanings(m meaning.Set) {
	if m &= whole | meaning.Evaluates; m != 0 {
		i.b.handOn(m, i.at)
	}
}

// maxTaken is the number of properties that an object may have of others, counted as often as one leads to it. Where
// there are more, many objects have what the others have, and telling its names apart costs much and says little.
const maxTaken = 1000

// copyProperty lets an object have a property of another.
func (b *builder) copyProperty(name string, from node, to copyOf) {
	if b.g.copied++; b.g.copying == maxCopying {
		b.g.copied = b.g.limit
	}
	if b.g.spent() { // which the file has a finding for
		return
	}
	if to.o.taken++; to.o.taken > maxTaken { // its names are not told apart any more
		b.g.flow(from, b.any(to.o))
		b.g.nodes[b.any(to.o)].written = true
		b.keep(to.o, from, to.at)
		return
	}
	b.g.copying++
	n := b.property(to.o, name)
	b.g.nodes[n].written = true
	b.g.flow(from, n)
	b.keep(to.o, from, to.at)
	b.g.copying--
}

// copyOf is an object that has what another has, and the code that says so.
type copyOf struct {
	o  *object
	at js.INode
}

// all is the place of everything that an object holds.
func (b *builder) all(o *object) node {
	if o.all == noValue {
		o.all = b.g.newNode()
	}
	return o.all
}

// any is the place of an object's properties under names that are not known.
func (b *builder) any(o *object) node {
	if o.any == noValue {
		o.any = b.g.newNode()
		b.g.watch(o.any, &among{b, b.all(o)})
		if o.escaped {
			b.g.addMask(o.any, meaning.Unknown)
		}
	}
	return o.any
}

// proto is the place of what an object inherits from.
func (b *builder) proto(o *object) node {
	if o.proto == noValue {
		o.proto = b.g.newNode()
		if o.escaped {
			b.escape(o.proto, o.origin)
		}
	}
	return o.proto
}

// instance is the object that stands for the prototype of a function and for all that it makes.
func (b *builder) instance(o *object) *object {
	if o.fn.instance == nil {
		i := b.g.newObject(o.origin)
		o.fn.instance = i
		if !o.fn.arrow {
			b.g.addObject(o.fn.this, i.id)
		}
		c := b.property(i, "constructor")
		b.g.nodes[c].written = true
		b.g.addObject(c, o.id)
	}
	return o.fn.instance
}

// write lets a value arrive in a property. With a name that is not known, name is nil.
func (b *builder) write(o *object, name *string, value node, origin js.INode) {
	var n node
	if name == nil {
		n = b.any(o)
	} else {
		n = b.property(o, *name)
	}
	b.g.nodes[n].written = true
	if origin == nil {
		origin = o.origin
	}
	b.g.flow(value, n)
	b.keep(o, value, origin)
}

// keep remembers what an object holds for when it leaves the file.
func (b *builder) keep(o *object, value node, origin js.INode) {
	if value <= fromAway {
		return
	}
	if o.escaped {
		b.escape(value, origin)
		return
	}
	if o.indexed {
		b.g.watch(value, &indexed{b, origin})
	}
	o.kept = append(o.kept, kept{value, origin})
}

// kept is a value that an object holds, and the code that put it there.
type kept struct {
	n  node
	at js.INode
}

// read lets the property of an object arrive at a place.
func (b *builder) read(o *object, name string, to node) { b.g.flow(b.lookup(o, name), to) }

// lookup is the place of what is found on an object under a name, be it its own or inherited.
func (b *builder) lookup(o *object, name string) node {
	n := b.property(o, name)
	if to := b.lookups[n]; to != noValue {
		return to
	}
	to := b.g.newNode()
	b.lookups[n] = to
	if !b.g.nodes[n].written {
		b.unwritten = append(b.unwritten, pendingRead{n, o, name, to})
	}
	b.g.flow(n, to)
	w := &struct { // at once: there are many
		refiner
		member
	}{refiner{b, name, to}, member{b: b, name: name, to: to}}
	b.g.watch(b.any(o), &w.refiner)
	b.g.watch(b.proto(o), &w.member)
	return to
}

// foundAny is the place of what is found on an object under names that are not known.
func (b *builder) foundAny(o *object) node {
	if o.every == noValue {
		o.every = b.g.newNode()
		b.index(o)
		b.g.flow(b.all(o), o.every)
		b.g.watch(b.proto(o), &element{b, o.every})
	}
	return o.every
}

// pendingRead is a property that was read, and that perhaps nobody writes.
type pendingRead struct {
	n    node
	o    *object
	name string
	to   node
}

// refiner reads a known name of what stands under names that are not known.
type refiner struct {
	b    *builder
	name string
	to   node
}

func (r *refiner) meanings(m meaning.Set) {
	r.b.g.addMask(r.to, meaning.Refine(m, r.name))
	if meaning.MayNetwork(m, r.name) {
		r.b.readGlobal(r.name, nil)
	}
}
func (r *refiner) object(o *object) { r.b.g.addObject(r.to, o.id) }

// member reads a property with a known name.
type member struct {
	b     *builder
	name  string
	to    node
	at    js.INode // nil if it is not known
	asked bool     // for its type only
}

func (m *member) meanings(of meaning.Set) {
	m.b.g.addMask(m.to, meaning.MemberOf(of, m.name))
	if meaning.MayNetwork(of, m.name) && !m.asked {
		m.b.readGlobal(m.name, m.at)
	}
}
func (m *member) object(o *object) {
	switch {
	case o.native != "":
		m.b.readNative(o, m.name, m.to)
	default:
		m.b.read(o, m.name, m.to)
	}
}

// element reads a property whose name is not known.
type element struct {
	b  *builder
	to node
}

func (e *element) meanings(of meaning.Set) { e.b.g.addMask(e.to, meaning.IndexOf(of)) }
func (e *element) object(o *object)        { e.b.g.flow(e.b.foundAny(o), e.to) }

// writer writes a property of what arrives at a place.
type writer struct {
	b      *builder
	name   *string // nil: it is not known
	value  node
	origin js.INode
	at     js.INode
}

func (w *writer) object(o *object) {
	w.b.write(o, w.name, w.value, w.origin)
	if w.name != nil && *w.name == "__proto__" {
		w.b.g.flow(w.value, w.b.proto(o))
		w.b.g.watch(w.value, &copier{w.b, o, w.origin})
	}
}

func (w *writer) meanings(m meaning.Set) {
	w.b.writeKnown(m, w)
	w.b.eachPut(m, func(_ meaning.Set, o *object) { w.object(o) })
	if w.value != noValue {
		w.b.g.watch(w.value, &leaver{w.b, m, w})
	}
}

// eachPut calls f with each known value of m, and the object that stands for what the file puts on that.
func (b *builder) eachPut(m meaning.Set, f func(meaning.Set, *object)) {
	(m & whole).Each(func(one meaning.Set) {
		if b.put[one] == nil {
			b.put[one] = b.g.newObject(nil)
		}
		f(one, b.put[one])
	})
}

// leaver records a value that is written into an object that is not of this file.
type leaver struct {
	b    *builder
	into meaning.Set
	w    *writer
}

func (l *leaver) object(o *object) { l.b.leave(o) }
func (l *leaver) meanings(m meaning.Set) {
	m &= meaning.Powerful
	if l.w.name != nil { // what is there anyway
		m &^= meaning.MemberOf(l.into, *l.w.name)
	}
	if m != 0 {
		l.b.handOn(m, l.w.origin)
	}
}

// copier lets an object have the members of what arrives.
type copier struct {
	b  *builder
	to *object
	at js.INode
}

func (c *copier) meanings(m meaning.Set) {
	n := c.b.any(c.to)
	c.b.g.nodes[n].written = true
	if some := meaning.IndexOf(m) &^ meaning.Unknown; some != meaning.Nothing {
		c.b.g.addMask(n, some)
		c.b.keep(c.to, c.b.g.meaningAt(some), c.at)
	}
}

func (c *copier) object(o *object) {
	if o != c.to && c.b.reads.add(pairOf(c.b.any(o), c.b.any(c.to))) {
		n := c.b.any(c.to)
		c.b.g.nodes[n].written = true
		c.b.g.flow(c.b.any(o), n)
		c.b.keep(c.to, c.b.any(o), c.at)
		if c.to.taken > maxTaken {
			c.b.index(o)
			c.b.g.flow(c.b.all(o), n)
			c.b.keep(c.to, c.b.all(o), c.at)
			return
		}
		to := copyOf{c.to, c.at}
		o.copies = append(o.copies, to)
		for i := 0; i < len(o.names); i++ {
			if c.b.g.spent() {
				return
			}
			c.b.copyProperty(o.names[i], o.props[i], to)
		}
	}
}

// exits is the watcher of a place from which values leave the file, with the code that lets them: there may be
// much of it, and what leaves needs to be told once only.
type exits struct {
	b   *builder
	at  []js.INode
	all map[js.INode]struct{} // if there are many
}

// add adds code that lets values leave, and reports whether it is new.
func (e *exits) add(at js.INode) bool {
	if e.all == nil && slices.Contains(e.at, at) {
		return false
	}
	if _, ok := e.all[at]; ok {
		return false
	}
	e.at = append(e.at, at)
	switch {
	case e.all != nil:
		e.all[at] = struct{}{}
	case len(e.at) > 16:
		e.all = map[js.INode]struct{}{}
		for _, at := range e.at {
			e.all[at] = struct{}{}
		}
	}
	return true
}

func (e *exits) meanings(m meaning.Set) {
	for i := 0; i < len(e.at) && m&(meaning.Powerful|meaning.Resolves) != 0; i++ { // it may grow
		e.report(m, e.at[i])
	}
}

// report records what leaves the file at an expression.
func (e *exits) report(m meaning.Set, at js.INode) {
	out := m & meaning.Powerful
	if _, isName := syntax.WithoutParens(at).(*js.Var); isName {
		out |= m & meaning.Resolves
	}
	if out != 0 {
		e.b.handOn(out, at)
	}
}

func (e *exits) object(o *object) { e.leave(o, e.at[0]) }

func (e *exits) leave(o *object, at js.INode) {
	if o.origin == nil {
		o.origin = at
	}
	e.b.leave(o)
}

// escape says that the value of a place leaves what can be followed.
func (b *builder) escape(n node, at js.INode) {
	if n <= fromAway {
		return
	}
	e := b.g.nodes[n].exits
	if e == nil {
		e = &exits{b: b, at: []js.INode{at}}
		b.g.nodes[n].exits = e
		b.g.watch(n, e)
		return
	}
	if !e.add(at) {
		return
	}
	e.report(b.g.nodes[n].mask, at)
	for i := 0; i < len(b.g.nodes[n].objects); i++ { // it may grow
		e.leave(b.g.objects[b.g.nodes[n].objects[i]], at)
	}
}

// leave says that an object leaves what can be followed: anybody may read, write and call it.
func (b *builder) leave(o *object) {
	if o.escaped || o.native != "" {
		return
	}
	o.escaped = true
	for _, n := range o.props {
		b.g.addMask(n, meaning.Unknown)
	}
	if o.any != noValue {
		b.g.addMask(o.any, meaning.Unknown)
	}
	for _, k := range o.kept {
		b.escape(k.n, k.at)
	}
	o.kept = nil
	if o.proto != noValue {
		b.escape(o.proto, o.origin)
	}
	if o.fn != nil {
		o.fn.called = true
		b.callFromAway(o.fn)
		if !o.fn.arrow {
			b.leave(b.instance(o))
		}
	}
}
