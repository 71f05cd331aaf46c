package flow

import (
	"slices"

	"github.com/tdewolff/parse/v2/js"

	"github.com/hallmark-mcp/hallmark/internal/jsscan/meaning"
)

// A graph says from where to where values flow in a file. Each node is a place for values: a name, a
// property, an expression. A place holds meanings and objects that the file makes; both only grow.
type graph struct {
	nodes   []place
	objects []*object
	queue   []node
	steps   int           // of handing values on
	copied  int           // properties that objects have of others
	copying int           // how deep one copy leads to another now
	limit   int           // of steps; of what is copied it is an eighth
	edges   pairs         // of places with many
	crowded func(*object) // told of objects that a place has no room for
}

type node int32

const (
	noValue  node = iota // nothing of interest is ever here
	fromAway             // what is made outside of the file
)

type place struct {
	mask, fresh meaning.Set // fresh are those not handed on yet
	objects     []int32
	maybe       uint64 // a bit for each object, by the end of its number: what has none is not held
	handedOn    int    // so many of the objects were
	to          []node
	watchers    []watcher
	exits       *exits // if what is here leaves the file
	queued      bool
	written     bool // something writes into this property
}

// A watcher is told what arrives at a place.
type watcher interface {
	meanings(meaning.Set)
	object(*object)
}

// object is an object, function, array or class that the file makes at one place in its code.
type object struct {
	id      int32
	fn      *function       // if it can be called
	native  string          // the name of a function of the language
	names   []string        // of its properties
	props   []node          // in the order of their names
	byName  map[string]node // if there are many
	any     node            // its properties under names that are not known
	all     node            // all its properties
	every   node            // and those that it inherits
	proto   node            // objects that it inherits from
	escaped bool
	origin  js.INode
	kept    []kept
	copies  []copyOf
	taken   int  // so many properties were copied to it
	indexed bool // read under names that are not known
	bound   bool // made by bind: has its receiver, and its first arguments
	first   []argument
}

// maxAhead is the number of places that room is made for before there are any. Ordinary code has one for 20 bytes.
const maxAhead = 1 << 14

func newGraph(size int) *graph {
	g := &graph{limit: stepsFor(size), nodes: make([]place, 2, min(64+size/16, maxAhead))}
	g.nodes[fromAway].mask = meaning.Unknown
	return g
}

// pairOf is a pair of two places. No place that matters has the number 0, and so no pair is 0.
func pairOf(x, y node) uint64 { return uint64(uint32(x))<<32 | uint64(uint32(y)) }

func (g *graph) newNode() node {
	g.nodes = append(g.nodes, place{})
	return node(len(g.nodes) - 1)
}

func (g *graph) newObject(origin js.INode) *object {
	o := &object{id: int32(len(g.objects)), origin: origin}
	g.objects = append(g.objects, o)
	return o
}

// holding returns a new place that holds an object.
func (g *graph) holding(o *object) node {
	n := g.newNode()
	g.addObject(n, o.id)
	return n
}

// meaningAt returns a new place that holds meanings.
func (g *graph) meaningAt(m meaning.Set) node {
	switch m {
	case meaning.Nothing:
		return noValue
	case meaning.Unknown:
		return fromAway
	}
	n := g.newNode()
	g.addMask(n, m)
	return n
}

func (g *graph) enqueue(n node) {
	if p := &g.nodes[n]; !p.queued {
		p.queued = true
		g.queue = append(g.queue, n)
	}
}

func (g *graph) addMask(n node, m meaning.Set) {
	p := &g.nodes[n]
	if n <= fromAway || m&^p.mask == 0 {
		return
	}
	p.fresh |= m &^ p.mask
	p.mask |= m
	g.enqueue(n)
}

// maxObjects is the number of objects in one place that are told apart. Any further one counts as handed to
// what is not known, as it would be if it were written into an object from elsewhere.
const maxObjects = 48

func (g *graph) addObject(n node, id int32) {
	p := &g.nodes[n]
	if n <= fromAway {
		return
	}
	bit := uint64(1) << (id & 63)
	if p.maybe&bit != 0 && slices.Contains(p.objects, id) {
		return
	}
	if len(p.objects) >= maxObjects {
		g.addMask(n, meaning.Unknown)
		g.crowded(g.objects[id])
		return
	}
	p.objects = append(p.objects, id)
	p.maybe |= bit
	g.enqueue(n)
}

// flow lets all values of a place arrive at another, now and later.
func (g *graph) flow(from, to node) {
	if from == noValue || to <= fromAway || from == to {
		return
	}
	if from == fromAway {
		g.addMask(to, meaning.Unknown)
		return
	}
	p := &g.nodes[from]
	if len(p.to) < 8 {
		if slices.Contains(p.to, to) {
			return
		}
	} else if !g.edges.add(pairOf(from, to)) {
		return
	}
	p.to = append(p.to, to)
	g.addMask(to, p.mask)
	for _, id := range g.nodes[from].objects {
		g.addObject(to, id)
	}
}

// watch tells w what is at a place, now and later.
func (g *graph) watch(n node, w watcher) {
	switch n {
	case noValue:
		return
	case fromAway:
		w.meanings(meaning.Unknown)
		return
	}
	g.nodes[n].watchers = append(g.nodes[n].watchers, w)
	if m := g.nodes[n].mask; m != 0 {
		w.meanings(m)
	}
	for i := 0; i < len(g.nodes[n].objects); i++ { // it may grow
		w.object(g.objects[g.nodes[n].objects[i]])
	}
}

// The work for one file is bounded by its size, and by maxSteps in all. Code of ordinary bundles takes up to 10
// steps for each byte, and the densest of them 50.
const (
	minSteps     = 1 << 18
	stepsPerByte = 128
	maxSteps     = 16 << 20
	maxCopying   = 5000 // what recurses has to end before the stack does
)

// stepsFor is the number of steps that code of a size may take.
func stepsFor(size int) int { return min(minSteps+stepsPerByte*size, maxSteps) }

// spent reports whether the work for the file is more than may be.
func (g *graph) spent() bool {
	return g.steps > g.limit || g.copied > g.limit/8
}

// settle hands values on until nothing changes. It reports false if that is too much work.
func (g *graph) settle() bool {
	for len(g.queue) > 0 {
		n := g.queue[len(g.queue)-1]
		g.queue = g.queue[:len(g.queue)-1]
		p := &g.nodes[n]
		p.queued = false
		m, set := p.fresh, p.objects[p.handedOn:]
		p.fresh, p.handedOn = 0, len(p.objects)
		to, watchers := p.to, p.watchers
		g.steps += 1 + (len(to)+len(watchers))*(1+len(set))
		if g.spent() {
			return false
		}
		for _, t := range to {
			g.addMask(t, m)
			for _, id := range set {
				g.addObject(t, id)
			}
		}
		for _, w := range watchers {
			if m != 0 {
				w.meanings(m)
			}
			for _, id := range set {
				w.object(g.objects[id])
			}
		}
	}
	return !g.spent()
}
