package local

import (
	"slices"
	"strings"
	"testing"
)

// TestLiterals: texts are found beside comments, escapes and quotes of every kind, with their keys.
func TestLiterals(t *testing.T) {
	for _, c := range []struct {
		data    string
		comment byte
		want    []literal
	}{
		{`{"a": "b", // "c"` + "\n" + `/* "d" */ "e": ["f\u0041", "g\"h"], "i": {"j/*": "k"}}`, '/',
			[]literal{{"a", "b"}, {"e", "fA"}, {"e", `g"h`}, {"j/*", "k"}}},
		{"a = ['b', \"c\"] # \"d\"\n[e]\nf = 'g\\'\n", '#', []literal{{"a", "b"}, {"a", "c"}, {"f", `g\`}}},
		{"MAPPING = {'a': '/b'}", '#', []literal{{"MAPPING", "a"}, {"MAPPING", "/b"}}},
		{`/*/ "a": "b" */ "c": "d"`, '/', []literal{{"c", "d"}}},
		{`"open`, '/', nil}, {`/* open "a"`, '/', nil}, {`"a" "`, '/', []literal{{"", "a"}}},
	} {
		if got := findLiterals([]byte(c.data), c.comment); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", c.data, got)
		}
	}
	if got := findLiterals([]byte(strings.Repeat(`/**/`, 1<<18)), '/'); got != nil { // in time that is linear
		t.Errorf("%q", got)
	}
}
