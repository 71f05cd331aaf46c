package flow

import "testing"

// What may be the constructor of functions is given names of parameters, and a text last: only a default value of a
// parameter is code.
func TestTextsOfPerhapsConstructors(t *testing.T) {
	for code, want := range map[string]bool{
		`exports.f = (x) => x.constructor("return process")()`:                 true,
		`exports.f = (x) => x.constructor("a", "return process")()`:            true,
		`exports.f = (x) => x.constructor("a = process.exit()", "return a")()`: true,
		`exports.f = (x) => x.constructor("{[process.exit()]: a}", "")({})`:    true,
		`exports.f = (x) => new x.constructor("process.exit()", {})`:           true,
		`exports.f = (x, y) => x.constructor("process._exiting", y)`:           false,
	} {
		if found, _ := scanned(t, code); len(found) > 0 != want {
			t.Errorf("%s: %v", code, found)
		}
	}
}
