package jsscan

import (
	"cmp"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/plugin"
)

// agree fails unless tokens is not sure, or finds what the tree does. Code that esbuild
// does not read is no program, and may give anything.
func agree(t *testing.T, code []byte) (decided bool) {
	t.Helper()
	got, decided := tokens(code)
	if !decided {
		return false
	}
	want, err := ByTree("x.js", code)
	if err != nil {
		_, unread := older("x.js", code)
		module, _ := syntax(code, false)
		script, _ := syntax(code, true)
		if unread == nil && (err != errHTML || module != nil || script != nil) { // else nothing tells whether the mark is in a string
			t.Errorf("%q: the tree alone does not read it: %v", code, err)
		}
		return true
	}
	// The tree may have no answer where the tokens have one.
	want = slices.DeleteFunc(want, func(i plugin.Import) bool { return i.Specifier == inPart })
	lines := !slices.ContainsFunc(want, func(i plugin.Import) bool { return i.Line == 0 }) // of code that was not rewritten
	sorted := func(list []plugin.Import) []plugin.Import {
		list = slices.Clone(list)
		if !lines {
			for i := range list {
				list[i].Line = 0
			}
		}
		slices.SortFunc(list, func(a, b plugin.Import) int {
			return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Specifier, b.Specifier))
		})
		return list
	}
	got, want = sorted(got), sorted(want)
	if _, err := older("x.js", code); !slices.Equal(got, want) && err == nil {
		t.Errorf("%q: by tokens %v, by the tree %v", code, got, want)
	}
	return true
}

// Code that tokens is sure of, one piece for each rule. Were it not sure of any of them it
// would find nothing wrong, and save no time.
var plain = []string{
	``,
	`const a = require('a'), b = require ( /* x */ "b" ) // c`,
	"#!/usr/bin/env node\nrequire('a'); return 1",
	`import 'a'; import b from 'b'; import * as c from 'c'; import d, { e, f as g } from "d"`,
	"import { a, // first\n b } from 'a'\nexport { b } from './b.js'\nexport * from 'c'; export * as d from 'd'\nexport { a as default }",
	`export default class A extends B { constructor(x) { super(x) } static #y = 1; get z() { return this.#y } }`,
	`const x = await import('x'); x.y(import.meta.url)`,
	`module.exports = { a: process.env.A, b: process.cwd() }; module.exports.c = process.platform`,
	`if (typeof module !== 'undefined' && typeof require === 'function') exports.x = global.x`,
	`a.require('x'); a.import('y'); a.process.b; this.module = 1; a.eval(1)`,
	`function f() { return arguments.length } const g = function* h(a) { yield* arguments }`,
	`a.constructor.name; if (a.constructor === Object) Function.prototype.call.call(b); c instanceof Function`,
	`class A { m() { return this } n() { return this; } } f({ a: function () { return this } })`,
	`x = a / b / c; y = f(x) / 2; z = a[1] / 2; w = [1, /[/'"]/g, x => /a/]; return /require\('x'\)/.test(y)`,
	"x = `a ${b + `${c}` + { d: 1 }.d} require('x')`; y = x[`${a}b`]; z = x[f('a', 'b')], w = x['a' + b]",
	"x = ['a', 'b'].map(c => c ? ['d'] : ['e', 'f']); for (const k of ['a', 'b']) yield [k, f('x')]",
	`x = "it's", y = 'con\x73t', z = '\
'; w = 1.
require('a'); 1..toFixed(); 0x1f; 1_000n; .5 + 1.5e-3; a ? .5 : 1; a?.b?.[c]`,
	`i++ + ++j - --k; a ||= b ?? c ** d >>> 2; ({ ...a, [b]: 1, async *c() {}, 'd': 2, 3: 4 })`,
	`key === 'constructor' || key === "createRequire"; switch (a) { case 'b': default: break }`,
	"label: for (;;) { if (a) continue label; else break label }\ndo { x() } while (y)",
	`// a "quote, a ${ and a /
/* an apostrophe's
'*/ require('a') // <!-- --> in a comment`,
}

