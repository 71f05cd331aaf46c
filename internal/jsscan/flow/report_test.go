package flow

import (
	"strings"
	"testing"
)

// What was handed on is told once: with its members, and with the calls that perhaps evaluate a text by it. Calls
// that evaluate, import or pick a member for certain are told of wherever they stand, and so are those of what
// nobody was given.
func TestHandedOnIsToldOnce(t *testing.T) {
	const perhaps = `exports.f = (x, y) => { const g = x ? FUNCTION : y; return g(x, y) };`
	for code, want := range map[string]string{
		strings.Replace(perhaps, "FUNCTION", "Function", 1):                                        "g(x, y)",
		strings.Replace(perhaps, "FUNCTION", "eval", 1) + `log(eval);`:                             "eval, handed on",
		strings.Replace(perhaps, "FUNCTION", "eval", 1) + `log(process);`:                          "process, handed on; g(x, y)",
		strings.Replace(perhaps, "FUNCTION", "eval", 1) + `log(eval); exports.h = (x) => eval(x);`: "eval, handed on; eval(x)",
		strings.Replace(perhaps, "FUNCTION", "require", 1) + `log(require);`:                       "require, handed on; x",
		`exports.f = (x) => [process[x]]`:                                                          "process[x], handed on",
		`exports.f = (x) => [process[x]]; log(process)`:                                            "process, handed on",
		`exports.f = (x) => [process[x], module[x]]; log(process)`:                                 "process, handed on; module[x], handed on",
		`exports.f = (x) => (x || process[x])(); log(process)`:                                     "process, handed on",
		`exports.f = (x) => (x || process[x])(); log(module)`:                                      "module, handed on; (x || process[x])",
		`exports.f = (x) => process[x](); log(process)`:                                            "process, handed on; process[x]",
	} {
		found, _ := scanned(t, code)
		var all []string
		for _, i := range found {
			all = append(all, i.Specifier)
		}
		if got := strings.Join(all, "; "); got != want {
			t.Errorf("%s: found %q, want %q", code, got, want)
		}
	}
}
