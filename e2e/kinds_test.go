package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	gotoken "go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// kindTables are the files that may name a kind of server or of a source of facets, by its type: how it is declared and
// locked is described in one place, and what the flows do with it in another.
var kindTables = map[string][]string{
	"ServerKind": {"internal/kind/", "project/kind"},
	"SourceKind": {"internal/obtain/table.go", "project/sourcekind"},
}

// kindFields are strings by which a kind of server could be told without its name. Only package project, which reads
// and writes them, compares them, and the tables.
var kindFields = map[string][]string{
	"Server": {"Type"}, "Closure": {"Engine"}, "ClosureLock": {"Engine"}, "ServerLock": {"Runtime"},
}

// TestKindsNamedInTables looks for a flow that knows a kind of server or of a source by its name, in place of asking
// the tables.
func TestKindsNamedInTables(t *testing.T) {
	load := newTypeLoader(t)
	seen := map[string]int{}
	for _, p := range load.packages {
		if first, _, _ := strings.Cut(p.rel, "/"); first == "e2e" || first == "bench" || first == "examples" {
			continue
		}
		if p.rel != "project" && !slices.Contains(p.Imports, module+"/project") {
			continue
		}
		for _, name := range p.GoFiles {
			rel := p.rel + "/" + name
			for kind := range kindTables {
				if isTable(kind, rel) {
					seen[kind]++
				}
			}
		}
		for _, why := range namedKinds(t, load, p) {
			t.Error(why)
		}
	}
	for kind, least := range map[string]int{"ServerKind": 10, "SourceKind": 2} {
		if seen[kind] < least {
			t.Errorf("%d files of tables of %s: the test does not see them", seen[kind], kind)
		}
	}
}

// isTable reports whether the file may name values of the type called kind.
func isTable(kind, file string) bool {
	return slices.ContainsFunc(kindTables[kind], func(table string) bool { return strings.HasPrefix(file, table) })
}

// TestKindsRule shows that each way to name a kind is found.
func TestKindsRule(t *testing.T) {
	load := newTypeLoader(t)
	for code, want := range map[string]string{
		`if e.Source == "npm" {}`:                               "npm",
		`if "image" != e.Source {}`:                             "image",
		`if e.Source == project.KindHTTP {}`:                    "http",
		`switch e.Source { case project.KindGo: }`:              "go",
		`_ = []project.ServerKind{"pypi"}`:                      "pypi",
		`_ = slices.Contains(project.ServerKinds(), "command")`: "command",
		`_ = e.Source == project.ServerKind("artifact")`:        "artifact",
		`if e.Closure.Engine == project.EngineGo {}`:            "Engine",
		`if c.Engine != "uv" {}`:                                "Engine",
		`switch s.Type { case "http": }`:                        "Type",
		`if e.Runtime == "python" {}`:                           "Runtime",

		`if l.Source.Kind == "git" {}`:                "git",
		`if f.Kind() != project.FromRegistry {}`:      "registry",
		`switch f.Kind() { case project.FromLocal: }`: "local",
		`_ = project.SourceLock{Kind: "registry"}`:    "registry",

		`if l.Source.Kind == f.Kind() {}`:    "",
		`if f.Kind().HasVersions() {}`:       "",
		`if e.Source == "" {}`:               "",
		`if e.Source == other.Source {}`:     "",
		`if e.Source.Remote() {}`:            "",
		`if s.Type == "" || s.Remote() {}`:   "",
		`if c.Engine == e.Closure.Engine {}`: "",
	} {
		text := "package p\nimport (\"slices\"; \"" + module + "/project\")\nvar _ = slices.Max[[]int]\n" +
			"func f(e, other project.ServerLock, c project.Closure, s project.Server,\n" +
			"f project.Facet, l project.FacetLock) {\n" + code + "\n}\n"
		file := filepath.Join(t.TempDir(), "p.go")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got := namedKinds(t, load, typedPackage{rel: "p", Dir: filepath.Dir(file), GoFiles: []string{"p.go"}})
		if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || !strings.Contains(got[0], want)) {
			t.Errorf("%s: got %q, want %q", code, got, want)
		}
	}
}

