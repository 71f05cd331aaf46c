package jsscan

import (
	"strings"
	"testing"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/js"
)

// parsed returns the statements of code, and the bytes that they point into.
func parsed(t *testing.T, code string) ([]js.IStmt, []byte) {
	t.Helper()
	in := parse.NewInputString(code)
	ast, err := js.Parse(in, js.Options{})
	if err != nil {
		t.Fatalf("%s: %v", code, err)
	}
	return ast.List, in.Bytes()
}

// expression returns the expression that code is.
func expression(t *testing.T, code string) js.IExpr {
	t.Helper()
	list, _ := parsed(t, "("+code+")")
	return withoutParens(list[0].(*js.ExprStmt).Value).(js.IExpr)
}

// TestUnescape: escapes are what JavaScript takes them for; invalid ones are no text.
func TestUnescape(t *testing.T) {
	for code, want := range map[string]string{
		`plain`: "plain", `\n\t\\\'`: "\n\t\\'", `\x41\u0042\u{43}\u{000044}`: "ABCD", `\101\0`: "A\x00",
		`\400`: " 0", // three digits are one character up to 255
		`\377`: "\u00ff", `\8`: "8", `\q`: "q", "a\\\nb": "ab", "a\\\r\nb": "ab", "a\\\rb": "ab", "a\\\u2028b": "ab",
		"\\\u00e9": "\u00e9", `\u{10ffff}`: "\U0010ffff", `f\s`: "fs",
	} {
		if got, ok := unescape(code); !ok || got != want {
			t.Errorf("%s: %q, %v", code, got, ok)
		}
	}
	for _, code := range []string{`\`, `a\`, `\x`, `\x4`, `\xzz`, `\u`, `\u00`, `\uzzzz`, `\u{}`, `\u{41`, `\u{110000}`,
		`\u{z}`, `\u{-1}`} {
		if got, ok := unescape(code); ok {
			t.Errorf("%s is %q", code, got)
		}
	}
	for name, want := range map[string]string{`require`: "require", `r\u0065quire`: "require", `\u{72}equire`: "require",
		`bad\u`: `bad\u`} {
		if got := plainIdentifier([]byte(name)); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestFold: what is the same text whenever it runs is folded, and nothing else.
func TestFold(t *testing.T) {
	for code, want := range map[string]string{
		`'a'`: "a", `"a" + 'b' + "c"`: "abc", "`a\\n${'b'}c${`d`}`": "a\nbcd", `(0, 'a')`: "a", `(('a'))`: "a", `''`: "",
		`'\x61' + "\u{62}"`: "ab", "`a${'b'}}c{`": "ab}c{",
		"`./${'a'}}/x${''}.js`": "./a}/x.js", "`}x`": "}x", "`a\r\nb\rc`": "a\nb\nc", "`a\\\r\nb`": "ab",
	} {
		if got, ok := fold(expression(t, code)); !ok || got != want {
			t.Errorf("%s: %q, %v; want %q", code, got, ok, want)
		}
	}
	for _, code := range []string{`['a', 'b'].join('/')`, `'a'.concat('b')`, `['a', 'b'][1]`, `a`, `1`, `'a' + b`, `'a' - 'b'`, "`a${b}`", "f`a`", `['a', b].join('')`,
		`['a', , 'b'].join('')`, `[...'ab'].join('')`, `['a'].join()`, `a.join('')`, `'a'.concat(...b)`,
		`['a', 'b'].join(...'-+')`, `'a'.replace('a', 'b')`, `['a'][1]`, `['a'][-1]`, `['a']['0']`, `[...b, 'a'][0]`,
		`['a'][1e3]`, `a[0]`, `'\u{110000}'`, `'a' && 'b'`} {
		if got, ok := fold(expression(t, code)); ok {
			t.Errorf("%s is %q", code, got)
		}
	}
}

// TestLinesOf: a piece of the code stands in its line; what is not of the code has none.
func TestLinesOf(t *testing.T) {
	list, code := parsed(t, "first.a();\n\n  'second' + x;\r\n`third${y}`;\n(fourth.z)")
	all := &lines{code: code}
	for i, want := range []int{1, 3, 4, 5} {
		if got := all.of(ownPiece(list[i].(*js.ExprStmt).Value)); got != want {
			t.Errorf("statement %d is in line %d, want %d", i, got, want)
		}
	}
	if all.of([]byte("elsewhere")) != 0 || all.of(nil) != 0 || (&lines{}).of(code) != 0 {
		t.Error("what is not of the code has a line")
	}
}

// TestShim: only what esbuild puts before bundles, whatever its names are, is taken for that.
func TestShim(t *testing.T) {
	const code = `(e=>typeof require<"u"?require:typeof Proxy<"u"?new Proxy(e,{get:(t,r)=>(typeof ` +
		`require<"u"?require:t)[r]}):e)(function(e){if(typeof require<"u")return require.apply(this,` +
		`arguments);throw Error('Dynamic require of "'+e+'" is not supported')})`
	for change, want := range map[string]bool{
		"e=e": true, `<"u"=!=="undefined"`: true, "throw Error=throw new Error": true,
		"throw Error=throw Err": false, "require.apply=require.call": false, "this,=self,": false,
		"?require:t=?other:t":           false,
		"function(e){=function(e){f();": false, "not supported=" + strings.Repeat("x", 1000): false,
	} {
		from, to, _ := strings.Cut(change, "=")
		changed := strings.ReplaceAll(code, from, to)
		if call, ok := expression(t, changed).(*js.CallExpr); !ok || isShim(call) != want {
			t.Errorf("%s: %v, want %v", changed, !want, want)
		}
	}
}

// TestInterop: what compilers put around what is required is known by its shape, and by what it calls.
func TestInterop(t *testing.T) {
	const copyProps = `(to, from, except, desc) => {
		if (from && typeof from === "object" || typeof from === "function") {
			for (let key of names(from))
				if (!has.call(to, key) && key !== except)
					define(to, key, { get: () => from[key], enumerable: !(desc = describe(from, key)) || desc.enumerable });
		}
		return to;
	}`
	const minified = `(r,e,t,o)=>{if(e&&typeof e=="object"||typeof e=="function")for(let n of names(e))!has.call(r,n)&&n!==t&&` +
		`define(r,n,{get:()=>e[n],enumerable:!(o=describe(e,n))||o.enumerable});return r}`
	const esbuild = `var create = Object.create, proto = Object.getPrototypeOf, define = Object.defineProperty, ` +
		`names = Object.getOwnPropertyNames, has = Object.prototype.hasOwnProperty, describe = Object.getOwnPropertyDescriptor;` +
		`var copy = COPY; var f = (t, r, o) => (o = t != null ? create(proto(t)) : {}, copy(r || !t || !t.__esModule ? ` +
		`define(o, 'default', { value: t, enumerable: !0 }) : o, t))`
	with := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(esbuild) }
	for code, want := range map[string]bool{
		"var f = (this && this.__importDefault) || function (mod) { return (mod && mod.__esModule) ? mod : { 'default': mod }; }": true,
		"function f(e) { return e && e.__esModule ? e : { default: e }; }":                                                        true,
		"var f = (e) => e && typeof e === 'object' && 'default' in e ? e : { default: e }":                                        true,
		"function f(e) { return e && e.__esModule ? e : { default: leak(e) }; }":                                                  false,
		"function f(e) { return leak(e) && e.__esModule ? e : { default: e }; }":                                                  false,
		with("COPY", copyProps): true, with("COPY", minified): true,
		with("COPY", "(to, from) => leak(from)"):                           false,
		with("COPY", copyProps, "Object.create,", "leak,"):                 false,
		with("COPY", copyProps, "Object.getOwnPropertyNames", "leak"):      false,
		with("COPY", copyProps, "Object.getOwnPropertyDescriptor", "leak"): false,
		with("COPY", copyProps) + "; var Object = { create: leak }":        false,
		with("COPY", copyProps) + "; create = leak":                        false,
		with("COPY", copyProps) + "; [copy] = [leak]":                      false,
	} {
		ast, _ := parseTree([]byte(code), false)
		n := learnNames(ast)
		d := n.declared["f"]
		if d == nil || n.isInterop(d) != want {
			t.Errorf("%s: not %v", code, want)
		}
	}
}

// TestWebpackGlobal: what webpack gets at the global object with is known by its shape.
func TestWebpackGlobal(t *testing.T) {
	const code = "(function () { if (typeof globalThis === 'object') return globalThis; " +
		"try { return this || new Function('return this')(); } catch (e) { if (typeof window === 'object') return window; } })()"
	for change, want := range map[string]bool{"a=a": true, "return window=return leak(window)": false,
		"return this=return self": false, "return globalThis=return process": false} {
		from, to, _ := strings.Cut(change, "=")
		changed := strings.Replace(code, from, to, 1)
		if call, ok := expression(t, changed).(*js.CallExpr); !ok || isWebpackGlobal(call) != want {
			t.Errorf("%s: %v, want %v", changed, !want, want)
		}
	}
}
