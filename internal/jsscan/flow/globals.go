package flow

import (
	"github.com/tdewolff/parse/v2/js"

	"github.com/hallmark-mcp/hallmark/internal/jsscan/meaning"
	"github.com/hallmark-mcp/hallmark/internal/jsscan/syntax"
	"github.com/hallmark-mcp/hallmark/plugin"
)

// freeGlobals records the globals of [meaning.Networks] that a script names and does not declare itself.
func (s *scanner) freeGlobals(ast *js.AST) {
	own := importedNames(ast)
	for _, v := range ast.Scope.Undeclared {
		if name := syntax.PlainIdentifier(v.Data); v.Decl == js.NoDecl && meaning.Networks[name] && !own[name] {
			s.useGlobal(name, s.lineOf(v.Data))
		}
	}
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

// useGlobal records a global, once in a file.
func (s *scanner) useGlobal(name string, line int) {
	for _, g := range s.globals {
		if g.Specifier == name {
			return
		}
	}
	s.globals = append(s.globals, plugin.Import{Line: line, Kind: plugin.Global, Specifier: name})
}

// readGlobal records a global that is read as a member of the global object, at a place if it is known.
func (s *scanner) readGlobal(name string, at js.INode) {
	line := 0
	if at != nil {
		line = s.lineOf(syntax.FirstPiece(at))
	}
	s.useGlobal(name, line)
}
