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

// firstPiece returns the first piece of the code that an expression holds, for [lines.of]; nil if it has none.
func firstPiece(e js.INode) []byte {
	switch e := e.(type) {
	case js.LiteralExpr:
		return e.Data
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
	case *js.IndexExpr:
		return firstPiece(e.X)
	case *js.NewExpr:
		return firstPiece(e.X)
	case *js.UnaryExpr:
		return firstPiece(e.X)
	case *js.CondExpr:
		return firstPiece(e.Cond)
	case *js.CommaExpr:
		if len(e.List) > 0 {
			return firstPiece(e.List[0])
		}
	case *js.BindingObjectItem:
		if e.Key != nil {
			return e.Key.Literal.Data
		}
		return firstPiece(e.Value.Binding)
	case *js.TemplateExpr:
		if len(e.List) > 0 {
			return e.List[0].Value
		}
		return e.Tail
	}
	return nil
}