// Code that tokens must leave to the tree, whatever the tree makes of it: one piece for
// each way in which it might be taken for something else.
var unsure = []string{
	// a slash after what takes grammar to tell: taken for a division, all else is a template
	"if (a) /`/.test(b), require('x')//`",
	"while (a) /`/.test(b), require('x')//`",
	"for (;a;) /`/.test(b), require('x')//`",
	"for await (a of b) /`/.test(c), require('x')//`",
	"do ; while (a) /`/.test(require('x'))//`",
	"a\n/`/g.b(require('x'))//`",
	"var a, b\n/`/.test(require('x'))//`",
	"break a\n/`/.test(require('x'))//`",
	"f()\n/`/.test(require('x'))//`",
	"debugger\n/`/.test(require('x'))//`",
	"a = b /*\n*/ /`/.test(require('x'))//`",
	"{}\n/`/.test(require('x'))//`",
	"{} /`/.test(require('x'))//`",
	"x = {} / 2; require('x')",
	"a++ / 2; require('x')",
	"a\n++\n/`/.b; require('x')//`",
	"of /`/; require('x')//`", "yield /`/; require('x')//`", "await /`/; require('x')//`", "let /`/; require('x')//`", "break /`/; require('x')//`",
	"class A extends /`/ {} require('x')//`",
	// a point after a number
	"01.require('x')", "08.5; require('x')", "1..constructor('x')", "1.0.constructor('x')", "0x1.constructor('x')", "1n.constructor('x')", "1e5.constructor('x')", ".5.constructor('x')",
	// characters
	"require\u00a0('x')",
	"requ\\u0069re('x')",
	"// a\u2028require('x')",
	"/* a\u2029*/ require('x')",
	"ñ = require('x')",
	"// a\rrequire(x)",
	"a <!-- b\nrequire('x')",
	"a --> b\nrequire('x')",
	"@d class A {}",
	"'a\nrequire('x')'",
	"`a",
	"/* a",
	"/a\n/",
	"(", ")", "(]", "{)", "`${", "}",
	strings.Repeat("(", maxNesting+1) + strings.Repeat(")", maxNesting+1),
	// words
	"r = require; r('x')",
	"require(x)", "require('x', y)", "require(`x`)", "require?.('x')", "require('x' + y)", "require.resolve('x')", "new require('x')",
	"function f(require) { require('x') }",
	"typeof require\n('x')",
	"require('module')", "require('node:process')", "import('module')", "import m from 'module'", "export * from 'process'",
	"import require from 'x'", "import { require } from 'x'", "import { a as process } from 'x'", "export { require }",
	"import a from 'a' with { type: 'json' }", "import type { a } from 'a'", "import a", "import defer * as a from 'a'",
	"import(x)", "import('a', b)", "import.meta.resolve('x')", "import.meta['resolve']", "x = import.meta",
	"{ import 'a' }", "x = { export: 1 }",
	"process.binding('fs')", "process['binding']", "p = process", "process?.binding", "process.mainModule", "process.bind(1)", "({ process })",
	"module.require('x')", "module.children", "f(module)", "module[x]", "module.constructor",
	"globalThis.process", "globalThis[x]", "f(globalThis)", "global.require", "global.eval",
	"eval('x')", "a = eval", "new Function('x')", "Function.bind(1)", "Function('x')", "typeof Function('x')", "a instanceof Function('x')()",
	"a.constructor('x')", "new a.constructor('x')", "f = a.constructor", "(a.constructor)('x')", "a.constructor.constructor('x')",
	"a.constructor.bind(1)('x')", "({ constructor: f } = a)", "({ constructor } = a)", "a.constructor => 1",
	"a.binding('fs')", "(a.binding)('fs')", "a.createRequire(b)", "a.getBuiltinModule('fs')", "a._linkedBinding('fs')", "a.mainModule",
	"with (a) binding('fs')",
	"arguments[1]('x')", "() => arguments", "class A { b = arguments }", "f()\n{ arguments[1]('x') }", "function f() {} g(1)\n{ arguments[1]('x') }",
	"(function () { return this })().x", "(function () { return this; }\n)/* a */()", "function () { return this }?.()",
	// names of properties
	"a['constructor']('x')", "a['con' + 'structor']('x')", "a[('constructor')]('x')", "a[b, 'constructor']('x')", "a[(b, 'constructor')]('x')",
	"a['con' + (b, 'structor')]('x')", "a[`constructor`]('x')", "a[`${'con'}structor`]('x')", "a['con\\x73tructor']('x')", "a['con\\\nstructor']('x')",
	"a[b ? 'constructor' : c]", "a?.['con' + 'structor']('x')", "await['con' + 'structor']('x')", "a['binding']('fs')", "a['bind' + 'ing']('fs')",
	"({ 'constructor': f } = a)", "({ ['con' + 'structor']: f } = a)", "({ b, ['con' + 'structor']: f } = a)", "({ '\\x63onstructor': f } = a)",
	`({ "'constructor'": f } = a)`, "a[/* b */'constructor'/* c */]", "a['constructor'/* c */]('x')",
	// what is no code
	"this is prose, which it is", "a b", "1 2", "'a' 'b'", "x 'a'",
}

