package e2e

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoClock: no test fails because time has passed, as it does on a busy machine.
func TestNoClock(t *testing.T) {
	err := filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == filepath.Join("..", "bench"), name == filepath.Join("..", "tools"),
			d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && name != ".."):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, "_test.go"):
			return nil
		}
		files := gotoken.NewFileSet()
		f, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, at := range clockJudges(f) {
			t.Errorf("%s: judges by how much time has passed: let it wait for what is to happen, with package e2e/hang, "+
				"or count what happened", files.Position(at))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// clockJudges are the comparisons of a file that hold when more time has passed than something.
func clockJudges(f *ast.File) (at []gotoken.Pos) {
	for _, decl := range f.Decls {
		passed := map[string]bool{} // the variables that hold a time that has passed
		ast.Inspect(decl, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for i, to := range n.Lhs {
					if name, ok := to.(*ast.Ident); ok && len(n.Rhs) == len(n.Lhs) && hasPassed(n.Rhs[i], passed) {
						passed[name.Name] = true
					}
				}
			case *ast.BinaryExpr:
				if (n.Op == gotoken.GTR || n.Op == gotoken.GEQ) && hasPassed(n.X, passed) ||
					(n.Op == gotoken.LSS || n.Op == gotoken.LEQ) && hasPassed(n.Y, passed) {
					at = append(at, n.OpPos)
				}
			}
			return true
		})
	}
	return at
}

// hasPassed reports whether an expression has time.Since, a difference of times, or a variable with one in it.
func hasPassed(e ast.Node, passed map[string]bool) (found bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			found = found || n.Sel.Name == "Sub" || n.Sel.Name == "Since" || hasPassed(n.X, passed)
			return false // not a field of the same name
		case *ast.Ident:
			found = found || passed[n.Name]
		}
		return !found
	})
	return found
}
