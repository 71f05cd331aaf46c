package policy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strings"
	"testing"
)

// Only Judge makes an Admitted that holds something, so that only a verdict admits.
func TestOnlyJudgeAdmits(t *testing.T) {
	pkgs, names := parse(t, ".")
	made, inJudge := 0, 0
	for i, f := range pkgs {
		for _, imp := range f.Imports {
			if path := strings.Trim(imp.Path.Value, `"`); path == "unsafe" || path == "reflect" ||
				path == "encoding/gob" {
				t.Errorf("%s imports %s", names[i], path)
			}
		}
		for _, decl := range f.Decls {
			fn, _ := decl.(*ast.FuncDecl)
			judge := fn != nil && fn.Name.Name == "Judge" && fn.Recv == nil
			ast.Inspect(decl, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CompositeLit:
					if id, ok := n.Type.(*ast.Ident); ok && id.Name == "Admitted" && len(n.Elts) > 0 {
						if made++; judge {
							inJudge++
						}
					}
				case *ast.AssignStmt:
					for _, left := range n.Lhs {
						if sel, ok := left.(*ast.SelectorExpr); ok &&
							(sel.Sel.Name == "grants" || sel.Sel.Name == "admitted" || sel.Sel.Name == "flow") &&
							!judge {
							t.Errorf("%s: %s is assigned outside Judge", names[i], sel.Sel.Name)
						}
					}
				case *ast.UnaryExpr:
					if sel, ok := n.X.(*ast.SelectorExpr); ok && n.Op == token.AND &&
						(sel.Sel.Name == "grants" || sel.Sel.Name == "admitted") {
						t.Errorf("%s: the address of %s is taken", names[i], sel.Sel.Name)
					}
				}
				return true
			})
		}
	}
	if made != inJudge || inJudge != 1 {
		t.Errorf("%d literals of Admitted hold something, %d of them in Judge; want one, there", made, inJudge)
	}
}

// Digests are compared where that leaves evidence: digest.Equal is called by the
// packages evidence and digest only.
func TestOnlyEvidenceCompares(t *testing.T) {
	files, names := parse(t, "..")
	calls := map[string]int{}
	for i, f := range files {
		dir, _, _ := strings.Cut(names[i], "/")
		local := ""
		for _, imp := range f.Imports {
			if strings.Trim(imp.Path.Value, `"`) == "github.com/hallmark-mcp/hallmark/digest" {
				local = "digest"
				if imp.Name != nil {
					local = imp.Name.Name
				}
			}
		}
		if local == "." {
			t.Errorf("%s imports digest into its own scope", names[i])
		}
		ast.Inspect(f, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok || local == "" || sel.Sel.Name != "Equal" {
				return true
			}
			if id, ok := sel.X.(*ast.Ident); ok && id.Name == local {
				if calls[dir]++; dir != "evidence" && dir != "digest" {
					t.Errorf("%s uses digest.Equal; evidence.Compare compares digests", names[i])
				}
			}
			return true
		})
	}
	if calls["evidence"] == 0 {
		t.Errorf("evidence does not use digest.Equal: %v of %d files", calls, len(files))
	}
}

var skipped = regexp.MustCompile(`(^|/)(testdata|node_modules|\.[^/.][^/]*)(/|$)`)

// parse reads the Go files of dir that are no tests, and below it unless it is ".".
func parse(t *testing.T, dir string) (files []*ast.File, names []string) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	var walk func(at string)
	walk = func(at string) {
		d, err := root.Open(at)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		entries, err := d.ReadDir(-1)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			name := strings.TrimPrefix(at+"/"+e.Name(), "./")
			switch {
			case skipped.MatchString(name):
			case e.IsDir() && dir != ".":
				walk(name)
			case strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && e.Type().IsRegular():
				src, err := root.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				f, err := parser.ParseFile(token.NewFileSet(), name, src, 0)
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				files, names = append(files, f), append(names, name)
			}
		}
	}
	walk(".")
	return files, names
}
