package flow

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/js"

	"github.com/hallmark-mcp/hallmark/plugin"
)

// scanned reads code, and returns what was found and the graph that was followed for it.
func scanned(t *testing.T, code string) ([]plugin.Import, *graph) {
	t.Helper()
	in := parse.NewInputString(code)
	ast, err := js.Parse(in, js.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b := newScanner(ast, in.Bytes(), true).run(ast)
	return b.found, b.g
}

// TestBoundsHold reads scripts in which everything leads to everything. The work stays within what their size
// allows, and where that is not enough, they have a finding.
func TestBoundsHold(t *testing.T) {
	repeat := func(n int, line func(int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(line(i))
		}
		return b.String()
	}
	for name, code := range map[string]string{
		"each object has those before it": "const o0 = {f() {}};\n" + repeat(2500, func(i int) string {
			return fmt.Sprintf("const o%d = {...o%d, p%d() {}};\n", i+1, i, i)
		}),
		"a late property of a long chain": "const o0 = {};\n" + repeat(20000, func(i int) string {
			return fmt.Sprintf("const o%d = {...o%d};\n", i+1, i)
		}) + "o0.late = require;\n",
		"all objects in all": "let a;\n" + repeat(2000, func(i int) string {
			return fmt.Sprintf("a = {...a, p%d: a, q%d() { return a.p%d[a] }};\n", i, i, i/2)
		}),
		"all functions call all": "let f;\n" + repeat(3000, func(int) string {
			return "f = (g, h) => { g(f, h); return h(f)(g, f) };\n"
		}) + "f(f, f);\n",
	} {
		t.Run(name, func(t *testing.T) {
			found, g := scanned(t, code)
			if limit := stepsFor(len(code)); g.steps > 2*limit || g.copied > limit || len(g.nodes) > limit {
				t.Errorf("%d bytes: %d steps, %d properties copied, %d places; limit %d", len(code), g.steps, g.copied,
					len(g.nodes), limit)
			}
			says := slices.ContainsFunc(found, func(i plugin.Import) bool { return i.Specifier == "more code than can be followed" })
			if spent := g.spent(); spent != says {
				t.Errorf("all steps taken: %v; a finding that says so: %v", spent, says)
			}
		})
	}
}

// TestOrdinaryCodeIsCheap holds that the steps for ordinary code grow as the code does.
func TestOrdinaryCodeIsCheap(t *testing.T) {
	const body = `
class Item%d {
  constructor(name, options = {}) { this.name = name; this.options = { depth: 3, ...options }; }
  *walk(list) { for (const [key, value] of Object.entries(list ?? {})) yield [key, String(value)]; }
  async send(message) { try { return await this.options.send?.({ name: this.name, message }); } catch (e) { throw e; } }
}
exports.Item%d = Item%d;
`
	steps := func(n int) int {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, body, i, i, i)
		}
		_, g := scanned(t, b.String())
		return g.steps
	}
	few, many := steps(50), steps(200)
	if few == 0 || many > 5*few {
		t.Errorf("%d steps for 50 classes, %d for 200", few, many)
	}
}
