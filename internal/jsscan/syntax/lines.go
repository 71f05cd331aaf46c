package syntax

import (
	"bytes"
	"slices"
	"unsafe"

	"github.com/tdewolff/parse/v2/js"
)

// Lines tells the lines of a file's code. A tree has no positions, but its pieces are slices of the code.
type Lines struct {
	code []byte
	ends []int // where lines end, once a line was asked for
}

// NewLines returns the lines of the code that the pieces of a tree point into.
func NewLines(code []byte) *Lines { return &Lines{code: code} }

// Of returns the line, from 1, at which a piece of the code stands, or 0 if it is not known.
func (l *Lines) Of(piece []byte) int {
	if len(piece) == 0 || len(l.code) == 0 {
		return 0
	}
	at := uintptr(unsafe.Pointer(unsafe.SliceData(piece))) - uintptr(unsafe.Pointer(unsafe.SliceData(l.code)))
	if at >= uintptr(len(l.code)) { // a word of the parser's own
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
	line, _ := slices.BinarySearch(l.ends, int(at))
	return 1 + line
}

// FirstPiece returns the first piece of the code that an expression holds, for [Lines.Of]; nil if it has none.
func FirstPiece(e js.INode) []byte {
	switch e := e.(type) {
	case *js.LiteralExpr:
		return e.Data
	case *js.Var:
		return e.Data
	case *js.GroupExpr:
		return FirstPiece(e.X)
	case *js.BinaryExpr:
		return FirstPiece(e.X)
	case *js.DotExpr:
		return FirstPiece(e.X)
	case *js.CallExpr:
		return FirstPiece(e.X)
	case *js.TemplateExpr:
		if len(e.List) > 0 {
			return e.List[0].Value
		}
		return e.Tail
	}
	return nil
}
