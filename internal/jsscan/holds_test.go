package jsscan_test

import (
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/jsscan"
)

func TestHoldsImport(t *testing.T) {
	for code, want := range map[string]bool{
		`f(1)`: false, `f("import(x)")`: false, "f(`import(x)`)": false, `// import(x)`: false, `/import(x)/.test(1)`: false,
		`o.import(x)`: false, `({ import(x) { return 1 } })`: false, `f("import.meta")`: false,
		`import(x)`: true, `f(import(x, y))`: true, `import.meta`: true, "f(`${import(x)}`)": true, `class A { [import("x")]() {} }`: true,
		`class A { static { import("x") } }`: true, `class A { x = import("x") }`: true, `((a = import("x")) => 1)()`: true,
		`({ [import("x")]: 1 })`: true, `var { a = import("x") } = {}`: true, `async () => { for await (const x of import("x")); }`: true,
		"import(\"x\"": true, "`import(${import(`import(`)})`": true,
	} {
		if got := jsscan.HoldsImport([]byte(code)); got != want {
			t.Errorf("%s: %v", code, got)
		}
	}
}
