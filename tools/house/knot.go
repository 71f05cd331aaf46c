package main

import (
	"go/ast"
	"path/filepath"
	"slices"
)

// largestKnot is the largest set of files of a package in which each needs every other, by what
// it uses of it; nil if none needs another that needs it.
func largestKnot(s *source) []string {
	uses := fileUses(s)
	var largest []string
	for _, knot := range knots(uses) {
		if len(knot) > 1 && len(knot) > len(largest) {
			largest = knot
		}
	}
	slices.Sort(largest)
	return largest
}

// fileUses says which files of the package each file uses: their functions, types, variables,
// methods and fields.
func fileUses(s *source) map[string]map[string]bool {
	uses := map[string]map[string]bool{}
	for _, f := range s.files {
		from := filepath.Base(s.fset.Position(f.Pos()).Filename)
		uses[from] = map[string]bool{}
		ast.Inspect(f, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			object := s.info.Uses[id]
			if object == nil || object.Pkg() != s.types {
				return true
			}
			if to := filepath.Base(s.fset.Position(object.Pos()).Filename); to != from {
				uses[from][to] = true
			}
			return true
		})
	}
	return uses
}

// knots are the strongly connected components of a graph, after Tarjan.
func knots(uses map[string]map[string]bool) (found [][]string) {
	index, low, open := map[string]int{}, map[string]int{}, map[string]bool{}
	var stack []string
	var visit func(string)
	visit = func(v string) {
		index[v] = len(index) + 1
		low[v] = index[v]
		stack, open[v] = append(stack, v), true
		for w := range uses[v] {
			switch {
			case index[w] == 0:
				visit(w)
				low[v] = min(low[v], low[w])
			case open[w]:
				low[v] = min(low[v], index[w])
			}
		}
		if low[v] != index[v] {
			return
		}
		at := slices.Index(stack, v)
		for _, w := range stack[at:] {
			open[w] = false
		}
		found = append(found, slices.Clone(stack[at:]))
		stack = stack[:at]
	}
	for v := range uses {
		if index[v] == 0 {
			visit(v)
		}
	}
	return found
}
