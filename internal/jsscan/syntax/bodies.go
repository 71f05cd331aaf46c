package syntax

import "github.com/tdewolff/parse/v2/js"

// What the body of a function does.

// LooksUp reports whether code takes members under the name that is a parameter.
func LooksUp(body js.INode, v *js.Var) bool {
	w := &lookup{of: v}
	js.Walk(w, body)
	return w.found
}

type lookup struct {
	of    *js.Var
	found bool
}

func (l *lookup) Enter(n js.INode) js.IVisitor {
	if x, ok := n.(*js.IndexExpr); ok {
		v, isName := WithoutParens(x.Y).(*js.Var)
		l.found = l.found || isName && DeclarationOf(v) == l.of
	}
	if l.found {
		return nil
	}
	return l
}

func (l *lookup) Exit(js.INode) {}

// Wraps reports whether code makes functions, or takes members under names that it is given.
func Wraps(body js.INode) bool {
	w := &wrapping{}
	js.Walk(w, body)
	return w.found
}

type wrapping struct{ found bool }

func (w *wrapping) Enter(n js.INode) js.IVisitor {
	switch n := n.(type) {
	case *js.FuncDecl, *js.ArrowFunc:
		w.found = true
	case *js.IndexExpr:
		if _, isLiteral := n.Y.(*js.LiteralExpr); !isLiteral {
			w.found = true
		}
	}
	if w.found {
		return nil
	}
	return w
}

func (w *wrapping) Exit(js.INode) {}

// UsesArguments reports whether code of a function knows its arguments by another way than its parameters.
func UsesArguments(n js.INode, arrow bool) bool {
	a := &argumentsUse{arrow: arrow}
	js.Walk(a, n)
	return a.found
}

// argumentsUse looks for a use of the arguments of a function.
type argumentsUse struct{ arrow, found bool }

func (a *argumentsUse) Enter(n js.INode) js.IVisitor {
	switch n := n.(type) {
	case *js.FuncDecl, *js.MethodDecl:
		return nil // has its own
	case *js.Var:
		switch PlainIdentifier(n.Data) {
		case "arguments", "eval":
			a.found = a.found || !a.arrow
		}
	case *js.DotExpr:
		a.found = a.found || PropertyName(n.Y) == "arguments"
	}
	if a.found {
		return nil
	}
	return a
}

func (a *argumentsUse) Exit(js.INode) {}

// Size counts nodes, up to a limit.
func Size(n js.INode, limit int) int {
	c := &sizer{limit: limit}
	js.Walk(c, n)
	return c.n
}

type sizer struct{ n, limit int }

func (s *sizer) Enter(js.INode) js.IVisitor {
	if s.n++; s.n > s.limit {
		return nil
	}
	return s
}
func (s *sizer) Exit(js.INode) {}
