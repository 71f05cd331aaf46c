package jsscan

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/world"
	"github.com/hallmark-mcp/hallmark/plugin"
)

// Ways to import that a scanner may lose sight of, and what looks like them.
func TestEvasions(t *testing.T) {
	for code, want := range map[string]string{
		// An argument that a function knows by another way than a parameter.
		`(function () { arguments[0]('axios') })(require)`:            "use:~",
		`(function (a) { arguments[1]('axios') })(1, require)`:        "use:~",
		`((...a) => a[0]('axios'))(require)`:                          "use:~",
		`(function (...a) { a[0]('axios') })(require)`:                "use:~",
		`(function (...[r]) { r('axios') })(require)`:                 "use:~",
		`(function () { this('axios') }).call(require)`:               "use:~",
		`(function f(r) { f.arguments[0]('axios') })(require)`:        "use:~",
		`(function (r) { (() => arguments[0]('axios'))() })(require)`: "use:~",
		`(function (r) { if (x) { y = arguments } })(require)`:        "use:~",
		`(([r]) => r('axios'))(require)`:                              "use:~", `(() => 1)(require)`: "use:~",
		// Words that are put together, in code that holds none of them.
		`(() => 1)['const' + 'ructor']('return pro' + 'cess')()`:                                        "use:~",
		`[]['filter']['cons' + 'tructor']('return pro' + 'cess')()['getBuiltin' + 'Mod' + 'ule']('fs')`: "use:~",
		"x = 1 <!-- y\n(() => 1)['const' + 'ructor']('return pro' + 'cess')()":                          "!", "<p>a text <!-- of another language -->": "",
		// One that it does not.
		`(function (r) { r('axios') })(require)`:                                    "require:axios",
		`(function (r) { function g() { arguments[0]('b') } r('axios') })(require)`: "use:~",
		`(function (a, r) { r('axios') })(1, require)`:                              "require:axios",
		`(function (r) { r('axios') }).call(this, require)`:                         "use:~",
		`(r => { r('axios') })(require)`:                                            "require:axios",
		`(function (r = 1) { r('axios') })(require)`:                                "require:axios",
		// new calls a function, too.
		`new require('axios')`: "require:axios", `new require(x)`: "require:~",
		`new (require)('axios').x`: "require:axios", `new module.require('axios')`: "require:axios",
		`new (require('module').createRequire)('/')('axios')`: "require:axios require:module use:~",
		`new require('module').createRequire('/')('axios')`:   "require:axios require:module",
		`new process.getBuiltinModule('fs')`:                  "builtin module:fs", `new x(require('a'))`: "require:a",
		// A property whose name is not known, taken by a pattern.
		`var { ['req' + x]: r } = module; r('axios')`: "use:~",
		`let r; ({ [k]: r } = process); r('fs')`:      "use:~", `(({ [k]: r }) => r('fs'))(process)`: "use:~",
		`const { a: { [k]: r } } = { a: module }`:                "use:~",
		`const { mainModule: { [k]: r } } = process; r('axios')`: "use:~",
		`const { ['require']: r } = module; r('axios')`:          "require:axios",
		`const { [k]: r } = x; r('axios')`:                       "",
		// What import() promises.
		`import('node:module').then(m => ` +
			`m.Module._load('axios'))`: "import():node:module use:~",
		`import('node:module').then(function ({ default: m }) { ` +
			`m._load('axios') })`: "import():node:module use:~",
		`import('module').then(({ _load: l }) => l('axios'))`:       "import():module use:~",
		`const p = import('module'); p.then(m => m._load('axios'))`: "import():module use:~",
		`import('module').then(f)`:                                  "import():module use:~",
		`import('module').then((...a) => a[0]._load('axios'))`:      "import():module use:~",
		`import('module').then(([m]) => 1)`:                         "import():module use:~",
		`import('node:process').then(p => p.dlopen({ exports: {} }, ` +
			`'./x.node'))`: "import():node:process use:~", `import('./a.js').then(f)`: "import():./a.js",
		`import('module').then(() => 1)`: "import():module use:~",
		// A text that vm evaluates.
		`require('vm').runInThisContext("process.getBuiltinModule('fs')")`:             "require:vm use:~",
		`new (require('node:vm').Script)("process.exit()").runInThisContext()`:         "require:node:vm use:~",
		`import vm from 'vm'; vm.compileFunction("return require('fs')", ['require'])`: "import:vm use:~",
		`import { runInNewContext as r } from 'vm'; r("import('fs')")`:                 "import:vm use:~",
		`import * as vm from 'vm'; new vm.SourceTextModule("import 'fs'")`:             "import:vm use:~",
		`require('vm').runInThisContext('1 + 1')`:                                      "require:vm use:~",
		`require('vm').createContext({})`:                                              "require:vm use:~",
	} {
		if got := summary(t, "x.js", code); got != want {
			t.Errorf("%s: got %q, want %q", code, got, want)
		}
	}
}

