package coverage

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// Module is the import path that a Test's package is relative to.
const Module = "github.com/hallmark-mcp/hallmark"

// Test names a test of this module.
type Test struct {
	Package string // path in the module; "hallmark" is the root
	Name    string // TestX, FuzzX or ExampleX
	Sub     string // subtest, "/" between levels; may be empty
}

var testForm = regexp.MustCompile(`^([a-z0-9_/-]+)\.((?:Test|Fuzz|Example)[A-Za-z0-9_]*)(?:/(\S+))?$`)

// ParseTest parses PACKAGE.TEST[/SUB...].
func ParseTest(s string) (Test, error) {
	m := testForm.FindStringSubmatch(s)
	if m == nil || path.Clean(m[1]) != m[1] || strings.HasPrefix(m[1], "/") {
		return Test{}, fmt.Errorf("%q is not PACKAGE.TEST[/SUB]", s)
	}
	return Test{m[1], m[2], m[3]}, nil
}

// Name returns how ParseTest reads a test that go test reports with an import
// path and a name with its subtests.
func Name(importPath, test string) string {
	pkg := strings.TrimPrefix(importPath, Module+"/")
	if importPath == Module {
		pkg = "hallmark"
	}
	return pkg + "." + test
}

// String returns what ParseTest parsed.
func (t Test) String() string {
	if t.Sub == "" {
		return t.Package + "." + t.Name
	}
	return t.Package + "." + t.Name + "/" + t.Sub
}

// Exists reads the sources under root, the module's directory, and says whether
// the test is there and can pass: its function is declared in a _test.go file of
// the package and does not begin by skipping. Each level of Sub must be a
// testscript of the package, or a file beside its tests (a checker), or a string
// literal of them, or a string in a vector file of spec/; only a run can say more.
func Exists(root fs.FS, t Test) error {
	dir := t.Package
	if dir == "hallmark" {
		dir = "."
	}
	files, err := fs.Glob(root, path.Join(dir, "*_test.go"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("%s: no tests in package %s", t, t.Package)
	}
	var test *ast.FuncDecl
	literals := map[string]bool{}
	for _, file := range files {
		src, err := fs.ReadFile(root, file)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, src, parser.SkipObjectResolution)
		if err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv == nil && n.Name.Name == t.Name {
					test = n
				}
			case *ast.BasicLit:
				if s, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
					literals[subtest(s)] = true
				}
			}
			return true
		})
	}
	if test == nil {
		return fmt.Errorf("%s: package %s has no such test", t, t.Package)
	}
	if skips(test) {
		return fmt.Errorf("%s: always skips", t)
	}
	if t.Sub == "" {
		return nil
	}
	for level := range strings.SplitSeq(t.Sub, "/") {
		if !literals[level] && !script(root, dir, level) && !beside(root, dir, level) && !inVectors(root, level) {
			return fmt.Errorf("%s: no subtest, testscript, checker or vector %q", t, level)
		}
	}
	return nil
}

// subtest writes a name as go test does: white space becomes "_".
func subtest(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return '_'
		}
		return r
	}, name)
}

// skips reports whether a statement of the function's own block, under no
// condition, is a call of Skip, Skipf or SkipNow.
func skips(f *ast.FuncDecl) bool {
	for _, stmt := range f.Body.List {
		expr, ok := stmt.(*ast.ExprStmt)
		if !ok {
			continue
		}
		if call, ok := expr.X.(*ast.CallExpr); ok {
			if sel, ok := call.Fun.(*ast.SelectorExpr); ok && strings.HasPrefix(sel.Sel.Name, "Skip") {
				return true
			}
		}
	}
	return false
}

// script reports whether the package has a testscript of that name.
func script(root fs.FS, dir, name string) bool {
	found, _ := fs.Glob(root, path.Join(dir, "testdata", "*", "*.txt*"))
	for _, file := range found {
		if ext := path.Ext(file); strings.TrimSuffix(path.Base(file), ext) == name &&
			(ext == ".txtar" || ext == ".txt") {
			return true
		}
	}
	return false
}

// beside reports whether the package's directory has a file of that name.
func beside(root fs.FS, dir, name string) bool {
	info, err := fs.Stat(root, path.Join(dir, name))
	return err == nil && info.Mode().IsRegular()
}

// vectorString matches the strings of a JSON file well enough for names.
var vectorString = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

func inVectors(root fs.FS, name string) bool {
	found, _ := fs.Glob(root, "spec/*.json")
	for _, file := range found {
		data, err := fs.ReadFile(root, file)
		if err != nil {
			continue
		}
		for _, quoted := range vectorString.FindAllString(string(data), -1) {
			if subtest(strings.Trim(quoted, `"`)) == name {
				return true
			}
		}
	}
	return false
}
