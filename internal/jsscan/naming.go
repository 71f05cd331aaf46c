package jsscan

import (
	"slices"
	"strings"

	"github.com/tdewolff/parse/v2/js"
)

// naming is the visitor that learns what names mean.
type naming struct{ *scanner }

func (s naming) Enter(n js.INode) js.IVisitor {
	switch n := n.(type) {
	case *js.ImportStmt:
		module, _ := fold(&js.LiteralExpr{TokenType: js.StringToken, Data: n.Module})
		space := moduleSpaces[strings.TrimPrefix(module, "node:")]
		learn := func(binding []byte, m meaning) {
			if m == nothing {
				return
			}
			s.imported[plainIdentifier(binding)] = m
			if v := s.top[plainIdentifier(binding)]; v != nil {
				s.names[v] = m
			}
		}
		learn(n.Default, space)
		for _, a := range n.List {
			name := a.Name
			if name == nil {
				name = a.Binding
			}
			switch plain := strings.Trim(plainIdentifier(name), `"'`); {
			case plain == "*", plain == "default":
				learn(a.Binding, space)
			case members[space][plain] != nothing:
				learn(a.Binding, members[space][plain])
			}
		}
	case *js.BindingElement:
		s.learnBinding(n.Binding, n.Default)
	case *js.BinaryExpr:
		if n.Op == js.EqToken || n.Op == js.OrEqToken || n.Op == js.NullishEqToken || n.Op == js.AndEqToken {
			s.learnAssignment(n.X, n.Y)
		}
	case *js.CallExpr:
		s.learnParameters(n)
	case *js.ClassElementName:
		js.Walk(s, &n.PropertyName) // which Walk leaves out
	}
	return s
}

func (s naming) Exit(js.INode) {}

func (s naming) learn(v *js.Var, m meaning) {
	if m != nothing {
		s.names[declarationOf(v)] = m
	}
}

// learnBinding learns the names of a declaration. Without a value it only knows properties that
// have the same meaning everywhere.
func (s naming) learnBinding(to js.IBinding, value js.INode) {
	m := nothing
	if !isNil(value) {
		m = s.meaningOf(value)
	}
	s.learnPattern(to, m)
}

func (s naming) learnPattern(to js.IBinding, m meaning) {
	switch to := to.(type) {
	case *js.Var:
		s.learn(to, m)
	case *js.BindingObject:
		for _, item := range to.List {
			name := ""
			if v, ok := item.Value.Binding.(*js.Var); ok {
				name = plainIdentifier(v.Data)
			}
			if item.Key != nil {
				name = s.key(item.Key, m)
			}
			s.learnPattern(item.Value.Binding, memberOf(m, name))
		}
		if to.Rest != nil {
			s.learn(to.Rest, m)
		}
	}
}

// key returns the name of a property in a pattern for a value of meaning of.
func (s naming) key(k *js.PropertyName, of meaning) string {
	if k.IsComputed() {
		name, ok := fold(k.Computed)
		switch of {
		case moduleItself, moduleSpace, processItself, requires:
			if !ok && !slices.Contains(s.opaque, k) {
				s.opaque = append(s.opaque, k)
			}
		}
		return name
	}
	return strings.Trim(plainIdentifier(k.Literal.Data), `"'`)
}

// learnAssignment learns the names in the target of an assignment, also of a pattern.
func (s naming) learnAssignment(to, value js.INode) { s.learnTarget(to, s.meaningOf(value)) }

func (s naming) learnTarget(to js.INode, m meaning) {
	switch to := withoutParens(to).(type) {
	case *js.Var:
		s.learn(to, m)
	case *js.BinaryExpr: // a default
		if to.Op == js.EqToken {
			s.learnTarget(to.X, m)
		}
	case *js.ObjectExpr:
		for _, p := range to.List {
			name := ""
			if v, ok := p.Value.(*js.Var); ok {
				name = plainIdentifier(v.Data)
			}
			switch {
			case p.Spread:
				s.learnTarget(p.Value, m)
				continue
			case p.Name != nil:
				name = s.key(p.Name, m)
			}
			s.learnTarget(p.Value, memberOf(m, name))
		}
	}
}

// learnParameters learns the parameters of a function that is called in place.
func (s naming) learnParameters(call *js.CallExpr) {
	if of, name := memberCalled(call.X); name == "then" && len(call.Args.List) > 0 {
		// The callback gets what import() promises.
		if params, _, ok := functionParts(call.Args.List[0].Value); ok && len(params.List) > 0 {
			s.learnPattern(params.List[0].Binding, s.promisedModule(of))
		}
	}
	params, first, ok := calledFunction(call)
	if !ok {
		return
	}
	for i, arg := range call.Args.List[min(first, len(call.Args.List)):] {
		if i < len(params.List) && !arg.Rest {
			s.learnPattern(params.List[i].Binding, s.meaningOf(arg.Value))
		}
	}
}

// calledFunction returns the parameters of a function that is called in place, and the index of the
// argument for the first of them: it is 1 in f.call(this, a).
func calledFunction(call *js.CallExpr) (params *js.Params, first int, ok bool) {
	x := withoutParens(call.X)
	if dot, ok := x.(*js.DotExpr); ok && propertyName(dot.Y) == "call" {
		x, first = withoutParens(dot.X), 1
	}
	params, _, ok = functionParts(x)
	return params, first, ok
}

// functionParts returns the parameters and the body of a function; ok is false if n is none.
func functionParts(n js.INode) (params *js.Params, body *js.BlockStmt, ok bool) {
	switch f := withoutParens(n).(type) {
	case *js.FuncDecl:
		return &f.Params, &f.Body, true
	case *js.ArrowFunc:
		return &f.Params, &f.Body, true
	}
	return nil, nil, false
}

// namedArgument reports whether a function that is called in place can only use an argument by a
// parameter that was learned.
func namedArgument(call *js.CallExpr, arg *js.Arg) bool {
	params, first, ok := calledFunction(call)
	i := slices.IndexFunc(call.Args.List, func(a js.Arg) bool { return a.Value == arg.Value }) - first
	if !ok || i < 0 || i >= len(params.List) || arg.Rest || !isPattern(params.List[i].Binding) {
		return false
	}
	x := withoutParens(call.X)
	if dot, ok := x.(*js.DotExpr); ok {
		x = withoutParens(dot.X)
	}
	_, body, _ := functionParts(x)
	a := &argumentsUse{arrow: !bindsArguments(x)}
	js.Walk(a, body)
	return !a.found
}
