package jsscan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// corpus is code that evades scanners, or alarms them for nothing, with what it imports:
// KIND:SPECIFIER, or KIND:~ if the target is computed; "!" if it must not be read.
var corpus = []struct{ name, code, want string }{
	// What a regular expression finds too.
	{"require", `const a = require('axios')`, "require:axios"},
	{"double quotes", `require("axios")`, "require:axios"},
	{"white space", "require ( \n 'axios' )", "require:axios"},
	{"import default", `import a from 'axios'`, "import:axios"},
	{"import names", `import { a as b, c } from "axios"`, "import:axios"},
	{"import namespace", `import * as a from 'axios'`, "import:axios"},
	{"export from", `export { a } from 'axios'`, "export:axios"},
	{"export all", `export * from 'axios'`, "export:axios"},
	{"export all as", `export * as a from 'axios'`, "export:axios"},
	{"import()", `const a = await import('axios')`, "import():axios"},
	{"node:", `import fs from 'node:fs'`, "import:node:fs"},
	{"a subpath", `require('fs/promises')`, "require:fs/promises"},
	{"a scope", `require('@acme/notes/lib/x.js')`, "require:@acme/notes/lib/x.js"},
	{"JSON", `require('./data.json')`, "require:./data.json"},
	{"a native addon", `require('./build/Release/x.node')`, "require:./build/Release/x.node"},

	// What a regular expression does not find.
	{"import for its effects", `import 'axios'`, "import:axios"},
	{"minified import", `import{a}from"axios";import*as b from"b"`, "import:axios import:b"},
	{"minified export", `export*from"axios"`, "export:axios"},
	{"a template", "require(`axios`)", "require:axios"},
	{"a template in import()", "import(`axios`)", "import():axios"},
	{"concatenation", `require('ax' + 'ios')`, "require:axios"},
	{"concatenation in a template", "require(`a${'x' + `io`}s`)", "require:axios"},
	{"escapes", `require('\x61\u0078i\u{6f}s')`, "require:axios"},
	{"a line continued", "require('ax\\\nios')", "require:axios"},
	{"octal escapes", `require('\141xios')`, "require:axios"},
	{"an escape in the name", `requ\u0069re('axios')`, "require:axios"},
	{"a comment inside", `require/**/(/* x */'axios'/* y */)`, "require:axios"},
	{"an optional call", `require?.('axios')`, "require:axios"},
	{"a trailing comma", `require('axios',)`, "require:axios"},
	{"parentheses", `(require)('axios')`, "require:axios"},
	{"the comma operator", `(0, require)('axios')`, "require:axios"},
	{"call", `require.call(null, 'axios')`, "use:~"},
	{"apply", `require.apply(null, ['axios'])`, "use:~"},
	{"bind", `const r = require.bind(null); r('axios')`, "use:~"},
	{"another name", `const r = require; r('axios')`, "require:axios"},
	{"a name of a name", `const r = require, q = r; let s; s = q; s('axios')`, "require:axios"},
	{"a name before it is given", `function f() { return r('axios') } var r = require`, "require:axios"},
	{"a name in destructuring", `const { require: r } = module; r('axios')`, "require:axios"},
	{"assigned in destructuring", `let r; ({ require: r } = module); r('axios')`, "use:~"},
	{"a choice", `const r = typeof require === 'function' ? require : null; r('axios')`, "require:axios"},
	{"a default", `const r = globalThis.x || require; r('axios')`, "require:axios"},
	{"a parameter", `(function (r) { r('axios') })(require)`, "require:axios"},
	{"an arrow's parameter", `(r => r('axios'))(require)`, "require:axios"},
	{"var require", `var require; require('axios')`, "require:axios"},
	{"module.require", `module.require('axios')`, "require:axios"},
	{"module by index", `module['require']('axios')`, "require:axios"},
	{"module by parts", `module['req' + 'uire']('axios')`, "require:axios"},
	{"require.main", `require.main.require('axios')`, "require:axios"},
	{"process.mainModule", `process.mainModule.require('axios')`, "require:axios"},
	{"global.process", `globalThis.process.mainModule.require('axios')`, "require:axios"},
	{"module.constructor", `module.constructor._load('axios')`, "use:~"},
	{"Module._load", `const M = require('module'); M._load('axios')`, "require:module use:~"},
	{"Module._load, imported", `import M from 'node:module'; M._load('axios')`, "import:node:module use:~"},
	{"createRequire",
		`import { createRequire } from 'module'; const require = createRequire(import.meta.url); require('axios')`,
		"import:module require:axios"},
	{"createRequire by another name", `import { createRequire as c } from 'node:module'; c(import.meta.url)('axios')`,
		"import:node:module require:axios"},
	{"createRequire of a namespace", `import * as m from 'node:module'; m.createRequire(import.meta.url)('axios')`,
		"import:node:module require:axios"},
	{"createRequire, required", `const { createRequire: c } = require('module'); const r = c(__filename); r('axios')`,
		"require:module require:axios"},
	{"createRequire, wrapped",
		`const __toESM = (mod, target) => (target = Object.create(Object.getPrototypeOf(mod)), ` +
			`Object.defineProperty(target, "default", { value: mod, enumerable: true })); ` +
			`const m = __toESM(require("module")); const r = m.default.createRequire(__filename); r('axios')`,
		"require:module use:~"},
	{"createRequire, awaited", `const { createRequire: c } = await import('node:module'); c('/x')('axios')`,
		"import():node:module require:axios"},
	{"require.resolve", `require.resolve('axios')`, "resolve:axios"},
	{"import.meta.resolve", `import.meta.resolve('axios')`, "resolve:axios"},
	{"getBuiltinModule", `process.getBuiltinModule('fs')`, "builtin module:fs"},
	{"getBuiltinModule, taken", `const { getBuiltinModule: g } = process; g('child_process')`,
		"builtin module:child_process"},
	{"process.binding", `process.binding('spawn_sync')`, "builtin module:spawn_sync"},
	{"dlopen", `process.dlopen(module, './x.node')`, "dlopen:./x.node"},
	{"inside a template", "`${require('axios')}`", "require:axios"},
	{"inside a class", `class A { static { require('a') } #b = require('b'); [require('c')]() {} }`,
		"require:a require:b require:c"},
	{"the name of a class's member",
		`class A { [require(x)]() {} static [process.binding('fs')] = 1; get [(a = module.require)('b')]() {} }`,
		"require:~ builtin module:fs require:b"},
	{"a parameter's default", `function f(a = require('axios')) {}`, "require:axios"},
	{"code that nothing reaches", `if (false) { require('axios') }`, "require:axios"},
	{"after a regular expression", `x = /['"]/; require('axios')`, "require:axios"},
	{"after a division", `x = a / b; require('axios'); y = c / d`, "require:axios"},
	{"a script that returns", `return require('axios')`, "require:axios"},
	{"a hashbang", "#!/usr/bin/env node\nrequire('axios')", "require:axios"},
	{"a script that returns, with a hashbang", "#!/usr/bin/env node\nif (a) return require(b)", "require:~"},

	// Further ways to what a module is loaded with.
	{"a name in a nested pattern", `const { constructor: { _load: l } } = module; l('axios')`, "use:~ use:~"},
	{"a pattern's rest", `const { ...m } = module; m.require('axios')`, "use:~"},
	{"a pattern in a parameter", `import('module').then(({ createRequire: c }) => c('/x')('axios'))`,
		"import():module use:~"},
	{"a function called with this", `(function (m) { m.require('axios') }).call(this, module)`, "use:~"},
	{"a module of the cache", `require.cache[k].require('axios')`, "use:~"},
	{"the cache, taken", `const c = require.cache; for (const k in c) c[k].require('axios')`, "use:~"},
	{"the cache, handed on", `for (const m of Object.values(require.cache)) m.require('axios')`, "use:~"},
	{"the cache's names", `for (const k of Object.keys(require.cache)) delete require.cache[k]`, "use:~ use:~"},
	{"a child", `module.children[0].require('axios')`, "use:~"},
	{"the prototype", `module.__proto__.require('axios')`, "use:~"},
	{"the prototype, by function", `Object.getPrototypeOf(module).require.call(module, 'axios')`,
		"use:~ use:~"},
	{"Reflect", `Reflect.get(module, 'require')('axios')`, "use:~"},
	{"Reflect, computed", `Reflect.get(module, k)('axios')`, "use:~"},
	{"a new Module", `const M = require('module'); new M('x').require('axios')`, "require:module use:~"},
	{"_compile", `module._compile(text, '/x.js')`, "use:~"},
	{"module.load", `module.load('/x.js')`, "use:~"},
	{"an extension's loader", `require.extensions['.js'](module, '/x.js')`, "use:~ use:~"},
	{"a loader that is replaced",
		`const old = require.extensions['.js']; require.extensions['.js'] = (m, f) => old(m, f)`, "use:~ use:~"},
	{"hooks", `import { register } from 'node:module'; register('data:text/javascript,1')`,
		"import:node:module use:~ use:~"},
	{"module handed on", `f(module)`, "use:~"},
	{"module exported", `exports.m = module`, "use:~"},
	{"the namespace handed on", `exports.m = require('module')`, "require:module use:~"},
	{"the namespace exported", `export * from 'module'`, "export:module use:~"},
	{"a name of it exported", `import { createRequire } from 'module'; export { createRequire as c }`,
		"import:module use:~"},
	{"a made require exported",
		`import { createRequire } from 'module'; export const { x, ...r } = 0, q = createRequire('/x')`,
		"import:module use:~"},
	{"a made require handed on", `import { createRequire } from 'module'; f(createRequire('/x'))`,
		"import:module use:~"},
	{"a property handed on", `f(module.require)`, "use:~"},
	{"a property of a property", `const o = [module.constructor._load]; o[0]('axios')`, "use:~"},
	{"a property of module, taken", `const q = module[x]; q('axios')`, "use:~"},
	{"a property of process, taken", `const q = process[x]; q('fs')`, "use:~"},
	{"a property of process, used", `process[x].write('hello')`, "use:~"},
	{"process by parts", `globalThis['pro' + 'cess']['bin' + 'ding']('fs')`, "builtin module:fs"},
	{"process by a variable", `globalThis[k].binding('fs')`, "use:~"},
	{"a symbol of the global object", `const api = globalThis[Symbol.for('api')]; api[k](1)`, ""},
	{"process of this", `(function () { return this })()['process'].binding('fs')`, "use:~"},
	{"process of Function", `Function('return this')().process.binding('fs')`, "builtin module:fs"},
	{"the global object of Function", `const root = self || Function('return this')(); root.x = 1`, ""},
	{"process handed on", `(p => p.binding('fs'))(Object.assign({}, process))`, "use:~"},
	{"binding of something else", `a.binding('text')`, ""},
	{"execve", `process.execve('/bin/sh')`, "builtin module:child_process"},
	{"a function's constructor", `(() => {}).constructor('return process')().exit()`, "use:~"},
	{"a constructor's constructor", `''.constructor.constructor('return import("axios")')()`, "use:~ use:~"},
	{"a copy of its own", `return new this.constructor(options)`, "use:~"},
	{"with", `with (process) { binding('fs') }`, "use:~ use:~"},
	{"call by index", `require['call'](null, 'axios')`, "use:~"},
	{"apply by index", `require['ap' + 'ply'](null, ['axios'])`, "use:~"},
	{"escapes in a text", `this['\x72equire'] || globalThis['\x70rocess']['\x62inding']('fs')`, "builtin module:fs"},

	// What compilers write.
	{"TypeScript, CommonJS",
		`"use strict"; Object.defineProperty(exports, "__esModule", { value: true }); const axios_1 = ` +
			`__importDefault(require("axios")); axios_1.default.get()`, "require:axios"},
	{"TypeScript, import()", `Promise.resolve().then(() => __importStar(require('axios')))`, "require:axios"},
	{"TypeScript, export", `__exportStar(require("axios"), exports)`, "require:axios"},
	{"esbuild's shim", shimCode + `; __require("axios")`, "require:axios"},
	{"esbuild's shim, minified",
		`var R=(e=>typeof require<"u"?require:typeof Proxy<"u"?new Proxy(e,{get:(t,r)=>(typeof ` +
			`require<"u"?require:t)[r]}):e)(function(e){if(typeof require<"u")return require.apply(this,` +
			`arguments);throw Error('Dynamic require of "'+e+'" is not supported')});R("axios")`, "require:axios"},

	// Newer than the syntax tree.
	{"import attributes", `import a from './a.json' with { type: 'json' }`, "import:./a.json"},
	{"using", `using a = require('axios')`, "require:axios"},
	{"a decorator", `class A { @d m() { return require('axios') } }`, "require:axios"},

	// Computed, or handed on.
	{"a variable", `require(name)`, "require:~"},
	{"a variable in import()", `import(name)`, "import():~"},
	{"a template with a variable", "import(`./${name}.js`)", "import():~"},
	{"joined", `require(['ax', 'ios'].join(''))`, "require:~"},
	{"joined of a variable", `require(['ax', x].join(''))`, "require:~"},
	{"a spread", `require(...a)`, "require:~"},
	{"handed on", `load(require)`, "use:~"},
	{"handed on by object", `vm.run(code, { require })`, "use:~"},
	{"handed on by property", `exports.load = require`, "use:~"},
	{"returned", `function f() { return require }`, "use:~"},
	{"createRequire handed on", `import { createRequire } from 'module'; f(createRequire)`, "import:module use:~"},
	{"apply of arguments", `function f() { return require.apply(this, arguments) }`, "use:~"},
	{"a property of module by a variable", `module[a]('axios')`, "use:~"},
	{"arguments of the script", `arguments[1]('axios')`, "use:~"},
	{"eval", `eval("require('axios')")`, "use:~"},
	{"indirect eval", `(0, eval)("require")('axios')`, "use:~"},
	{"Function", `new Function('s', 'return import(s)')('axios')`, "use:~"},
	{"a tag", "require`axios`", "use:~"},
	{"a shim that is none", strings.Replace(shimCode, "throw Error", "evil(require); throw Error", 1),
		"use:~ use:~ use:~ use:~"},

	// Nothing at all.
	{"a comment", "// require('axios')\n/* import 'axios' */", ""},
	{"a string", `x = "require('axios')"`, ""},
	{"a template's text", "x = `import 'axios'`", ""},
	{"a regular expression", `x = /require('axios')/`, ""},
	{"a property of the name", `a.require('axios'); a.import('axios')`, ""},
	{"a method of the name", `class A { require(x) {} import(x) {} }`, ""},
	{"a parameter of the name", `define(function (require) { require('axios') })`, ""},
	{"a function of the name", `function f() { function require(x) {} require('axios') }`, ""},
	{"browserify's modules", `({ 1: [function (require, module, exports) { require('./x') }, {}] })`, ""},
	{"a test for it", `if (typeof require === 'undefined') { x() }`, ""},
	{"its cache", `delete require.cache[x]; require.extensions`, "use:~"},
	{"arguments of a function", `function f() { return arguments[0]('axios') }`, ""},
	{"words in prose", `throw new Error("cannot import from this module; require it")`, ""},
	{"HTML in a comment of a script that returns", "/* <!-- --> */ return require('axios')", "require:axios"},
	{"HTML in a string", `x = '<!-- --> require'`, ""},
	{"no code that imports", `let x = 1 +`, ""},

	// Not to be read.
	{"HTML's comment", "a <!-- b\nrequire('axios')", "!"},
	{"the end of HTML's comment", "/* x */\n--> import('axios')\nimport('b')", "!"},
	{"HTML's comment in a class", "class A { [a <!-- require('axios')\n]() {} }", "!"},
	{"no JavaScript", `import from from 'axios' {`, "!"},
	{"another language", `use strict; my $x = require "axios";`, "!"},
}

