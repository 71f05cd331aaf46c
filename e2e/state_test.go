package e2e

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestStateFiles holds that ARCHITECTURE.md lists each file of the state directory that the source names, and no other.
func TestStateFiles(t *testing.T) {
	named := map[string]bool{}
	for _, dir := range []string{"../internal", "../cmd"} {
		err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return err
			}
			if d.Name() == "testdata" || d.Name() == "hosttest" || d.Name() == "durable" { // the last finds the directory
				return fs.SkipDir
			}
			for _, file := range stateFilesOf(t, name) {
				named[file] = true
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	listed := listedStateFiles(t)
	if len(listed) < 10 {
		t.Fatalf("the table has %q", listed)
	}
	for file := range named {
		if !slices.Contains(listed, file) {
			t.Errorf("%s is written into the state directory, and ARCHITECTURE.md does not say what it is for", file)
		}
	}
	for _, file := range listed {
		if !named[file] {
			t.Errorf("ARCHITECTURE.md lists %s, which nothing names", file)
		}
	}
}

// stateFilesOf returns what the product's files of one directory join to the state directory: "*" is what only a run
// tells. Locks are left out, which say nothing.
func stateFilesOf(t *testing.T, dir string) (out []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	texts := map[string]string{} // constants of the package
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(gotoken.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
		ast.Inspect(f, func(n ast.Node) bool {
			if v, ok := n.(*ast.ValueSpec); ok {
				for i, name := range v.Names {
					if i < len(v.Values) {
						texts[name.Name] = pattern(v.Values[i], nil)
					}
				}
			}
			return true
		})
	}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) < 2 || !isJoin(call.Fun) {
				return true
			}
			file := stateRoot(call.Args[0])
			if file == "" {
				return true
			}
			for _, arg := range call.Args[1:] {
				file = path.Join(file, pattern(arg, texts))
			}
			switch {
			case strings.HasSuffix(file, ".lock"), file == "projects/*/*": // a project's locks
			case file == "projects/*", file == "*": // the directory of a project, and a search
			default:
				out = append(out, file)
			}
			return true
		})
	}
	return out
}

func isJoin(fun ast.Expr) bool {
	sel, ok := fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Join" {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	return ok && x.Name == "filepath"
}

// stateRoot is "." if an expression is the state directory, "projects/*" if it is a project's in it, and "" otherwise.
func stateRoot(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		if e.Name == "state" {
			return "."
		}
	case *ast.SelectorExpr:
		if e.Sel.Name != "State" {
			return ""
		}
		switch x := e.X.(type) {
		case *ast.SelectorExpr:
			if x.Sel.Name == "Places" {
				return "."
			}
			return "projects/*"
		case *ast.Ident:
			if x.Name == "where" { // the user's places
				return "."
			}
			return "projects/*"
		}
	}
	return ""
}

var stars = regexp.MustCompile(`\*+`)

// pattern is the text of an expression, with a * for what is not constant.
func pattern(e ast.Expr, texts map[string]string) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil {
			return text
		}
	case *ast.Ident:
		if text, ok := texts[e.Name]; ok {
			return text
		}
	case *ast.BinaryExpr:
		return stars.ReplaceAllString(pattern(e.X, texts)+pattern(e.Y, texts), "*")
	}
	return "*"
}

// listedStateFiles reads the table: the words in capitals are what only a run tells.
func listedStateFiles(t *testing.T) (out []string) {
	t.Helper()
	data, err := os.ReadFile("../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(data), "\n## The state directory\n")
	text, _, _ = strings.Cut(text, "\n## ")
	capitals := regexp.MustCompile(`\b[A-Z]+\b`)
	for line := range strings.Lines(text) {
		file, ok := strings.CutPrefix(line, "| `")
		if !ok || strings.Contains(line, "locks between processes") {
			continue
		}
		file, _, _ = strings.Cut(file, "`")
		out = append(out, capitals.ReplaceAllString(file, "*"))
	}
	return out
}

// TestFilesDocument holds the table of the state directory in docs/files.md to that in ARCHITECTURE.md, which also says
// which room writes a file.
func TestFilesDocument(t *testing.T) {
	rows := func(name, heading string, columns ...int) (out []string) {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		_, text, _ := strings.Cut(string(data), heading)
		text, _, _ = strings.Cut(text, "\n## ")
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, "| `") {
				continue
			}
			cells, row := strings.Split(strings.Trim(line, "|\n"), "|"), ""
			for _, i := range columns {
				row += "| " + strings.TrimSpace(strings.ReplaceAll(cells[i], " (`owed/logs.go`)", "")) + " "
			}
			out = append(out, row+"|")
		}
		return out
	}
	want := rows("../ARCHITECTURE.md", "\n## The state directory\n", 0, 2, 3)
	if got := rows("../docs/files.md", "\n## In the state directory\n", 0, 1, 2); len(want) < 10 || !slices.Equal(got, want) {
		t.Errorf("the table of docs/files.md is not\n%s", strings.Join(want, "\n"))
	}
}
