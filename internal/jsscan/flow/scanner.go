package flow

import (
	"bytes"
	"slices"
	"strings"
	"unsafe"

	"github.com/tdewolff/parse/v2/js"

	"github.com/hallmark-mcp/hallmark/internal/jsscan/syntax"
	"github.com/hallmark-mcp/hallmark/plugin"
)

type scanner struct {
	code  []byte
	lines bool               // positions in code are those of the file
	top   map[string]*js.Var // what is declared at the top, by name
	found []plugin.Import
	ends  []int // where lines end, once a line was asked for
}

func newScanner(ast *js.AST, code []byte, lines bool) *scanner {
	s := &scanner{code: code, lines: lines, top: map[string]*js.Var{}}
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

// firstPiece returns the first piece of the code that an expression holds, for lineOf; nil if it has none.
func firstPiece(e js.INode) []byte {
	switch e := e.(type) {
	case *js.LiteralExpr:
		return e.Data
	case *js.Var:
		return e.Data
	case *js.GroupExpr:
		return firstPiece(e.X)
	case *js.BinaryExpr:
		return firstPiece(e.X)
	case *js.DotExpr:
		return firstPiece(e.X)
	case *js.CallExpr:
		return firstPiece(e.X)
	case *js.TemplateExpr:
		if len(e.List) > 0 {
			return e.List[0].Value
		}
		return e.Tail
	}
	return nil
}

// lineOf returns the line, from 1, at which a piece of the code stands, or 0 if it is not known. The tree
// has no positions, but its pieces are slices of the code.
func (s *scanner) lineOf(piece []byte) int {
	if !s.lines || len(piece) == 0 || len(s.code) == 0 {
		return 0
	}
	at := uintptr(unsafe.Pointer(unsafe.SliceData(piece))) - uintptr(unsafe.Pointer(unsafe.SliceData(s.code)))
	if at >= uintptr(len(s.code)) { // a word of the parser's own
		return 0
	}
	if s.ends == nil {
		s.ends = make([]int, 0, 1+bytes.Count(s.code, []byte("\n")))
		for i, c := range s.code {
			if c == '\n' {
				s.ends = append(s.ends, i)
			}
		}
	}
	line, _ := slices.BinarySearch(s.ends, int(at))
	return 1 + line
}
