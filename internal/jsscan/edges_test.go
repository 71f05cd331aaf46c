package jsscan

import (
	"slices"
	"strings"
	"testing"
)

// summary is what File finds: KIND:SPECIFIER, or KIND:~ if the target is computed, in
// order of their text and each once.
func summary(t *testing.T, name, code string) string {
	t.Helper()
	found, err := File(name, []byte(code))
	if err != nil {
		return "!"
	}
	var out []string
	for _, imp := range found {
		target := imp.Specifier
		if imp.Computed {
			target = "~"
		}
		out = append(out, string(imp.Kind)+":"+target)
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), " ")
}

// Code at the edges of what the scanner folds, follows and learns.
func TestEdges(t *testing.T) {
	for code, want := range map[string]string{
		// Strings.
		`require('axio\x73')`: "require:axios", `require('axio\u0073')`: "require:axios",
		`require('axio\u{73}')`: "require:axios", `require('\u{9}x')`: "require:\tx",
		`require('\777')`: "require:?7", `require('\377')`: "require:ÿ", `require('\0x')`: "require:\x00x",
		`require('\18')`: "require:\x018", `require('a\` + "\u2028" + `b')`: "require:ab",
		`require("\u{110000}")`: "require:~", `require('\u{10ffff}')`: "require:\U0010ffff",
		`require(('a', 'axios'))`: "require:axios", "require(tag`axios`)": "require:~",
		"require(String.raw`axios`)": "require:~", "require(`${'a'}${x}`)": "require:~",
		`require('a' + x)`: "require:~", `require(x + 'a')`: "require:~",
		// Names that are given late, or through others.
		`function g() { c = b } function h() { b = a } function i() { a = require } var a, b, c; i(); h(); g(); ` +
			`c('axios')`: "require:axios",
		`(1 && require)('axios')`: "require:axios", `(x || require)('axios')`: "require:axios",
		`(x ?? require)('axios')`: "require:axios", `(x = require)('axios')`: "require:axios",
		`(x && require.resolve)('axios')`: "resolve:axios", `let r = x && require; r('axios')`: "require:axios",
		`const { ...all } = module; all.require('axios')`: "use:~",
		// What is found by a name that is not known.
		`require.cache[x].require('axios')`:        "use:~",
		`require.extensions[x](module, './a.txt')`: "use:~",
		`globalThis[x].dlopen(module, './x.node')`: "use:~",
		`globalThis[x].binding('fs')`:              "use:~", `process[x]('axios')`: "use:~",
		`new (require('module'))('x').require('axios')`: "require:module use:~",
		// Arguments that are spread.
		`require(...a)`: "require:~", `require(...['axios'])`: "require:~", `require.apply(null, [...a])`: "use:~",
		`require.apply(null, a)`: "use:~", `require.apply(null, [])`: "use:~",
		`require(...'axios')`: "require:~", `require.apply(null, [...'axios'])`: "use:~",
		`require.call(...a)`: "use:~", `require.call(null, ...a)`: "use:~",
		`process.dlopen(module, ...a)`: "dlopen:~", `process.dlopen(...a)`: "dlopen:~",
		// What is handed on.
		`f(require.resolve)`: "use:~", `const r = require.resolve; f(r)`: "use:~", `f(await require)`: "use:~",
		`async () => { f(await require) }`: "use:~", `f(!require)`: "", `f(typeof require)`: "",
		`f(require && 1)`: "", `f(x && require)`: "use:~",
		`f(require === x)`: "", `f(require ? 1 : 2)`: "", `f(x ? require : 2)`: "use:~",
		`[a = require] = b; a('axios')`: "use:~", `const [a = require] = b; a('axios')`: "require:axios",
		`const [[a] = require] = b`: "use:~",
		`a.b = require`:             "use:~", `a[b] = require`: "use:~", `require = a`: "", `a ||= require`: "",
		`a.b ||= require`: "use:~", `f(...require)`: "use:~",
		`return require`: "use:~", `() => require`: "use:~", `throw module`: "use:~",
		`yield_(process.mainModule)`: "use:~", `f(process.binding)`: "use:~",
		`f(Object.keys(require.cache))`: "use:~", `f(Object.values(require.cache))`: "use:~",
		// Two parsers.
		"import x from 'a'; export * from 'b'; import('c'); require('d')": "export:b import():c import:a require:d",
		`\u0069mport 'a'`: "!", `requ\u{69}re('axios')`: "require:axios",
		`export { x } from 'a'; export { y } from 'b'`: "export:a export:b",
		"require('a'); require(b)":                     "require:a require:~", "return require('a')": "require:a",
		"if (x) return; require('a')": "require:a",
	} {
		if got := summary(t, "x.js", code); got != want {
			t.Errorf("%s: got %q, want %q", code, got, want)
		}
	}
}

// What is computed in one place does not hide the same text as an import in another.
func TestComputedAndPlain(t *testing.T) {
	for code, want := range map[string]string{
		"require(axios); import('axios')":        "import():axios require:~",
		"require(axios); require('axios')":       "require:axios require:~",
		"import(`./${x}.js`); require('./a.js')": "import():~ require:./a.js",
	} {
		if got := summary(t, "x.mjs", code); got != want {
			t.Errorf("%s: got %q, want %q", code, got, want)
		}
	}
	// Its lines count from 1, to the last.
	found, err := File("x.js", []byte("require('a'\n)\nrequire(b)\nimport('c')"))
	if err != nil || len(found) != 3 || found[0].Line != 1 || found[1].Line != 3 || found[2].Line != 4 {
		t.Error(found, err)
	}
	if _, err := File("x.js", append([]byte("require('a')"), make([]byte, MaxFile-11)...)); err == nil ||
		!strings.Contains(err.Error(), "more than") {
		t.Errorf("a file beyond the limit: %v", err)
	}
}

// Node 20 runs a file called .ts as JavaScript if require asks for it, and later ones run .TS so. What means another thing
// in the two languages is read as JavaScript, however new the syntax beside it is.
func TestTypeScriptIsReadAsJavaScript(t *testing.T) {
	const code = "f<typeof import('fs')>(x)"
	for _, before := range []string{"", "using q = o; ", "@dec class A {}; "} {
		for _, name := range []string{"a.ts", "a.TS", "a.cts", "a.js"} {
			found, err := File(name, []byte(before+code))
			if err != nil || len(found) != 1 || found[0].Specifier != "fs" {
				t.Errorf("%s, %s: %v, %v", name, before+code, found, err)
			}
		}
	}
}