const shimCode = `var __require = /* @__PURE__ */ ((x) => typeof require !== "undefined" ? require : typeof Proxy !== "undefined" ? new Proxy(x, {
  get: (a, b) => (typeof require !== "undefined" ? require : a)[b]
}) : x)(function(x) {
  if (typeof require !== "undefined") return require.apply(this, arguments);
  throw Error('Dynamic require of "' + x + '" is not supported');
})`

func TestCorpus(t *testing.T) {
	if len(corpus) < 60 {
		t.Fatalf("%d pieces of code", len(corpus))
	}
	for _, c := range corpus {
		found, err := File("x.js", []byte(c.code))
		if c.want == "!" {
			if err == nil {
				t.Errorf("%s: read as %v", c.name, found)
			}
			continue
		}
		var got []string
		for _, imp := range found {
			target := imp.Specifier
			if imp.Computed {
				target = "~"
			}
			got = append(got, fmt.Sprintf("%s:%s", imp.Kind, target))
		}
		slices.Sort(got)
		want := []string{}
		for _, kind := range []string{"import()", "import", "export", "require", "resolve", "use", "builtin module",
			"dlopen"} {
			for rest := c.want; ; {
				// A kind has spaces, a specifier has none.
				i := strings.Index(" "+rest, " "+kind+":")
				if i < 0 {
					break
				}
				word, after, _ := strings.Cut(rest[i+len(kind)+1:], " ")
				want = append(want, kind+":"+word)
				rest = after
			}
		}
		slices.Sort(want)
		if err != nil || !slices.Equal(got, want) && !(len(got) == 0 && len(want) == 0) {
			t.Errorf("%s: got %q, %v; want %q", c.name, got, err, want)
		}
	}
}

