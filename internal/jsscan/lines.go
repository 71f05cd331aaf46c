package jsscan

import (
	"bytes"
	"slices"
	"unsafe"

	"github.com/tdewolff/parse/v2/js"
)

// lines tells the lines of a file's code. A tree has no positions, but its pieces are slices of the code.
type lines struct {
	code []byte
	ends []int // where lines end, once a line was asked for
}

// of returns the line, from 1, at which a piece of the code stands, or 0 if it is not known.
func (l *lines) of(piece []byte) int {
	at := l.offset(piece)
	if at < 0 {
		return 0
	}
	if l.ends == nil {
		l.ends = make([]int, 0, 1+bytes.Count(l.code, []byte("\n")))
		for i, c := range l.code {
			if c == '\n' {
				l.ends = append(l.ends, i)
			}
		}
	}
	line, _ := slices.BinarySearch(l.ends, at)
	return 1 + line
}

// offset returns where a piece of the code begins, -1 if that is not known.
func (l *lines) offset(piece []byte) int {
	if len(piece) == 0 || len(l.code) == 0 {
		return -1
	}
	at := uintptr(unsafe.Pointer(unsafe.SliceData(piece))) - uintptr(unsafe.Pointer(unsafe.SliceData(l.code)))
	if at >= uintptr(len(l.code)) { // a word of the parser's own
		return -1
	}
	return int(at)
}

// ownPiece returns a piece of the code that stands where an expression does, for [lines.of]; nil if it has none. A name
// is none: the tree has it once, for all places.
func ownPiece(e js.INode) []byte { return ownPieceIn(e, maxWithin) }

// maxWithin is how deep, and how wide, a piece is looked for in an expression.
const maxWithin = 8

func ownPieceIn(e js.INode, depth int) []byte {
	var within []js.INode
	switch e := e.(type) {
	case js.LiteralExpr:
		return e.Data
	case *js.LiteralExpr:
		return e.Data
	case *js.TemplateExpr:
		return e.Tail
	case *js.PropertyName:
		return e.Literal.Data
	case *js.BindingObjectItem:
		if e.Key != nil {
			return e.Key.Literal.Data
		}
	case *js.GroupExpr:
		within = []js.INode{e.X}
	case *js.DotExpr:
		within = []js.INode{e.X, e.Y}
	case *js.IndexExpr:
		within = []js.INode{e.X, e.Y}
	case *js.BinaryExpr:
		within = []js.INode{e.X, e.Y}
	case *js.CondExpr:
		within = []js.INode{e.Cond, e.X, e.Y}
	case *js.UnaryExpr:
		within = []js.INode{e.X}
	case *js.NewExpr:
		within = []js.INode{e.X}
	case *js.CallExpr:
		within = []js.INode{e.X}
		for _, a := range e.Args.List[:min(len(e.Args.List), maxWithin)] {
			within = append(within, a.Value)
		}
	}
	for i := 0; i < len(within) && depth > 0; i++ {
		if piece := ownPieceIn(within[i], depth-1); piece != nil {
			return piece
		}
	}
	return nil
}

// pieceAt returns a piece of the code at a node, or of what holds it; above is that, from the file down. It is nil
// where only names that have other places stand.
func pieceAt(n js.INode, above []js.INode) []byte {
	if piece := ownPiece(n); piece != nil {
		return piece
	}
	if v, ok := n.(*js.Var); ok && declarationOf(v).Uses < 2 {
		return v.Data
	}
	for i := len(above) - 1; i >= 0; i-- {
		switch above[i].(type) {
		case *js.BlockStmt, *js.FuncDecl, *js.ArrowFunc: // what holds these is elsewhere
			return nil
		}
		if piece := ownPiece(above[i]); piece != nil {
			return piece
		}
	}
	return nil
}
