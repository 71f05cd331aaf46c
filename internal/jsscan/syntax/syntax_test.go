package syntax

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
	return WithoutParens(list[0].(*js.ExprStmt).Value).(js.IExpr)
}

// function returns the first function that code declares.
func function(t *testing.T, code string) *js.FuncDecl {
	t.Helper()
	list, _ := parsed(t, code)
	return list[0].(*js.FuncDecl)
}

// TestUnescape: escapes are what JavaScript takes them for; invalid ones are no text.
func TestUnescape(t *testing.T) {
	for code, want := range map[string]string{
		`plain`: "plain", `\n\t\\\'`: "\n\t\\'", `\x41\u0042\u{43}\u{000044}`: "ABCD", `\101\0`: "A\x00",
		`\400`: " 0", // three digits are one character up to 255
		`\377`: "\u00ff", `\8`: "8", `\q`: "q", "a\\\nb": "ab", "a\\\r\nb": "ab", "a\\\rb": "ab", "a\\\u2028b": "ab",
		"\\\u00e9": "\u00e9", `\u{10ffff}`: "\U0010ffff", `f\s`: "fs",
	} {
		if got, ok := Unescape(code); !ok || got != want {
			t.Errorf("%s: %q, %v", code, got, ok)
		}
	}
	for _, code := range []string{`\`, `a\`, `\x`, `\x4`, `\xzz`, `\u`, `\u00`, `\uzzzz`, `\u{}`, `\u{41`, `\u{110000}`,
		`\u{z}`, `\u{-1}`} {
		if got, ok := Unescape(code); ok {
			t.Errorf("%s is %q", code, got)
		}
	}
	for name, want := range map[string]string{`require`: "require", `r\u0065quire`: "require", `\u{72}equire`: "require",
		`bad\u`: `bad\u`} {
		if got := PlainIdentifier([]byte(name)); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestFold: what is the same text whenever it runs is folded, and nothing else.
func TestFold(t *testing.T) {
	for code, want := range map[string]string{
		`'a'`: "a", `"a" + 'b' + "c"`: "abc", "`a\\n${'b'}c${`d`}`": "a\nbcd", `(0, 'a')`: "a", `(('a'))`: "a", `''`: "",
		`['a', 'b'].join('/')`: "a/b", `'a'.concat('b', "c" + 'd')`: "abcd", `['a', 'b'][1]`: "b",
		`['a', ['b'].join('')][0]`: "a",
		`'\x61' + "\u{62}"`:        "ab", "`a${'b'}}c{`": "ab}c{",
		"`./${'a'}}/x${''}.js`": "./a}/x.js", "`}x`": "}x", "`a\r\nb\rc`": "a\nb\nc", "`a\\\r\nb`": "ab",
	} {
		if got, ok := Fold(expression(t, code)); !ok || got != want {
			t.Errorf("%s: %q, %v; want %q", code, got, ok, want)
		}
	}
	for _, code := range []string{`a`, `1`, `'a' + b`, `'a' - 'b'`, "`a${b}`", "f`a`", `['a', b].join('')`,
		`['a', , 'b'].join('')`, `[...'ab'].join('')`, `['a'].join()`, `a.join('')`, `'a'.concat(...b)`,
		`['a', 'b'].join(...'-+')`, `'a'.replace('a', 'b')`, `['a'][1]`, `['a'][-1]`, `['a']['0']`, `[...b, 'a'][0]`,
		`['a'][1e3]`, `a[0]`, `'\u{110000}'`, `'a' && 'b'`} {
		if got, ok := Fold(expression(t, code)); ok {
			t.Errorf("%s is %q", code, got)
		}
	}
	for depth, ok := range map[int]bool{MaxFold: true, MaxFold + 5: false} {
		code := "'a'" + strings.Repeat(".concat('b')", depth)
		if got, folded := Fold(expression(t, code)); folded != ok || ok && len(got) != depth+1 {
			t.Errorf("%d deep: %q, %v", depth, got, folded)
		}
	}
	// A name stands for a text, or for an array of which an element is asked for.
	name := func(v *js.Var, depth int) (string, bool) {
		return map[int]string{0: "x", -3: "third"}[depth], string(v.Data) == "known"
	}
	for code, want := range map[string]string{"known + 'y'": "xy", "known[2]": "third", "other": "", "other[2]": ""} {
		if got, ok := FoldBy(expression(t, code), name, 0); ok != (want != "") || ok && got != want {
			t.Errorf("%s: %q, %v", code, got, ok)
		}
	}
}

// TestNumberName: numbers that are one property have one name.
func TestNumberName(t *testing.T) {
	for code, want := range map[string]string{"1000": "1000", "1e3": "1000", "0x10": "16", "0b11": "3", "0o17": "15",
		"1_000": "1000", "5n": "5", "2.0": "2", "1.5": "1.5", "1e21": "1e21", "0": "0"} {
		if got, ok := NumberName(expression(t, code)); !ok || got != want {
			t.Errorf("%s: %s, %v", code, got, ok)
		}
	}
	for _, code := range []string{"'1'", "a", "-1", "true", "null", "/1/"} {
		if got, ok := NumberName(expression(t, code)); ok {
			t.Errorf("%s is %s", code, got)
		}
	}
}

// TestBodies: what the body of a function does is seen where it is the function's own.
func TestBodies(t *testing.T) {
	for code, want := range map[string]struct{ looksUp, wraps, arguments bool }{
		"function f(a) { return o[a] }":                         {true, true, false},
		"function f(a) { return o[(a)] }":                       {true, true, false},
		"function f(a) { return o['a'] + o.a + a[0] }":          {},
		"function f(a) { { let a = 1; o[a] } }":                 {false, true, false},
		"function f(a) { return () => o[a] }":                   {true, true, false},
		"function f(a) { return function () { arguments } }":    {false, true, false},
		"function f(a) { return () => arguments[0] }":           {false, true, true},
		"function f(a) { return \\u0061rguments }":              {false, false, true},
		"function f(a) { return f.arguments }":                  {false, false, true},
		"function f(a) { eval(a) }":                             {false, false, true},
		"function f(a) { return { m() { return arguments } } }": {},
	} {
		f := function(t, code)
		v := f.Params.List[0].Binding.(*js.Var)
		got := struct{ looksUp, wraps, arguments bool }{LooksUp(&f.Body, v), Wraps(&f.Body), UsesArguments(&f.Body, false)}
		if got != want {
			t.Errorf("%s: %+v", code, got)
		}
	}
	arrow := expression(t, "a => arguments[0] + eval(a)").(*js.ArrowFunc)
	if UsesArguments(&arrow.Body, true) {
		t.Error("the arguments of an arrow function are those of the function around it")
	}
	body := &function(t, "function f(a) { return a + a + a }").Body
	whole := Size(body, 1000)
	if more := Size(&function(t, "function f(a) { return a + a + a + a }").Body, 1000); more <= whole || whole < 4 {
		t.Errorf("sizes are %d and %d", whole, more)
	}
	if got := Size(body, 2); got <= 2 || got > whole {
		t.Errorf("up to 2 it is %d", got)
	}
}

// TestLines: a piece of the code stands in its line; what is not of the code has none.
func TestLines(t *testing.T) {
	list, code := parsed(t, "first();\n\n  'second' + x;\r\n`third${y}`;\n(fourth.z)")
	lines := NewLines(code)
	for i, want := range []int{1, 3, 4, 5} {
		if got := lines.Of(FirstPiece(list[i].(*js.ExprStmt).Value)); got != want {
			t.Errorf("statement %d is in line %d, want %d", i, got, want)
		}
	}
	if lines.Of([]byte("elsewhere")) != 0 || lines.Of(nil) != 0 || NewLines(nil).Of(code) != 0 {
		t.Error("what is not of the code has a line")
	}
	if FirstPiece(expression(t, "function () {}")) != nil {
		t.Error("a function has a first piece")
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
		if call, ok := expression(t, changed).(*js.CallExpr); !ok || IsShim(call) != want {
			t.Errorf("%s: %v, want %v", changed, !want, want)
		}
	}
}
