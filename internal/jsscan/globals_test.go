package jsscan

import (
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/jsscan/meaning"
	"github.com/hallmark-mcp/hallmark/internal/nodecore"
	"github.com/hallmark-mcp/hallmark/plugin"
)

// A global that reaches the network is found as a free name and as a member of the global object, and not where the
// file declares the name. Each that the scanner finds needs a permission.
func TestGlobals(t *testing.T) {
	for name := range meaning.Networks {
		if nodecore.NeedOfGlobal(name) != nodecore.Network {
			t.Errorf("%s needs %q", name, nodecore.NeedOfGlobal(name))
		}
	}
	for code, want := range map[string]int{
		"fetch()": 1, "globalThis.fetch()": 1, "const { fetch: f } = globalThis; f()": 1, "global['fet' + 'ch']()": 1,
		"Reflect.get(globalThis, 'fetch')": 1, "const g = { ...globalThis }; g.fetch()": 1, "(() => { fetch() })": 1,
		"const a = [globalThis]; a[0].WebSocket": 1, "fetch(); fetch(); new EventSource()": 2,
		"Object.getOwnPropertyDescriptor(globalThis, 'fetch').value()": 1, "(function () { return this })().fetch()": 1,
		"function fetch() {} fetch()": 0, "exports.f = (fetch, o) => { fetch(); o.fetch() }": 0,
		"import { x as fetch } from './a.mjs'; fetch()": 0, "typeof globalThis.fetch": 0,
		"class A { fetch() { return this.fetch() } }": 0,
	} {
		found, err := File("a.mjs", []byte(code))
		got := 0
		for _, imp := range found {
			if imp.Kind == plugin.Global {
				got++
			}
		}
		if err != nil || got != want {
			t.Errorf("%s: %d globals, %v", code, got, err)
		}
	}
}
