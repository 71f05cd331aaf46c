package jsscan

import (
	"cmp"
	"slices"

	"github.com/tdewolff/parse/v2/js"

	"github.com/hallmark-mcp/hallmark/plugin"
)

// scan finds what the tree of a file imports, and the globals that it uses. Lines are counted in code, which the pieces
// of the tree point into.
func scan(ast *js.AST, code []byte) (found, globals []plugin.Import) {
	n := learnNames(ast)
	s := &scanner{names: n, all: &lines{code: code}, bare: bareFinder{}}
	s.strict = []bool{slices.ContainsFunc(ast.List, isModuleStatement) || hasDirective(ast.List)}
	walk(s.bare, ast)
	if !n.settle() {
		s.compute(ast, plugin.Use, "more names than can be followed")
	}
	walk(s, ast)
	return inOrder(s.found), inOrder(s.globals)
}

// inOrder returns imports in the order in which they stand.
func inOrder(places []place) (found []plugin.Import) {
	// unknown ones last
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(uint(a.at), uint(b.at)) })
	for _, p := range places {
		found = append(found, p.Import)
	}
	return found
}

// isModuleStatement reports whether a statement is one of ES modules only.
func isModuleStatement(st js.IStmt) bool {
	switch st.(type) {
	case *js.ImportStmt, *js.ExportStmt:
		return true
	}
	return false
}
