package place

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestExpandBraces: each choice of alternatives, in their order, or the reason.
func TestExpandBraces(t *testing.T) {
	for glob, want := range map[string]string{
		"a": "", "*.{pem,key}": "*.pem *.key", "{a,b}{c,d}": "ac ad bc bd", "{a,{b,c}d,}x": "ax bdx cdx x",
		"x{,.bak}": "x x.bak", "{a}": "a", "a{}b": "ab", `{a\,b,c}`: `a\,b c`, `\{a,b\}`: `\{a,b\}`, "a,{b,c},d": "a,b,d a,c,d",
		"{a/b,c}/**": "a/b/** c/**", "{1..3,5}": "1..3 5", "{{{{{{{{a}}}}}}}}": "a",
	} {
		got, err := expandBraces(glob)
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %q %v, want %s", glob, got, err, want)
		}
	}
	hundred := "{" + strings.TrimSuffix(strings.Repeat("a,", 100), ",") + "}"
	if got, err := expandBraces(hundred); err != nil || len(got) != 100 {
		t.Errorf("%d %v", len(got), err)
	}
	for glob, want := range map[string]error{
		"{a": errUnbalanced, "a}": errUnbalanced, "{a,b": errUnbalanced, "{a,{b}": errUnbalanced, "}{": errUnbalanced,
		`{a\}`: errUnbalanced, "{a,b}}": errUnbalanced, "{1..3}": errRange, "x{{a..z},b}": errRange,
		hundred[:len(hundred)-1] + ",a}": errExpansions, strings.Repeat("{a,b}", 7): errExpansions,
		"{" + hundred + ",b}": errExpansions, strings.Repeat("{", 9) + strings.Repeat("}", 9): errDepth,
		strings.Repeat("{", 500) + strings.Repeat("}", 500): errDepth, "{}" + strings.Repeat("x", 1023): errBraceGlob,
	} {
		if got, err := expandBraces(glob); err != want {
			t.Errorf("%.50s: %d %v, want %v", glob, len(got), err, want)
		}
	}
}

// TestBracesForbid: what either reading of a glob with braces matches is forbidden, and nothing else.
func TestBracesForbid(t *testing.T) {
	for _, x := range []struct{ glob, yes, no string }{
		{"*.{pem,key}", "a.pem d/b.key a.{pem,key} A.PEM", "a.crt pem a.pem2 a.pemkey"},
		{"{secrets,private/{a,b}}/**", "secrets secrets/x private/a/x private/b", "private private/c x d/secrets/x"},
		{"id{,_rsa}", "id id_rsa x/id id{,_rsa}", "id_ idrsa"},
		{"/{a,b}", "a b a/x", "x/a c"},
		{"x{a/b,c}y", "xa/by d/xcy xcy x{a/b,c}y", "d/xa/by"},
	} {
		s := &ruleSet{dir: "."}
		if err := s.parse("---\nforbidden: '" + x.glob + "'\n---\n"); err != nil {
			t.Error(x.glob, err)
		}
		for _, path := range strings.Fields(x.yes + " " + x.no) {
			if got, want := s.forbids(path), slices.Contains(strings.Fields(x.yes), path); got != want {
				t.Errorf("%s forbids %s: %v", x.glob, path, got)
			}
		}
	}
}

// TestBracesRefused: what braces cannot stand for forbids the directory, with the reason.
func TestBracesRefused(t *testing.T) {
	many := "forbidden:\n" + strings.Repeat("- '{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}'\n", 16)
	for text, want := range map[string]string{
		"forbidden: '{a'": "not balanced", "forbidden: '{1..9}'": "ranges", "forbidden: 'a/{..,b}'": "stands for",
		"forbidden: '{a,}'": "stands for", "forbidden: '{!a,b}'": "stands for", "forbidden: '{[a,b]}'": "stands for",
		"forbidden: '{a, }'": "stands for", many: fmt.Sprint("more than ", maxFileExpansions),
		"forbidden: '" + strings.Repeat("{a,b}", 7) + "'": fmt.Sprint("more than ", maxExpansions),
	} {
		s := &ruleSet{dir: "."}
		if err := s.parse("---\n" + text + "\n---\n"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %s", text, err, want)
		}
	}
}
