package jsscan

import (
	"github.com/tdewolff/parse/v2/js"
)

// names knows what the names of a file stand for. A name that is anywhere given a root is that root everywhere,
// whatever else it is given; nothing but names is followed.
type names struct {
	given         map[*js.Var][]gift       // to the names that the file declares
	roots         map[*js.Var]root         // that these may be
	imported      map[string]root          // by the statements of the file; none is what is no root
	declared      map[string]*js.Var       // at the top of the file
	known         map[js.INode]root        // what rootOf found
	globals       map[*js.CallExpr]bool    // calls that give the global object, by their shape
	webpack       bool                     // a member g is the global object
	functions     map[*js.Var]*js.FuncDecl // that are declared, by their names
	argumentUsers map[*js.FuncDecl]bool    // functions that know their arguments by another way than parameters
	interop       map[*js.Var]bool         // what isInterop found
	others        map[*js.Var]bool         // names that are given something by a pattern or a loop as well
}

// gift is what a name is given: an expression, or a member of it that a pattern takes.
type gift struct {
	of     js.INode
	member []string
}

// learnNames reads what names are declared with and given.
func learnNames(ast *js.AST) *names {
	n := &names{given: map[*js.Var][]gift{}, roots: map[*js.Var]root{}, imported: map[string]root{},
		declared: map[string]*js.Var{},
		known:    map[js.INode]root{}, globals: map[*js.CallExpr]bool{}, functions: map[*js.Var]*js.FuncDecl{},
		others: map[*js.Var]bool{}}
	for _, v := range ast.Scope.Declared {
		n.declared[plainIdentifier(v.Data)] = v
	}
	for _, statement := range ast.List {
		if s, ok := statement.(*js.ImportStmt); ok {
			n.learnImports(s)
		}
	}
	users := &argumentUsers{users: map[*js.FuncDecl]bool{}, seen: map[*js.FuncDecl]bool{},
		named: map[string][]*js.FuncDecl{}}
	walk(users, ast)
	n.argumentUsers, n.interop = users.users, map[*js.Var]bool{}
	walk(&giver{n}, ast)
	return n
}

// maxRounds is how often names are looked through: each round follows a name that is given another one, which is given
// another one, by one step at least.
const maxRounds = 50

// settle finds what the names of the file may be. It is false if one is given another through too many.
func (n *names) settle() bool {
	for range maxRounds {
		n.known = map[js.INode]root{}
		changed := false
		for v, gifts := range n.given {
			r := n.roots[v]
			for _, what := range gifts {
				one := n.rootOf(what.of)
				for _, name := range what.member {
					if one != none {
						one = memberOf(one, name)
					}
				}
				r = join(r, one)
			}
			if r == harmless {
				r = none
			}
			if r != n.roots[v] {
				n.roots[v], changed = r, true
			}
		}
		if !changed {
			return true
		}
	}
	return false
}

// learnImports learns the names of an import statement.
func (n *names) learnImports(s *js.ImportStmt) {
	module, _ := fold(&js.LiteralExpr{TokenType: js.StringToken, Data: s.Module})
	space := spaceOf(module)
	if len(s.Default) > 0 {
		n.imported[plainIdentifier(s.Default)] = space
	}
	for _, a := range s.List {
		n.imported[plainIdentifier(a.Binding)] = ofSpace(space, a)
	}
}

// ofSpace returns what an alias of an import or export statement takes of a module's namespace: anyRoot if that is not
// known.
func ofSpace(space root, a js.Alias) root {
	name := a.Name
	if name == nil {
		name = a.Binding
	}
	text, isString := fold(&js.LiteralExpr{TokenType: js.StringToken, Data: name})
	if !isString || len(name) == 0 || name[0] != '"' && name[0] != '\'' {
		text = plainIdentifier(name)
	}
	if space == none || text == "*" {
		return space
	}
	switch r := memberOf(space, text); r {
	case harmless:
		return none
	case none:
		return anyRoot
	default:
		return r
	}
}

// giver learns what names are given.
type giver struct{ n *names }

func (g *giver) Enter(n js.INode) js.IVisitor {
	switch n := n.(type) {
	case *js.BindingElement:
		if n.Default != nil {
			g.n.giveBinding(n.Binding, gift{of: n.Default})
		}
	case *js.BinaryExpr:
		switch n.Op {
		case js.EqToken, js.AndEqToken, js.OrEqToken, js.NullishEqToken:
			if v, ok := withoutParens(n.X).(*js.Var); ok {
				g.n.give(v, gift{of: n.Y})
			} else if !isMember(n.X) {
				walk(otherNames(g.n.others), n.X)
			}
		}
	case *js.FuncDecl:
		if n.Name != nil {
			g.n.functions[declarationOf(n.Name)] = n
		}
	case *js.ForOfStmt:
		walk(otherNames(g.n.others), n.Init)
	case *js.ForInStmt:
		walk(otherNames(g.n.others), n.Init)
	case *js.BindingObject:
		walk(otherNames(g.n.others), n)
	case *js.BindingArray:
		walk(otherNames(g.n.others), n)
	case *js.CallExpr:
		for i, binding := range g.n.parametersOf(n) {
			g.n.giveBinding(binding, gift{of: n.Args.List[i].Value})
		}
		if isWebpackGlobal(n) {
			g.n.globals[n], g.n.webpack = true, true
		}
	}
	return g
}

