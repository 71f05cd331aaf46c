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

// report records something that is imported, once for each place of the code.
func (b *builder) report(at js.INode, kind plugin.Kind, text string, computed bool) {
	b.reportAt(at, plugin.Import{Kind: kind, Specifier: text, Computed: computed})
}

func (b *builder) reportAt(at js.INode, imp plugin.Import) {
	key := string(imp.Kind) + "\x00" + imp.Specifier
	if b.reported[key] == nil {
		b.reported[key] = map[js.INode]bool{}
	}
	if b.reported[key][at] {
		return
	}
	b.reported[key][at] = true
	imp.Line = b.lineOf(syntax.FirstPiece(at))
	if imp.Computed {
		imp.Specifier = clipText(imp.Specifier)
	}
	b.found = append(b.found, imp)
}

// handOn remembers a place from which a value goes to where it cannot be followed.
func (b *builder) handOn(m meaning.Set, at js.INode) {
	if at == nil {
		return
	}
	if key := (handKey{m, at}); !b.handed[key] {
		b.handed[key] = true
		b.hands = append(b.hands, key)
	}
}

// handKey is a place from which what has a meaning is handed on.
type handKey struct {
	m  meaning.Set
	at js.INode
}

// reportHands records what was handed on: once for each meaning. Who has a value may give it back anywhere,
// and the places after the first would say the same; so would a call of what may be one of many values, if it only
// may evaluate texts or be some member. One that names the value itself goes before any to which it came, and a
// known value before its members: who has the one has the other.
func (b *builder) reportHands() {
	named := func(h handKey) bool {
		v, ok := syntax.WithoutParens(h.at).(*js.Var)
		return ok && syntax.DeclarationOf(v).Decl == js.NoDecl && meaning.Free[syntax.PlainIdentifier(v.Data)]&h.m != 0
	}
	whole := func(h handKey) bool { return h.m&meaning.SomeMember == 0 }
	rest := func(handKey) bool { return true }
	var out meaning.Set
	for _, next := range []func(handKey) bool{named, whole, rest} {
		for _, h := range b.hands {
			if h.m&^meaning.WithMembers(out) == 0 || !next(h) {
				continue
			}
			out |= h.m
			b.report(h.at, plugin.Require, syntax.PrintCode(h.at)+", handed on", true)
		}
	}
	b.told |= meaning.WithMembers(out) & (meaning.Evaluates | meaning.SomeMember)
}

// writeKnown records writes that change how modules are loaded.
func (b *builder) writeKnown(m meaning.Set, w *writer) {
	text := func() string { return syntax.PrintCode(w.at) + ", replaced" }
	switch {
	case w.at == nil:
	case m&meaning.Wrappers != 0, m&meaning.ModuleSpace != 0 && w.name != nil && *w.name != "exports":
		b.report(w.at, plugin.Require, text(), true)
	case m&meaning.Reports != 0 && w.name != nil && meaning.Members[meaning.Reports][*w.name] == meaning.OpensFiles:
		b.report(w.at, plugin.Builtin, "fs", false)
	}
	if m&meaning.Loaders != 0 { // it is called with modules
		b.g.watch(w.value, &loaderOf{b, w})
	}
}

// loaderOf is a function that loads files of an extension.
type loaderOf struct {
	b *builder
	w *writer
}

func (*loaderOf) meanings(meaning.Set) {}
func (l *loaderOf) object(o *object) {
	if o.fn != nil && len(l.b.partsOf(o.fn).params) > 0 {
		l.b.g.addMask(l.b.partsOf(o.fn).params[0], meaning.ModuleItself)
	}
}

// reportCall records what a call imports.
func (b *builder) reportCall(c *call) {
	m := c.means
	if c.tag {
		if m&meaning.Requires != 0 {
			b.report(c.node, plugin.Require, syntax.PrintCode(c.node), true)
		}
		if m&meaning.Evaluates != 0 {
			b.report(c.node, plugin.Dynamic, syntax.PrintCode(c.node), true)
		}
		return
	}
	if m&meaning.SomeMember != 0 && (b.picks(c) || b.first(c, m&meaning.SomeMember)) {
		b.report(c.node, plugin.Require, syntax.PrintCode(c.callee), true)
	}
	if m&^(meaning.Unknown|meaning.PerhapsEvaluates) == 0 && c.name == "binding" && len(c.args) > 0 {
		if target, ok := b.foldArg(c.args[0].at, c); ok && slices.Contains(meaning.Bindings, target) {
			b.addTarget(meaning.Builtins, c, 0)
		}
	}
	if m&meaning.Executes != 0 {
		b.report(c.node, plugin.Builtin, "child_process", false)
	}
	if m&meaning.OpensFiles != 0 {
		b.report(c.node, plugin.Builtin, "fs", false)
	}
	if m&meaning.Extends != 0 && len(c.args) > 0 && !isFalse(c.args[0].at) {
		b.reportExtension(c.node, c.args[0].at, c.env)
	}
	if m&meaning.Compiles != 0 {
		b.report(c.node, plugin.Dynamic, syntax.PrintCode(c.callee), true)
	}
	if m&meaning.LoadsFile != 0 {
		b.addTarget(meaning.LoadsFile, c, 1)
	}
	if m&meaning.Opens != 0 {
		b.addTarget(meaning.Opens, c, 1)
	}
	if m&(meaning.Evaluates|meaning.PerhapsEvaluates) != 0 {
		b.reportTexts(c, m&meaning.Evaluates != 0)
	} else if m&^meaning.Unknown == 0 {
		b.reportMade(c)
	}
	imports := m & (meaning.Requires | meaning.Loads | meaning.Resolves | meaning.Builtins | meaning.Imports)
	imports.Each(func(one meaning.Set) { b.addTarget(one, c, 0) })
}

