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
		`const { ...all } = module; all.require('axios')`: "require:~",
		// What is found by a name that is not known.
		`require.cache[x].require('axios')`:        "require:~",
		`require.extensions[x](module, './a.txt')`: "require:~",
		`globalThis[x].dlopen(module, './x.node')`: "require:~",
		`globalThis[x].binding('fs')`:              "require:~", `process[x]('axios')`: "require:~",
		`new (require('module'))('x').require('axios')`: "require:module require:~",
		// Arguments that are spread.
		`require(...a)`: "require:~", `require(...['axios'])`: "require:~", `require.apply(null, [...a])`: "require:~",
		`require.apply(null, a)`: "require:~", `require.apply(null, [])`: "require:~",
		`require(...'axios')`: "require:~", `require.apply(null, [...'axios'])`: "require:~",
		`require.call(...a)`: "require:~", `require.call(null, ...a)`: "require:~",
		`process.dlopen(module, ...a)`: "dlopen:~", `process.dlopen(...a)`: "dlopen:~",
		// What is handed on.
		`f(require.resolve)`: "require:~", `const r = require.resolve; f(r)`: "require:~", `f(await require)`: "require:~",
		`async () => { f(await require) }`: "require:~", `f(!require)`: "", `f(typeof require)`: "",
		`f(require && 1)`: "", `f(x && require)`: "require:~",
		`f(require === x)`: "", `f(require ? 1 : 2)`: "", `f(x ? require : 2)`: "require:~",
		`[a = require] = b; a('axios')`: "require:~", `const [a = require] = b; a('axios')`: "require:axios",
		`const [[a] = require] = b`: "require:~",
		`a.b = require`:             "require:~", `a[b] = require`: "require:~", `require = a`: "", `a ||= require`: "",
		`a.b ||= require`: "require:~", `f(...require)`: "require:~",
		`return require`: "require:~", `() => require`: "require:~", `throw module`: "require:~",
		`yield_(process.mainModule)`: "require:~", `f(process.binding)`: "require:~",
		`f(Object.keys(require.cache))`: "require:~", `f(Object.values(require.cache))`: "require:~",
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
