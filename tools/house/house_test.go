package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"
)

func TestParticiples(t *testing.T) {
	for name, want := range map[string]bool{
		"said": true, "Held": true, "checked": true, "unfetched": true, "isChecked": false, "checkedFiles": false,
		"need": false, "seed": false, "red": false, "x": false,
	} {
		if isParticiple(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}

func TestBranches(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "x.go", `package x
func f(a, b bool) {
	if a && b || !a {
		for range 3 {
		}
	}
	switch {
	case a, b:
	default:
	}
	_ = func() { select { case <-c: default: } }
}`, 0)
	if err != nil {
		t.Fatal(err)
	}
	if n := branches(f.Decls[0].(*ast.FuncDecl)); n != 7 {
		t.Errorf("%d", n)
	}
}

func TestKnots(t *testing.T) {
	uses := map[string]map[string]bool{
		"a": {"b": true}, "b": {"c": true}, "c": {"a": true, "d": true}, "d": {"e": true}, "e": {}, "f": {"a": true},
	}
	var sizes []int
	for _, knot := range knots(uses) {
		sizes = append(sizes, len(knot))
	}
	slices.Sort(sizes)
	if !slices.Equal(sizes, []int{1, 1, 1, 3}) {
		t.Errorf("%v", sizes)
	}
}