func TestLines(t *testing.T) {
	found, err := File("x.js", []byte("import a from 'a'\n\nrequire('b')\n/*\n*/ require(\n c)\n"))
	if err != nil || len(found) != 3 {
		t.Fatal(found, err)
	}
	for i, want := range []int{1, 3, 6} {
		if found[i].Line != want {
			t.Errorf("%v: line %d, want %d", found[i], found[i].Line, want)
		}
	}
	// The tree has a name once, for all places: its line is known through what stands beside it.
	found, err = File("x.js", []byte("process.env.A\nprocess.env.B\nf(process)\neval(\nprocess.env.C)\n"))
	if err != nil || len(found) != 2 || found[0].Line != 5 || found[1].Line != 0 {
		t.Error(found, err)
	}
	if _, err := File("x.js", make([]byte, MaxFile+1)); err == nil {
		t.Error("a file of any size is parsed")
	}
}

// Whatever the code, the scanner ends without a panic.
func FuzzFile(f *testing.F) {
	for _, c := range corpus {
		f.Add([]byte(c.code))
	}
	f.Fuzz(func(t *testing.T, code []byte) {
		found, err := File("x.js", code)
		if err != nil && len(found) > 0 {
			t.Errorf("imports beside an error: %v", found)
		}
	})
}

// dlopen is native whatever it opens, and so is the loader of the extension .node.
func TestNativeWhateverItsName(t *testing.T) {
	for code, want := range map[string]string{
		`process.dlopen(m, dir + '/x.dat')`:              "dlopen:~",
		`require.extensions['.node'](module, './x.dat')`: "dlopen:./x.dat",
		`require('module')._extensions['.node'](m, x)`:   "dlopen:~ require:module",
	} {
		if got := summary(t, "x.js", code); got != want {
			t.Errorf("%s: got %q, want %q", code, got, want)
		}
	}
}
