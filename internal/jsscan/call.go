package jsscan

import (
	"regexp"
	"slices"

	"github.com/tdewolff/parse/v2/js"

	"github.com/hallmark-mcp/hallmark/plugin"
)

// What a call imports.

// kindOf maps a meaning to the kind of import that calling it is.
var kindOf = map[meaning]plugin.Kind{
	requires: plugin.Require, loads: plugin.Require, loadsFile: plugin.Require, resolves: plugin.Resolve,
	builtins: plugin.Builtin, opens: plugin.Native, imports: plugin.Dynamic,
}

// holdsImport matches the words that let an evaluated text import.
var holdsImport = regexp.MustCompile(`\b(require|import|process|module)\b`)

// checkCall records what a call imports.
func (s *scanner) checkCall(callee js.IExpr, args []js.Arg) {
	of, name := memberCalled(callee)
	if m := s.meaningOf(of); kindOf[m] != "" {
		switch name {
		case "call":
			s.addTarget(m, args, 1)
			return
		case "apply":
			if len(args) > 1 {
				if list, ok := args[1].Value.(*js.ArrayExpr); ok && len(list.List) > 0 && !list.List[0].Spread {
					s.addTarget(m, []js.Arg{{Value: list.List[0].Value}}, 0)
					return
				}
			}
			s.addTarget(m, nil, 0)
			return
		}
	}
	if index, ok := withoutParens(callee).(*js.IndexExpr); ok {
		if _, known := fold(index.Y); !known {
			switch s.meaningOf(index.X) {
			case moduleItself, moduleSpace, processItself, requires:
				s.addComputed(plugin.Require, printCode(index), firstPiece(index.X))
				return
			}
		}
	}
	m := s.meaningOf(callee)
	switch {
	case m == nothing && name == "binding" && len(args) > 0:
		if target, ok := fold(args[0].Value); ok && slices.Contains(bindings, target) {
			s.addTarget(builtins, args, 0)
		}
	case m == executes:
		s.found = append(s.found, plugin.Import{Line: s.lineOf(firstPiece(callee)), Kind: plugin.Builtin,
			Specifier: "child_process"})
	case m == compiles:
		s.addComputed(plugin.Dynamic, printCode(callee), firstPiece(callee))
	case m == loadsFile:
		s.addTarget(m, args, 1)
	case m == evaluates:
		for _, a := range args {
			if text, ok := fold(a.Value); ok && holdsImport.MatchString(text) {
				s.addComputed(plugin.Dynamic, text, firstPiece(a.Value))
			}
		}
	case m == opens:
		s.addTarget(m, args, 1)
	case kindOf[m] != "":
		s.addTarget(m, args, 0)
	}
}

// memberCalled returns the object and the name of a property that is called, or nil.
func memberCalled(callee js.IExpr) (of js.INode, name string) {
	switch x := withoutParens(callee).(type) {
	case *js.DotExpr:
		return x.X, propertyName(x.Y)
	case *js.IndexExpr:
		if name, ok := fold(x.Y); ok {
			return x.X, name
		}
	}
	return nil, ""
}

// addTarget records an import of the i-th argument.
func (s *scanner) addTarget(m meaning, args []js.Arg, i int) {
	kind := kindOf[m]
	if i >= len(args) {
		if len(args) > 0 || m != requires && m != resolves && m != builtins {
			s.addComputed(kind, "an argument that is not there", nil)
		} else if m == requires {
			s.addComputed(kind, "nothing", nil)
		}
		return
	}
	for _, a := range args[:i+1] {
		if a.Rest {
			s.addComputed(kind, "a spread argument", firstPiece(a.Value))
			return
		}
	}
	at := firstPiece(args[i].Value)
	if target, ok := fold(args[i].Value); ok {
		s.found = append(s.found, plugin.Import{Line: s.lineOf(at), Kind: kind, Specifier: target})
		return
	}
	s.addComputed(kind, printCode(args[i].Value), at)
}