func (g *giver) Exit(js.INode) {}

func (n *names) give(v *js.Var, what gift) {
	v = declarationOf(v)
	n.given[v] = append(n.given[v], what)
}

// giveBinding gives the names of a pattern what stands for the whole. Names of arrays and rests are given nothing: what
// is taken so is judged where it stands.
func (n *names) giveBinding(b js.IBinding, what gift) {
	switch b := b.(type) {
	case *js.Var:
		n.give(b, what)
	case *js.BindingObject:
		for i := range b.List {
			if name, ok := keyOf(&b.List[i]); ok {
				member := append(append([]string(nil), what.member...), name)
				n.giveBinding(b.List[i].Value.Binding, gift{what.of, member})
			}
		}
	}
}

// keyOf returns the name of the member that an element of a pattern takes.
func keyOf(item *js.BindingObjectItem) (string, bool) {
	switch key := item.Key; {
	case key == nil:
		v, ok := item.Value.Binding.(*js.Var)
		if !ok {
			return "", false
		}
		return plainIdentifier(v.Data), true
	case key.Computed != nil:
		return fold(key.Computed)
	case key.Literal.TokenType == js.StringToken:
		return fold(&key.Literal)
	default:
		return plainIdentifier(key.Literal.Data), true
	}
}

// parametersOf returns the parameters of a function that is called where it is written, as far as they are what the
// arguments are: up to one that is spread, and if the function has no other way to them.
func (n *names) parametersOf(call *js.CallExpr) (found []js.IBinding) {
	var params js.Params
	switch f := withoutParens(call.X).(type) {
	case *js.FuncDecl:
		if n.argumentUsers[f] {
			return nil
		}
		params = f.Params
	case *js.ArrowFunc:
		params = f.Params
	}
	for i, p := range params.List {
		if i == len(call.Args.List) || call.Args.List[i].Rest {
			break
		}
		found = append(found, p.Binding)
	}
	return found
}

// isKeySymbol reports whether a key is a symbol: no name of anything.
func (n *names) isKeySymbol(key js.INode) bool {
	v, ok := withoutParens(key).(*js.Var)
	if !ok {
		return n.isSymbol(key)
	}
	d := declarationOf(v)
	gifts := n.given[d]
	return d.Decl != js.NoDecl && d.Decl != js.ArgumentDecl && !n.others[d] && len(gifts) == 1 &&
		n.isSymbol(gifts[0].of)
}

// otherNames collects all names that a pattern or a loop gives something, and those that it only uses.
type otherNames map[*js.Var]bool

func (o otherNames) Enter(n js.INode) js.IVisitor {
	if v, ok := n.(*js.Var); ok {
		o[declarationOf(v)] = true
	}
	return o
}

func (otherNames) Exit(js.INode) {}

// isFree reports whether a name is none that the file declares or imports.
func (n *names) isFree(v *js.Var) bool {
	if declarationOf(v).Decl != js.NoDecl {
		return false
	}
	_, own := n.imported[plainIdentifier(v.Data)]
	return !own
}

// rootOf returns the root that an expression may be; none if it is none.
func (n *names) rootOf(e js.INode) root {
	switch e = withoutParens(e); e.(type) {
	case *js.Var, *js.ImportMetaExpr, *js.DotExpr, *js.IndexExpr, *js.CallExpr, *js.NewExpr, *js.UnaryExpr,
		*js.BinaryExpr, *js.CondExpr, *js.CommaExpr:
	default:
		return none
	}
	if r, ok := n.known[e]; ok {
		return r
	}
	r := n.findRoot(e)
	if r == harmless {
		r = none
	}
	n.known[e] = r
	return r
}