func TestTokens(t *testing.T) {
	for _, code := range plain {
		if !agree(t, []byte(code)) {
			t.Errorf("not sure of %q", code)
		}
	}
	for _, code := range unsure {
		if found, decided := tokens([]byte(code)); decided {
			t.Errorf("sure of %q: %v", code, found)
		}
	}
	for _, c := range corpus {
		if agree(t, []byte(c.code)) && c.want == "!" {
			t.Errorf("%s: sure of it", c.name)
		}
	}
}

// Pieces of code that are put into other code: what changes the tokens around it, and what
// imports.
var pieces = []string{"/", "//", "/*", "*/", "/x/", "'", "`", "${", "}", "{", ")", "(", "[", "]", "\n", "\\", ".", "?.", "...", ",", ";", "=", "=>", ":", "#", "++", "<!--", "-->",
	"1.", "0x1", ".5", "x\n", "if (a)", " new ", " typeof ", " of ", " yield ", " await ", " return ", " class ", " static ", " function ", " in ",
	"constructor", "binding", "return this", "arguments", "'constructor'", "['con' + 'structor']", "\\u0061", "require('x')", "(require)('y')", "import('z')", "process.binding('fs')"}

// Pieces are put into every place of all code, and further ones into some of that;
// $HALLMARK_SPLICES is how many times (1).
func TestTokensSpliced(t *testing.T) {
	times, _ := strconv.Atoi(cmp.Or(os.Getenv("HALLMARK_SPLICES"), "1"))
	all := slices.Clone(plain)
	for _, c := range corpus {
		all = append(all, c.code)
	}
	decided, tried := 0, 0
	for round := range times {
		random := rand.New(rand.NewPCG(1, uint64(round)))
		splice := func(code string, at int) string { return code[:at] + pieces[random.IntN(len(pieces))] + code[at:] }
		for _, code := range all {
			for at := range len(code) + 1 {
				spliced := splice(code, at)
				for range random.IntN(3) {
					spliced = splice(spliced, random.IntN(len(spliced)+1))
				}
				if tried++; agree(t, []byte(spliced)) {
					decided++
				}
			}
		}
	}
	t.Logf("sure of %d of %d", decided, tried)
	if decided < tried/20 {
		t.Error("few of them are decided")
	}
}

// Where tokens is sure, it finds what the tree does.
func FuzzTokens(f *testing.F) {
	for _, code := range slices.Concat(plain, unsure) {
		f.Add([]byte(code))
	}
	for _, c := range corpus {
		f.Add([]byte(c.code))
	}
	f.Fuzz(func(t *testing.T, code []byte) { agree(t, code) })
}
