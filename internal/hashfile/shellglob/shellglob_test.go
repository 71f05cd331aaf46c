package shellglob

import (
	"strings"
	"testing"
)

func TestMatches(t *testing.T) {
	// What minimatch 10.2.6 says with the option dot, and globset 0.4; asked once, and written down.
	for _, c := range []struct {
		style       Style
		path, glob  string
		wantMatched bool
	}{
		{Minimatch, "a", "a/**", false}, {Minimatch, "a/b", "a/**", true}, {Minimatch, "a", "**/a", true},
		{Minimatch, "x/a", "**/a", true}, {Minimatch, "a", "**", true}, {Minimatch, "a/b/c", "**", true},
		{Minimatch, "a/b", "**/a/**", true}, {Minimatch, "a", "**/a/**", false}, {Minimatch, "a", "./a", false},
		{Minimatch, "a", "a/", false}, {Minimatch, "ab", "a[]b", false}, {Minimatch, "a]", "a[]]", true},
		{Minimatch, "ab", "+(a|b)", true}, {Minimatch, "abc", "+(a|b)", false}, {Minimatch, "ab", "a**", true},
		{Minimatch, "a/b", "a**", false}, {Minimatch, "a", "?(a)", true}, {Minimatch, "a", "{a}", false},
		{Minimatch, "{a}", "{a}", true}, {Minimatch, "a[", "a[", true}, {Minimatch, "ac", "a[!b]", true},
		{Minimatch, "a/", "a[!b]", false}, {Minimatch, "ab", "A*", false}, {Minimatch, ".x", "*", true},
		{Minimatch, "#a", "#a", false}, {Minimatch, "a-b", "a[x-]b", true}, {Minimatch, "\u00e9", "?", true},
		{Minimatch, "a", "[[:alpha:]]", true}, {Minimatch, "a{", "a{", true}, {Minimatch, "x.ts", "*.{ts,js}", true},
		{Minimatch, "x.ts", "*.{ts}", false}, {Minimatch, "x/y.ts", "{x,z}/*.ts", true}, {Minimatch, "a", "{,a}", true},
		{Minimatch, "x/y/z.go", "*.go", false}, {Minimatch, "x/y/z.go", "x/**/*.go", true},
		{Minimatch, "x/z.go", "x/**/*.go", true}, {Minimatch, "a.go", "!*.go", false}, {Minimatch, "a.ts", "!*.go", true},
		{Minimatch, "a*", `a\*`, true}, {Minimatch, "ab", `a\*`, false}, {Minimatch, "a", "", false},
		{Minimatch, "a,b", "{a\\,b,c}", true}, {Minimatch, "xay", "x{a,{b,c}}y", true},
		{Minimatch, "xcy", "x{a,{b,c}}y", true},
		{Globset, "/r/a/x.log", "*.log", true}, {Globset, "/r/a", "**/a", true}, {Globset, "/r/a/b", "**/a/**", true},
		{Globset, "/r/a", "a", false}, {Globset, "/r/a/b", "/r/**", true}, {Globset, "/r", "/r/**", false},
		{Globset, "/r/b", "/r/**/b", true}, {Globset, "/r/a/b", "/r/**/b", true}, {Globset, "/r/b", "/r?b", true},
		{Globset, "!a", "!a", true},
	} {
		g, err := Parse(c.glob, c.style)
		if err != nil {
			t.Errorf("%q: %v", c.glob, err)
			continue
		}
		if got := g.Matches(c.path); got != c.wantMatched {
			t.Errorf("%q, %q: %v", c.path, c.glob, got)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, text := range []string{"a{1..3}", "!(a)", "x/!(a)", "a[b-a]", strings.Repeat("a", 1001),
		strings.Repeat("{a,b}", 9)} {
		if _, err := Parse(text, Minimatch); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}
