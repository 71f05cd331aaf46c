package flow

import (
	"strings"

	"github.com/tdewolff/parse/v2/js"

	"github.com/hallmark-mcp/hallmark/internal/jsscan/syntax"
	"github.com/hallmark-mcp/hallmark/plugin"
)

type scanner struct {
	code    []byte
	lines   bool               // positions in code are those of the file
	top     map[string]*js.Var // what is declared at the top, by name
	found   []plugin.Import
	globals []plugin.Import // that reach the network
	all     *syntax.Lines
}

func newScanner(ast *js.AST, code []byte, lines bool) *scanner {
	s := &scanner{code: code, lines: lines, all: syntax.NewLines(code), top: map[string]*js.Var{}}
	for _, v := range ast.Scope.Undeclared { // what is imported counts as such
		s.top[syntax.PlainIdentifier(v.Data)] = syntax.DeclarationOf(v)
	}
	for _, v := range ast.Scope.Declared {
		s.top[syntax.PlainIdentifier(v.Data)] = v
	}
	return s
}

func (s *scanner) addStatement(kind plugin.Kind, module []byte) {
	if target, ok := syntax.Fold(&js.LiteralExpr{TokenType: js.StringToken, Data: module}); ok {
		s.found = append(s.found, plugin.Import{Line: s.lineOf(module), Kind: kind, Specifier: target})
		return
	}
	s.addComputed(kind, string(module), module)
}

func (s *scanner) addComputed(kind plugin.Kind, text string, at []byte) {
	s.found = append(s.found, plugin.Import{Line: s.lineOf(at), Kind: kind, Specifier: clipText(text), Computed: true})
}

// clipText shortens code for a person.
func clipText(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > 80 {
		text = strings.ToValidUTF8(text[:80], "") + "…"
	}
	return text
}

// lineOf returns the line, from 1, at which a piece of the code stands, or 0 if it is not known.
func (s *scanner) lineOf(piece []byte) int {
	if !s.lines {
		return 0
	}
	return s.all.Of(piece)
}
