package jsscan

import (
	"slices"

	"github.com/tdewolff/parse/v2/js"

	"github.com/hallmark-mcp/hallmark/plugin"
)

// Where a value that imports is handed to, and whether that can be followed.

// canImport reports whether a value of this meaning can import wherever it is passed.
func canImport(m meaning) bool {
	switch m {
	case requires, creates, loads, builtins, moduleItself, moduleSpace, moduleCache, loaders, loadsFile, compiles,
		executes, opens:
		return true
	}
	return false
}

// checkUse records a use of require that passes it on to where it cannot be followed.
func (s *scanner) checkUse(v *js.Var) {
	name := plainIdentifier(declarationOf(v).Data)
	if name == "arguments" && declarationOf(v).Decl == js.NoDecl && !slices.ContainsFunc(s.stack, bindsArguments) {
		s.addComputed(plugin.Require, "arguments at the top, which hold require", v.Data)
		return
	}
	if m := s.meaningOf(v); canImport(m) || m == resolves {
		s.addHandedOn(v, name, v.Data)
	}
}

func bindsArguments(n js.INode) bool {
	switch n.(type) {
	case *js.FuncDecl, *js.MethodDecl:
		return true
	}
	return false
}

// isFollowed reports whether the scanner understands this use of n, which is below the stack: a
// call, a member, a test, or a name that was learned.
func (s *scanner) isFollowed(n js.INode) bool {
	child := n
	for i := len(s.stack) - 1; i >= 0; child, i = s.stack[i], i-1 {
		switch p := s.stack[i].(type) {
		case *js.GroupExpr, *js.CommaExpr:
			continue
		case *js.CondExpr:
			if js.INode(p.Cond) == child { // tested
				return true
			}
		case *js.BinaryExpr:
			switch p.Op {
			case js.AndToken:
				if js.INode(p.X) == child { // passes on only what is nothing
					return true
				}
				continue
			case js.OrToken, js.NullishToken:
				continue
			case js.EqToken, js.OrEqToken, js.AndEqToken, js.NullishEqToken:
				if js.INode(p.X) == child { // written
					return true
				}
				return isPattern(p.X)
			}
			return true // compared
		case *js.UnaryExpr:
			if p.Op != js.AwaitToken {
				return true
			}
		case *js.CallExpr, *js.DotExpr, *js.IndexExpr, *js.TemplateExpr, *js.ExprStmt, *js.IfStmt, *js.NewExpr,
			*js.ForInStmt:
			return true
		case *js.BindingElement:
			return p.Default == nil || isPattern(p.Binding)
		case *js.Property:
			return s.isAssigned(i)
		case *js.BindingObjectItem, *js.BindingObject, *js.Params, *js.VarDecl, *js.FuncDecl, *js.ClassDecl,
			*js.ImportStmt, *js.Alias:
			return true // declared
		case *js.Arg:
			if i < 2 {
				return false
			}
			call, ok := s.stack[i-2].(*js.CallExpr)
			if !ok {
				return false
			}
			if m := s.meaningOf(call.X); m == opens || m == loadsFile {
				return true // the module that something is loaded for
			}
			// A function that is called in place has a name for the argument.
			if _, _, known := calledFunction(call); known {
				return namedArgument(call, p)
			}
			// A function may return a namespace that it gets.
			if m := s.meaningOf(p.Value); m != moduleSpace || s.resultOf(call) != m {
				return false
			}
			i -= 2
		default:
			return false
		}
	}
	return true
}

// isPattern reports whether the names in a binding or in the target of an assignment are learned.
func isPattern(to js.INode) bool {
	switch withoutParens(to).(type) {
	case *js.Var, *js.BindingObject, *js.ObjectExpr:
		return true
	}
	return false
}

// isAssigned reports whether the property at i of the stack is a target of an assignment
// to an object's pattern, not part of a value.
func (s *scanner) isAssigned(i int) bool {
	if i < 2 {
		return false
	}
	pattern, ok := s.stack[i-1].(*js.ObjectExpr)
	to, isBinary := s.stack[i-2].(*js.BinaryExpr)
	return ok && isBinary && to.Op == js.EqToken && withoutParens(to.X) == js.INode(pattern)
}

// argumentsUse looks for a use of the arguments of a function.
type argumentsUse struct{ arrow, found bool }

func (a *argumentsUse) Enter(n js.INode) js.IVisitor {
	switch n := n.(type) {
	case *js.FuncDecl, *js.MethodDecl:
		return nil // has its own
	case *js.Var:
		a.found = a.found || !a.arrow && plainIdentifier(n.Data) == "arguments"
	case *js.DotExpr:
		a.found = a.found || propertyName(n.Y) == "arguments"
	}
	return a
}

func (a *argumentsUse) Exit(js.INode) {}