func (n *names) findRoot(e js.INode) root {
	switch e := e.(type) {
	case *js.Var:
		return n.rootOfName(e)
	case *js.ImportMetaExpr:
		return meta
	case *js.DotExpr:
		if v, ok := withoutParens(e.X).(*js.Var); ok && propertyName(e.Y) == "prototype" && n.isShared(v) {
			return prototype
		}
		if n.webpack && propertyName(e.Y) == "g" {
			return global
		}
		return n.memberRoot(e.X, propertyName(e.Y))
	case *js.IndexExpr:
		if name, ok := fold(e.Y); ok {
			if n.webpack && name == "g" {
				return global
			}
			return n.memberRoot(e.X, name)
		}
	case *js.CallExpr:
		return n.rootOfCall(e)
	case *js.NewExpr:
		switch {
		case e.Args == nil:
		case n.rootOf(e.X) == requires:
			return spaceOfCall(e.Args.List)
		case n.rootOf(e.X) == creates:
			return requires
		}
	case *js.UnaryExpr:
		if e.Op == js.AwaitToken {
			if call, ok := withoutParens(e.X).(*js.CallExpr); ok && isImport(call) {
				return spaceOfCall(call.Args.List)
			}
			return n.rootOf(e.X)
		}
	case *js.BinaryExpr:
		return n.rootOfOperator(e)
	case *js.CondExpr:
		return join(n.rootOf(e.X), n.rootOf(e.Y))
	case *js.CommaExpr:
		if len(e.List) > 0 {
			return n.rootOf(e.List[len(e.List)-1])
		}
	}
	return none
}

func (n *names) rootOfOperator(e *js.BinaryExpr) root {
	switch e.Op {
	case js.AndToken, js.EqToken, js.AndEqToken, js.OrEqToken, js.NullishEqToken:
		return n.rootOf(e.Y)
	case js.OrToken, js.NullishToken:
		return join(n.rootOf(e.X), n.rootOf(e.Y))
	}
	return none
}

func (n *names) memberRoot(of js.INode, name string) root {
	if r := n.rootOf(of); r != none {
		return memberOf(r, name)
	}
	return none
}

// isShared reports whether a name belongs to a class of the language, whose prototype all code shares.
func (n *names) isShared(v *js.Var) bool {
	name := plainIdentifier(v.Data)
	return n.isFree(v) && name != "" && 'A' <= name[0] && name[0] <= 'Z'
}

// rootOfName returns what a name stands for.
func (n *names) rootOfName(v *js.Var) root {
	d, name := declarationOf(v), plainIdentifier(v.Data)
	if d.Decl == js.NoDecl {
		if r, own := n.imported[name]; own {
			return r
		}
		return freeNames[name]
	}
	if d.Decl == js.VariableDecl && n.declared[name] == d && (name == "require" || name == "module") {
		// a script is a function with such parameters, which var leaves as they are
		return join(n.roots[d], freeNames[name])
	}
	return n.roots[d]
}

// rootOfCall returns what a call gives.
func (n *names) rootOfCall(e *js.CallExpr) root {
	if n.globals[e] {
		return global
	}
	if isShim(e) {
		return requires
	}
	switch n.rootOf(e.X) {
	case requires:
		return spaceOfCall(e.Args.List)
	case creates:
		return requires
	case chains:
		return theProcess
	}
	switch {
	case n.givesGlobal(e.X):
		return global
	case len(e.Args.List) > 0 && !e.Args.List[0].Rest && n.isInterop(e.X):
		return n.rootOf(e.Args.List[0].Value) // which is its default as well
	}
	return none
}

// isInterop reports whether a function gives the namespace that it is given, or a new one whose default is that, as
// compilers write it for each import.
func (n *names) isInterop(f js.INode) bool {
	v, ok := withoutParens(f).(*js.Var)
	if !ok {
		return false
	}
	d := declarationOf(v)
	is, known := n.interop[d]
	if known {
		return is
	}
	gifts := n.given[d]
	if made, ok := n.functions[d]; ok {
		is = len(gifts) == 0 && n.hasInteropShape(made)
	} else {
		is = d.Decl != js.NoDecl && len(gifts) == 1 && len(gifts[0].member) == 0 && n.hasInteropShape(gifts[0].of)
	}
	n.interop[d] = is
	return is
}

// givesGlobal reports whether an expression is Function('return this'), which gives the global object when it is
// called.
func (n *names) givesGlobal(made js.INode) bool {
	var of js.INode
	var args []js.Arg
	switch made := withoutParens(made).(type) {
	case *js.CallExpr:
		of, args = made.X, made.Args.List
	case *js.NewExpr:
		if made.Args == nil {
			return false
		}
		of, args = made.X, made.Args.List
	default:
		return false
	}
	if len(args) != 1 || n.rootOf(of) != functions {
		return false
	}
	text, ok := fold(args[0].Value)
	return ok && isThisText(text)
}

func isImport(call *js.CallExpr) bool {
	l, ok := call.X.(*js.LiteralExpr)
	return ok && l.TokenType == js.ImportToken
}

// spaceOfCall returns the namespace that require or import() gives.
func spaceOfCall(args []js.Arg) root {
	if len(args) == 0 || args[0].Rest {
		return none
	}
	target, _ := fold(args[0].Value)
	return spaceOf(target)
}