// picks reports whether a call is one of a member, under a name that is not known, of a known value and nothing else.
func (b *builder) picks(c *call) bool {
	if !c.anyName || c.receiver <= fromAway {
		return false
	}
	p := &b.g.nodes[c.receiver]
	return p.mask&meaning.Unknown == 0 && len(p.objects) == 0
}

// first reports whether a call is to be told of whose target is not known. What is called may be something
// else besides, where many values go: of such calls the first says that one of them may be what imports.
func (b *builder) first(c *call, m meaning.Set) bool {
	if c.means&meaning.Unknown == 0 && !c.known {
		return true
	}
	for at := range b.vague {
		if at.at == c.node {
			return true
		}
	}
	if b.told&m == m {
		return false
	}
	b.told |= m
	b.vague[handKey{m, c.node}] = true
	return true
}

// reportTexts records what is evaluated. What may be the constructor of anything is taken for one of
// functions only by its text.
func (b *builder) reportTexts(c *call, sure bool) {
	for i, a := range c.args {
		text, ok := b.foldIn(a.at, c.env)
		switch {
		case ok && !sure && !c.isNew && i < len(c.args)-1 && !strings.ContainsAny(text, "=["):
			// The name of a parameter: only what it is if it is not given could be code.
		case ok && !a.spread && (isThisText(text) || text == "constructor"): // which gives nothing
		case ok && !a.spread && holdsImport().MatchString(text):
			b.reportAt(a.at, plugin.Import{Kind: plugin.Dynamic, Specifier: text, Computed: true})
		case sure && (!ok || a.spread) && !isFunctionOrObject(a.at) && b.first(c, meaning.Evaluates):
			b.reportAt(c.node, plugin.Import{Kind: plugin.Dynamic, Specifier: syntax.PrintCode(c.node), Computed: true})
		}
	}
}

// reportExtension records native code that a library loads.
func (b *builder) reportExtension(at js.INode, of js.IExpr, in *env) {
	if target, ok := b.foldIn(of, in); ok {
		b.reportAt(at, plugin.Import{Kind: plugin.Native, Specifier: target})
		return
	}
	b.report(at, plugin.Native, syntax.PrintCode(of), true)
}

func isFalse(e js.INode) bool {
	switch x := syntax.WithoutParens(e).(type) {
	case *js.LiteralExpr:
		return x.TokenType == js.FalseToken
	case *js.UnaryExpr: // !1
		l, ok := x.X.(*js.LiteralExpr)
		return ok && x.Op == js.NotToken && string(l.Data) == "1"
	}
	return false
}

func isFunctionOrObject(e js.INode) bool {
	switch syntax.WithoutParens(e).(type) {
	case *js.FuncDecl, *js.ArrowFunc, *js.ObjectExpr, *js.ArrayExpr:
		return true
	}
	return false
}

// madeOfCode matches a text that is code which imports, or reaches what imports.
var madeOfCode = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(require|import|process|module|globalThis|eval)\b\s*([.(\[]|$)`)
})

// reportMade records F(text)(), whatever F is, if the text is code that imports.
func (b *builder) reportMade(c *call) {
	inner, ok := syntax.WithoutParens(c.callee).(*js.CallExpr)
	if !ok || len(inner.Args.List) == 0 {
		return
	}
	last := inner.Args.List[len(inner.Args.List)-1].Value
	if text, ok := b.foldIn(last, c.env); ok && madeOfCode().MatchString(text) {
		b.reportAt(last, plugin.Import{Kind: plugin.Dynamic, Specifier: text, Computed: true})
	}
}

// addTarget records an import of the i-th argument.
func (b *builder) addTarget(m meaning.Set, c *call, i int) {
	kind := kindOf[m]
	args := c.args
	if i >= len(args) {
		if len(args) > 0 || m != meaning.Requires && m != meaning.Resolves && m != meaning.Builtins {
			b.report(c.node, kind, "an argument that is not there", true)
		} else if m == meaning.Requires {
			b.report(c.node, kind, "nothing", true)
		}
		return
	}
	for _, a := range args[:i+1] {
		if a.spread {
			b.report(a.at, kind, "a spread argument", true)
			return
		}
	}
	if target, ok := b.foldIn(args[i].at, c.env); ok {
		b.reportAt(args[i].at, plugin.Import{Kind: kind, Specifier: target, Optional: c.optional})
		return
	}
	if b.first(c, m) {
		b.report(args[i].at, kind, syntax.PrintCode(args[i].at), true)
	}
}
