package jsscan

import (
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/sample"
	"github.com/hallmark-mcp/hallmark/plugin"
)

// What is read with one parser, and what another must read, too.
func TestAccount(t *testing.T) {
	of := func(specifiers ...string) (found []plugin.Import) {
		for _, s := range specifiers {
			found = append(found, plugin.Import{Kind: plugin.Require, Specifier: s})
		}
		return found
	}
	for code, found := range map[string][]plugin.Import{
		// Words that import nothing where they stand.
		`// require('a')` + "\n" + `/* import 'a' */ 'require("a")'`: nil,
		"x = `require('a')`; y = /require('a')/g":                    nil,
		"x = `${`${'require'}`} import('a')`":                        nil,
		`x.from('a'), from = 1, y.import('a'), { import: 1 }`:        nil,
		`typeof require !== 'undefined' && f(require)`:               nil,
		`function require(name, more) { return require(name) }`:      nil,
		`import(url); import(/* x */ a.b); require(name, 'a')`:       nil,
		`import.meta.url; require.cache; require.main === module`:    nil,
		"#!/usr/bin/node require('a')\n1":                            nil,
		`if (x) /require('a')/.test(y)`:                              nil,
		`for (;;) /"/.test("import 'a'")`:                            nil,
		`x = (y) / 2; z = "require('a')" / 3`:                        nil,
		`x = y[1] / 2 / "import('a')"`:                               nil,
		`x++ / 2; "require('a')"; /x/`:                               nil,
		`x = .5 / 2 / "require('a')"; 1.5.toFixed() / "import('a')"`: nil,
		`return /require('a')/`:                                      nil,
		`a.return / 2; "require('a')"; b?.typeof / 3`:                nil,
		`this.#if / 2; "require('a')"`:                               nil,
		"x = [...a] / 2; y = 'require(\"a\")'":                       nil,
		`export { x as from, y as "require" }; "require('a')"`:       nil,
		"a\n++b\n/* require('a') */":                                 nil,
		// Literals that were found.
		`require('a'); require.resolve("b"); import('c')`:  of("a", "b", "c"),
		"require(`a`); require /* b */ ( /* c */ 'a' , 1)": of("a"),
		`import 'a'; import x from 'b'; export * from "c"`: of("a", "b", "c"),
		`import x, { y as from } from 'a' with { a: "b" }`: of("a"),
		`require?.('a'); require('\x61')`:                  of("a"),
		`module.require('a')`:                              of("a"),
	} {
		if !accountsForAll([]byte(code), found) {
			t.Errorf("%s: is read twice", code)
		}
		if len(found) > 0 && accountsForAll([]byte(code), found[1:]) {
			t.Errorf("%s: without %s it is not read again", code, found[0].Specifier)
		}
	}
	for _, code := range []string{
		`require('a')`, `(require)('a')`, `require.resolve('a')`, `(require.resolve)('a')`, `require?.resolve?.('a')`,
		`require('a' + 'b')`, "require(`a${'b'}`)", `require(x ? 'a' : 'b')`, `require(('a'))`, `require["resolve"]('a')`,
		`module.require('a')`, `module["require"]('a')`, `module /**/ . /**/ require('a')`, `new require('a')`,
		`import('a')`, `import('a', {})`, `import 'a'`, `import x from 'a'`, `import { from } from 'a'`,
		`export * from 'a'`, `export { from as default } from 'a'`, `import.source('a')`, `import defer * as x from 'a'`,
		`x = ` + "`${require('a')}`", "x = `${`${require('a')}`}`", "x = `a${{}}${require('a')}`",
		"// x\u2028require('a')", "// x\rrequire('a')", "/* x */ require('a') /* y */", `"\` + "\n" + `"; require('a')`,
		`/[/]/; require('a')`, `/\//; require('a')`, `/"/; require('a'); /"/`, `x = 1 / 2; require('a'); 3 / 4`,
		`if (x) /"/.test(y); require('a'); "/"`, `x = (y) /"/; require('a'); "/"`, `requ\u0069re('a')`,
		// A slash that may be either.
		`{} /"/; require('a'); /"/`, `x = {} / "'require(1)'" / 1`, "var x\n/'/; require('a'); /'/",
		`await /"/; require('a'); /"/`, `yield /"/; require('a'); /"/`, "x = 1 <!-- '\nrequire('a') //'",
		"x\n--> '\nrequire('a') //'",
	} {
		if accountsForAll([]byte(code), nil) {
			t.Errorf("%s: is not read again", code)
		}
	}
}

// pieces are what hostile scripts are made of: what opens and closes strings, templates, regular
// expressions and comments, slashes that divide or do not, and imports.
var pieces = strings.Split("require('a')|require('b')|require.resolve('a')|import('a')|;import 'a'\n|"+
	";import x from 'a'\n|;export * from 'b'\n|module.require('a')|(require)('a')|require(`a`)|require('a'+'b')|"+
	"'|\"|`|${|}|{|(|)|[|]|/|/|/|//|/*|*/|\\|\n|\n| |;|,|=|+|++|--|-|.|?.|...|x|x|y|1|.5|if(x)|while(x)|for(;;)|of|"+
	"await|yield|return|typeof|in|case|do|else|function f(){}|()=>|class A{|#p|async|new|this|<!--|-->|=>|:|?|\u2028|"+
	"let x|var x|break|/x/|/[/]/|/'/|/\"/|/`/|'x'|\"x\"|`x`|'/'|\"/*\"|'//'|`//`|/\\//|x/2|(x)/2|x[0]/2|x++/2|${x}", "|")

// Whatever the tokens, where the account has no doubt, esbuild finds no more than the list has.
func TestAccountOfHostileScripts(t *testing.T) {
	rounds, random := 20_000, sample.Rand(t)
	if sample.Whole() {
		rounds *= 20
	}
	listed, sure, parsed := 0, 0, 0
	for range rounds {
		var b strings.Builder
		for range 2 + random.IntN(14) {
			b.WriteString(pieces[random.IntN(len(pieces))])
		}
		code := b.String()
		if !strings.Contains(code, "'a'") && !strings.Contains(code, "'b'") && !strings.Contains(code, "`a`") {
			continue
		}
		found := []plugin.Import(nil)
		if random.IntN(4) == 0 {
			found = []plugin.Import{{Kind: plugin.Require, Specifier: "b"}}
		}
		if !accountsForAll([]byte(code), found) {
			continue
		}
		sure++
		for _, imp := range listLiterals("x.js", []byte(code)) {
			if listed++; len(found) == 0 || imp.Specifier != "b" {
				t.Errorf("%q: esbuild finds %s, and it is not read again", code, imp.Specifier)
			}
		}
		if found, _, read := scanTree([]byte(code), []byte(code)); read {
			parsed++
			_ = found
		}
	}
	t.Logf("%d were certain, %d of them scripts, with %d literals", sure, parsed, listed)
	if sure < rounds/100 || parsed < sure/50 {
		t.Errorf("of %d scripts %d were certain, and %d could be parsed: the test has no force", rounds, sure, parsed)
	}
}

// A list of any script is complete for the account only with all of its literals.
func TestAccountOfCorpus(t *testing.T) {
	for _, c := range corpus {
		found := listLiterals("x.js", []byte(c.code))
		for i := range found {
			without := slices.DeleteFunc(slices.Clone(found), func(f plugin.Import) bool {
				return f.Specifier == found[i].Specifier
			})
			if accountsForAll([]byte(c.code), without) {
				t.Errorf("%s: without %s it is not read again", c.name, found[i].Specifier)
			}
		}
	}
}