// typedPackage is a package of the module, as go list describes it.
type typedPackage struct {
	rel     string // relative to the module; "" is the root package
	Dir     string
	GoFiles []string
	Imports []string
}

// typeLoader gives the types of packages from the export data that the compiler has.
type typeLoader struct {
	packages []typedPackage
	fset     *gotoken.FileSet
	imports  types.Importer
}

func newTypeLoader(t *testing.T) *typeLoader {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps",
		"-json=Dir,ImportPath,Export,GoFiles,Imports", "./...")
	cmd.Dir, cmd.Stderr = "..", os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	l, exports := &typeLoader{fset: gotoken.NewFileSet()}, map[string]string{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			typedPackage
			ImportPath, Export string
		}
		if err := dec.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		if rel, ours := relative(p.ImportPath); ours {
			p.rel = rel
			l.packages = append(l.packages, p.typedPackage)
		}
	}
	l.imports = importer.ForCompiler(l.fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})
	return l
}

// namedKinds is one line for each place outside of the tables that names a kind.
func namedKinds(t *testing.T, load *typeLoader, p typedPackage) (found []string) {
	t.Helper()
	var files []*ast.File
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(load.fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	if _, err := (&types.Config{Importer: load.imports}).Check(module+"/"+p.rel, load.fset, files, info); err != nil {
		t.Fatal(err)
	}
	for i, file := range files {
		rel := p.rel + "/" + p.GoFiles[i]
		ast.Inspect(file, func(n ast.Node) bool {
			at := func(what string) {
				found = append(found, fmt.Sprintf("%s:%d names %s: ask the tables of kinds",
					rel, load.fset.Position(n.Pos()).Line, what))
			}
			switch n := n.(type) {
			case ast.Expr:
				for kind := range kindTables {
					if !isTable(kind, rel) && isProjectType(info.Types[n].Type, kind) && isText(info, n) {
						at("the kind " + info.Types[n].Value.ExactString())
						return false
					}
				}
				if b, ok := n.(*ast.BinaryExpr); ok && (b.Op == gotoken.EQL || b.Op == gotoken.NEQ) {
					for _, pair := range [][2]ast.Expr{{b.X, b.Y}, {b.Y, b.X}} {
						if what := kindField(info, rel, pair[0]); what != "" && isText(info, pair[1]) {
							at(what)
						}
					}
				}
			case *ast.SwitchStmt:
				what := kindField(info, rel, n.Tag)
				for _, s := range n.Body.List {
					texts := slices.ContainsFunc(s.(*ast.CaseClause).List, func(e ast.Expr) bool { return isText(info, e) })
					if what != "" && texts {
						at(what)
					}
				}
			}
			return true
		})
	}
	return found
}

// isText reports whether e is a constant that is not empty.
func isText(info *types.Info, e ast.Expr) bool {
	v := info.Types[e].Value
	return v != nil && v.ExactString() != `""`
}

// kindField names the field that e selects, if it is one of kindFields; "" if not, and in package project.
func kindField(info *types.Info, file string, e ast.Expr) string {
	s, ok := e.(*ast.SelectorExpr)
	if !ok || strings.HasPrefix(file, "project/") || isTable("ServerKind", file) {
		return ""
	}
	of := info.Types[s.X].Type
	if p, ok := of.(*types.Pointer); ok {
		of = p.Elem()
	}
	for name, fields := range kindFields {
		if isProjectType(of, name) && slices.Contains(fields, s.Sel.Name) {
			return "the field " + name + "." + s.Sel.Name
		}
	}
	return ""
}

// isProjectType reports whether t is the type of package project that is called name.
func isProjectType(t types.Type, name string) bool {
	n, ok := t.(*types.Named)
	return ok && n.Obj().Name() == name && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == module+"/project"
}
