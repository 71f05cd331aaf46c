package e2e

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestRaced holds the packages that 'make race' tests to the source: those of the product that start goroutines or
// have locks.
func TestRaced(t *testing.T) {
	text, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?m)^RACED =((?:.*\\\\\n)*.*)").FindSubmatch(text)
	if m == nil {
		t.Fatal("the Makefile has no RACED")
	}
	listed := strings.Fields(strings.ReplaceAll(string(m[1]), "\\\n", " "))
	found := map[string]bool{}
	err = filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		dir := filepath.ToSlash(strings.TrimPrefix(filepath.Dir(name), ".."+string(filepath.Separator)))
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && name != ".." ||
			name == filepath.Join("..", "e2e") || name == filepath.Join("..", "bench") ||
			name == filepath.Join("..", "tools")):
			return filepath.SkipDir
		case !d.IsDir() && strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && !found[dir]:
			found[dir], err = hasGoroutinesOrLocks(name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(found, func(_ string, has bool) bool { return !has })
	if want := slices.Sorted(maps.Keys(found)); !slices.Equal(listed, want) {
		t.Errorf("RACED of the Makefile is to be\n\t%s", strings.Join(want, " \\\n\t"))
	}
}

// hasGoroutinesOrLocks reports whether a file starts goroutines, be it with an errgroup, or has a mutex.
func hasGoroutinesOrLocks(name string) (found bool, err error) {
	f, err := parser.ParseFile(gotoken.NewFileSet(), name, nil, parser.SkipObjectResolution)
	if err != nil {
		return false, err
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.SelectorExpr:
			if of, ok := n.X.(*ast.Ident); ok {
				found = found || of.Name == "errgroup" ||
					of.Name == "sync" && (n.Sel.Name == "Mutex" || n.Sel.Name == "RWMutex")
			}
		}
		return !found
	})
	return found, nil
}