// TestMoreEvasions: each of these gets at what imports when Node runs it, and none passes without a word.
func TestMoreEvasions(t *testing.T) {
	text, err := os.ReadFile("testdata/more-evasions.txt")
	if err != nil {
		t.Fatal(err)
	}
	node, err := exec.LookPath("node")
	if err != nil {
		world.Lack(t, err, nil)
	}
	all := strings.Split("\n"+string(text), "\n== ")[1:]
	if len(all) < 60 {
		t.Fatalf("%d evasions", len(all))
	}
	for _, block := range all {
		name, code, _ := strings.Cut(block, "\n")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mark := filepath.Join(t.TempDir(), "mark")
			file := filepath.Join(t.TempDir(), "x.cjs")
			script := strings.ReplaceAll(strings.ReplaceAll(code, "process.env.MARK", "'"+mark+"'"), "MARK", "'"+mark+"'")
			if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := exec.CommandContext(t.Context(), node, file).CombinedOutput()
			if _, missing := os.Stat(mark); missing != nil {
				t.Errorf("it does nothing: %v\n%s", err, out)
			}
			found, err := File("x.cjs", []byte(code))
			if err != nil || !slices.ContainsFunc(found, func(f plugin.Import) bool {
				return f.Computed || f.Kind == plugin.Builtin || f.Specifier == "fs"
			}) {
				t.Errorf("found %v, %v", found, err)
			}
		})
	}
}

// places are where an expression may stand, at @.
var places = []string{
	"({[@]: 1})", "({[@]() {}})", "({get [@]() {}})", "({async *[@]() {}})", "({a: @})", "({...@})", "({a() { @ }})",
	"({a(b = @) {}})", "x = { __proto__: @ }", "x = { 'a b': @ }", "x = { 1: @ }", "x = { get a() { return @ } }",
	"x = { set a(b = @) {} }", "x = { async a() { @ } }", "x = { *a() { @ } }",
	"const {[@]: a} = b", "const {a = @} = b", "const {a: {[@]: c}} = b", "const [a = @] = b", "const [...[c = @]] = b",
	"function f({[@]: a}) {}", "function f([a = @]) {}", "function f(...[a = @]) {}", "(({[@]: a}) => a)",
	"((a = @) => a)", "((...{[@]: a}) => a)", "async (a = @) => a", "x = async ({[@]: a}) => a",
	"((a, b = @) => {})(1)", "(a, {b = @}) => 1", "([a = @]) => 1",
	"class A extends @ {}", "class A { [@]() {} }", "class A { static [@] = 1 }", "class A { a = @ }",
	"class A { #a = @ }", "class A { static { @ } }", "class A { get [@]() {} }",
	"class A extends B { constructor() { super(@) } }", "x = class { [@] = 1 }", "class A { a(b = @) {} }",
	"class A { static async *[@]() {} }", "new (class { [@]() {} })",
	"for (const a of @);", "for (const a in @);", "for (let a = @;;);", "for (;@;);", "for (;;@);",
	"for ({[@]: a} of b);", "for (const {a = @} of b);", "for await (const a of @);", "for (a[@] of b);",
	"for ([a = @] of b);", "async () => { for await (const a of @); }",
	"if (@);", "if (a); else @", "while (@);", "do ; while (@)", "switch (@) {}", "switch (a) { case @: }",
	"switch (a) { default: @ }", "try { @ } catch {}", "try {} catch { @ }", "try {} catch ({a = @}) {}",
	"try {} catch ({[@]: a}) {}", "try {} finally { @ }", "throw @", "function f() { return @ }", "a: @", "with (@);",
	"with (a) @", "{ @ }", "debugger; @", "if (a) function f(b = @) {}", "switch (a) { case 1: function f(b = @) {} }",
	"`${@}`", "a`${@}`", "@`a`", "a[@]", "a?.[@]", "a?.(@)", "a(...@)", "[...@]", "[,@]", "new a(@)", "new (@)",
	"new a[@]", "new a(...@)", "@.b", "@()", "(@)", "@, 1", "a = @", "a ||= @", "a[@] = 1", "[a = @] = b",
	"({a = @} = b)", "({[@]: a} = b)", "({a: b[@]} = c)", "[b[@]] = c", "[...b[@]] = c", "({...b[@]} = c)",
	"a ? @ : 1", "@ ? 1 : 2", "a ? 1 : @", "a ?? @", "a && @", "!@", "typeof @", "void @", "delete @.a", "await @",
	"async function f() { await @ }", "function* f() { yield @ }", "function* f() { yield* @ }", "@ in a",
	"@ instanceof a", "a = b = @", "a++ + @", "-@", "@ ** 2", "a?.b[@]", "a?.b(@)", "a.b?.[@].c", "import.meta[@]",
	"export default @", "export const a = @", "export default class { [@]() {} }", "export default function (a = @) {}",
	"export class A { [@] = 1 }", "export const {[@]: a} = b", "export default async (a = @) => 1",
	"export default class extends @ {}",
	"import(@)", "import('./a', @)", "import('./a', {with: @})", "let a = @", "var a = @", "(() => @)",
	"(() => ({a: @}))", "(async () => @)", "a => b => @", "async a => @", "x = function* () { @ }",
	"x = async function* () { @ }",
}

// An import is found wherever an expression may stand.
func TestPlaces(t *testing.T) {
	for _, place := range places {
		for target, want := range map[string]string{`'axios'`: "require:axios", `x + 'axios'`: "require:~"} {
			code := strings.Replace(place, "@", "require("+target+")", 1)
			if got := " " + summary(t, "x.js", code) + " "; !strings.Contains(got, " "+want+" ") {
				t.Errorf("%s: got %q", code, got)
			}
		}
	}
}
