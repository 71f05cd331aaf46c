package jsscan

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/hallmark-mcp/hallmark/digest"
)

// Whatever may change what is found changes the version, or leaves none.
func TestVersion(t *testing.T) {
	code := func(name, text string) fs.FS {
		return fstest.MapFS{name: {Data: []byte(text)}, "a_test.go": {Data: []byte(text + "x")}}
	}
	was := versionOf(code("a.go", "1"), nil)
	for name, sources := range map[string]fs.FS{
		"another source":  code("a.go", "2"),
		"one more source": fstest.MapFS{"a.go": {Data: []byte("1")}, "b.go": {}},
		"another name":    code("b.go", "1"),
	} {
		if v := versionOf(sources, nil); v == was || len(v) != 64 {
			t.Errorf("%s: version %q, as before", name, v)
		}
	}
	if v := versionOf(fstest.MapFS{"a.go": {Data: []byte("1")}}, nil); v != was {
		t.Error("a test's source changes the version")
	}
	other := &debug.Module{Path: "example.com/other", Version: "v1.0.0"}
	if v := versionOf(code("a.go", "1"), []*debug.Module{&parsers[0], other, &parsers[1]}); v != was {
		t.Error("other modules change the version")
	}
	version, sum, replaced := parsers[1], parsers[1], parsers[1]
	version.Version, sum.Sum, replaced.Replace = "v9.9.9", "h1:a", other
	for name, m := range map[string]debug.Module{"version": version, "sum": sum, "replacement": replaced} {
		if v := versionOf(code("a.go", "1"), []*debug.Module{&parsers[0], &m}); v != "" {
			t.Errorf("a parser of another %s: version %q", name, v)
		}
	}
	if v := versionOf(fstest.MapFS{}, nil); v != "" {
		t.Errorf("no source: version %q", v)
	}
	if v := Version(); len(v) != 64 {
		t.Errorf("this program's version is %q", v)
	}
}

// The parsers are those of go.mod. Whoever updates one writes its line of go.sum into version.go, which
// changes the version of the scanner.
func TestParsers(t *testing.T) {
	for _, p := range parsers {
		for file, line := range map[string]string{"go.mod": p.Path + " " + p.Version,
			"go.sum": p.Path + " " + p.Version + " " + p.Sum} {
			data, err := os.ReadFile("../../" + file)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(data), line+"\n") || strings.Contains(string(data), "replace "+p.Path) {
				t.Errorf("%s has another line than %q: raise the version in version.go", file, line)
			}
		}
	}
}

// What a result depends on is in its key, or in the version: the scanner uses no other code of ours than the
// names of kinds, and of a name it looks at the extension only.
func TestKey(t *testing.T) {
	entries, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range entries {
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		if _, err := sources.ReadFile(filepath.ToSlash(name)); err != nil {
			t.Error(err)
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, imp := range f.Imports {
			from, _ := strconv.Unquote(imp.Path.Value)
			ours := from == "github.com/hallmark-mcp/hallmark/plugin" ||
				from == "github.com/hallmark-mcp/hallmark/digest" && name == "version.go"
			parses := slices.ContainsFunc(parsers, func(p debug.Module) bool { return strings.HasPrefix(from, p.Path) })
			if strings.Contains(from, ".") && !ours && !parses {
				t.Errorf("%s imports %s, of which the version knows nothing", name, from)
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			x, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			of, ok := x.X.(*ast.Ident)
			known := []string{"Import", "Kind", "Static", "Export", "Dynamic", "Require", "Resolve", "Builtin", "Native", "Global", "Use"}
			if ok && of.Name == "plugin" && of.Obj == nil && !slices.Contains(known, x.Sel.Name) {
				t.Errorf("%s uses plugin.%s, of which the version knows nothing", name, x.Sel.Name)
			}
			return true
		})
	}
	for _, code := range []string{"import 'a'; require('b')", "await /x/; import 'a'", "let x: number = require('a')",
		"return require('a')", "with (a) require('b')"} {
		for _, ext := range []string{".js", ".mjs", ".cjs", ".MJS", ".ts", ".txt", ""} {
			names := []string{"a" + ext, "b/c.d/e" + ext, "node_modules/x/index" + ext}
			for _, name := range names {
				if got, want := summary(t, name, code), summary(t, names[0], code); got != want {
					t.Errorf("%s: %q in %s, %q in %s", code, got, name, want, names[0])
				}
				if Key(name, digest.FromBytes([]byte(code))) != Key(names[0], digest.FromBytes([]byte(code))) {
					t.Errorf("%s and %s have different keys", name, names[0])
				}
			}
		}
	}
	a, b := digest.FromBytes([]byte("a")), digest.FromBytes([]byte("b"))
	if Key("a.js", a) == Key("a.mjs", a) || Key("a.js", a) == Key("a.js", b) {
		t.Error("a key does not tell extensions and contents apart")
	}
}
