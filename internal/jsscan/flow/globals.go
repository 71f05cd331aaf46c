package flow

import (
	"github.com/tdewolff/parse/v2/js"

	"github.com/hallmark-mcp/hallmark/internal/jsscan/syntax"
	"github.com/hallmark-mcp/hallmark/plugin"
)

// Globals finds the names of Node's global functions and classes that a script uses and does not declare itself,
// each once, as far as [plugin.IsGlobal] knows them. Code and lines are those of [Imports].
func Globals(ast *js.AST, code []byte, lines bool) []plugin.Import {
	s := newScanner(ast, code, lines)
	own := importedNames(ast)
	for _, v := range ast.Scope.Undeclared {
		name := syntax.PlainIdentifier(v.Data)
		if v.Decl == js.NoDecl && plugin.IsGlobal(name) && !own[name] {
			s.found = append(s.found, plugin.Import{Line: s.lineOf(v.Data), Kind: plugin.Global, Specifier: name})
		}
	}
	return s.found
}

// importedNames are the names that a module's statements import, which the tree does not count as declared.
func importedNames(ast *js.AST) map[string]bool {
	names := map[string]bool{}
	for _, statement := range ast.List {
		imports, ok := statement.(*js.ImportStmt)
		if !ok {
			continue
		}
		names[syntax.PlainIdentifier(imports.Default)] = true
		for _, alias := range imports.List {
			names[syntax.PlainIdentifier(alias.Binding)] = true
		}
	}
	return names
}
