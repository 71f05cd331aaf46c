package flow

import (
	"strings"
	"testing"
)

// modules is a bundle as webpack writes it; at the mark is more code that knows the function which loads modules.
const modules = `(() => {
var modules = {
421(module) { "use strict"; module.exports = require("node:process"); },
1e3: (module) => { module.exports = require("node:module"); },
116(__unused, exports, load) {
  const p = load(421), m = load(1000);
  exports.name = function () { return p.title };
  exports.list = () => m.builtinModules;
  MARK
}};
const cache = {};
function load(id) {
  const cached = cache[id];
  if (cached !== undefined) return cached.exports;
  const module = cache[id] = { exports: {} };
  modules[id](module, module.exports, load);
  return module.exports;
}
module.exports = load(116);
})();`

// What modules of a bundle export is told apart by their numbers, and found where it is used.
func TestModulesAreToldApart(t *testing.T) {
	for code, want := range map[string]string{
		``:                        "",
		`exports.p = load(421)`:   "handed on",
		`exports.p = load(0x1a5)`: "handed on",
		`exports.p = load(4_21)`:  "handed on",
		`exports.m = load(1e3).createRequire("/")`:  "handed on",
		`load(1e3).createRequire("/")("axios")`:     "axios",
		`load(421).getBuiltinModule("fs")`:          "fs",
		`load(400 + 21).getBuiltinModule("fs")`:     "fs",
		`const n = 421; exports.p = load(n)`:        "handed on",
		`load(421)["mainModule"].require("axios")`:  "axios",
		`[421].forEach((n) => exports.p = load(n))`: "handed on",
	} {
		found, _ := scanned(t, strings.Replace(modules, "MARK", code, 1))
		var all []string
		for _, i := range found {
			if i.Specifier != "node:process" && i.Specifier != "node:module" {
				all = append(all, i.Specifier)
			}
		}
		if got := strings.Join(all, "; "); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: found %q", code, got)
		}
	}
}

// A number is the name of a member, and no text in a sum.
func TestNumbersAreNoTexts(t *testing.T) {
	found, _ := scanned(t, `const t = {1: {}, 2: require, 11: {}};
function get(n) { return t[n + n] }
get(1)("axios");
function own(n) { return {}[n](require) }
own(1)("ws");`)
	if len(found) == 0 {
		t.Error("nothing is found")
	}
}

// What is called of an object that has no functions is what all objects have, which gives back what it is given.
func TestMissingMembersAreCalled(t *testing.T) {
	for _, code := range []string{
		`const o = {}; exports.f = (k) => o[k](require)("axios")`,
		`const o = {}; exports.f = (k) => o[k]({r: require}).r("axios")`,
		`const o = {}; exports.f = (k, l) => { o[k]("x", () => require); o[l]("axios") }`,
		`const o = {r: require}; exports.f = (k) => o[k]().r("axios")`,
		`const o = {}; exports.f = (k) => o[k]({}, require)`,
	} {
		if found, _ := scanned(t, code); len(found) == 0 {
			t.Errorf("%s: nothing is found", code)
		}
	}
}
