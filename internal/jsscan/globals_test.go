package jsscan

import (
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/nodecore"
	"github.com/hallmark-mcp/hallmark/plugin"
)

// A global that reaches the network is found as a free name and as a member of the global object, and not where the
// file declares the name. Each that the scanner finds needs a permission.
func TestGlobals(t *testing.T) {
	for name := range networks {
		if nodecore.NeedOfGlobal(name) != nodecore.Network {
			t.Errorf("%s needs %q", name, nodecore.NeedOfGlobal(name))
		}
	}
	const handedOn = -1 // and so computed
	for code, want := range map[string]int{
		"fetch()": 1, "globalThis.fetch()": 1, "const { fetch: f } = globalThis; f()": 1, "global['fet' + 'ch']()": 1,
		"(() => { fetch() })": 1, "fetch(); fetch(); new EventSource()": 2, "const g = globalThis; g.WebSocket": 1,
		"Reflect.get(globalThis, 'fetch')": handedOn, "const g = { ...globalThis }; g.fetch()": handedOn,
		"const a = [globalThis]; a[0].WebSocket": handedOn, "(function () { return this })().fetch()": handedOn,
		"Object.getOwnPropertyDescriptor(globalThis, 'fetch').value()": handedOn,
		"function fetch() {} fetch()":                                  0, "exports.f = (fetch, o) => { fetch(); o.fetch() }": 0,
		"import { x as fetch } from './a.mjs'; fetch()": 0, "typeof globalThis.fetch": 0, "typeof fetch": 0,
		"class A { fetch() { return this.fetch() } }": 0,
	} {
		found, err := File("a.cjs", []byte(code))
		got := 0
		for _, imp := range found {
			switch {
			case imp.Kind == plugin.Global:
				got++
			case imp.Computed:
				got = handedOn
			}
		}
		if err != nil || got != want {
			t.Errorf("%s: %d globals, %v", code, got, err)
		}
	}
}
