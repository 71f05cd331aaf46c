package reference

import (
	"fmt"
	"strings"
	"testing"
)

// TestMissingText: what is most like a text that does not occur is found in bounded time, however alike the lines are.
func TestMissingText(t *testing.T) {
	file := parseText([]byte(strings.Repeat("a\n", 400_000)))
	err := file.apply(edit{OldText: strings.Repeat("a\n", 300_000) + "b\n", NewText: "c\n"}, 1)
	if err == nil || !strings.Contains(err.Error(), "could not find") {
		t.Errorf("%.200v", err)
	}
	near := parseText([]byte("x\n" + strings.Repeat("a\n", 10) + "one\ntwo\nthree\n"))
	err = near.apply(edit{OldText: "one\ntwo\nfour\n", NewText: "c\n"}, 1)
	if err == nil || !strings.Contains(err.Error(), "as line 12 does, but for line 14, there stands three") {
		t.Error(err)
	}
}

// TestManyPatterns: patterns with alternatives stand for a bounded number of them together.
func TestManyPatterns(t *testing.T) {
	var patterns []string
	for i := range maxPatterns {
		patterns = append(patterns, fmt.Sprint(strings.Repeat("{a,b}", 7), i, strings.Repeat("x", 900)))
	}
	if _, err := parseExcludes(patterns); err == nil || !strings.Contains(err.Error(), "alternatives") {
		t.Error(err)
	}
	if _, err := parseExcludes([]string{"node_modules", "*.{js,ts,map}", "{dist,build}/**"}); err != nil {
		t.Error(err)
	}
}
