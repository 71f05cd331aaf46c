package jsscan

import (
	"bytes"

	"github.com/tdewolff/parse/v2/js"
)

// HoldsImport reports whether a script has import() or import.meta, or cannot be read whole. It is for
// code that a printer wrote, which spells these words plainly.
func HoldsImport(code []byte) (holds bool) {
	if !bytes.Contains(code, []byte("import(")) && !bytes.Contains(code, []byte("import.")) {
		return false
	}
	defer func() {
		if recover() != nil { // the parser is not ours
			holds = true
		}
	}()
	ast, _ := parseTree(code, false)
	if ast == nil {
		return true
	}
	f := new(importFinder)
	js.Walk(f, ast)
	return f.found
}

type importFinder struct{ found bool }

func (f *importFinder) Enter(n js.INode) js.IVisitor {
	switch n := n.(type) {
	case *js.LiteralExpr:
		f.found = f.found || n.TokenType == js.ImportToken
	case *js.ImportMetaExpr:
		f.found = true
	case *js.ClassElementName:
		js.Walk(f, &n.PropertyName) // which Walk leaves out
	}
	return f
}

func (f *importFinder) Exit(js.INode) {}
