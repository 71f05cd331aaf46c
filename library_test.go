package hallmark_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const modulePath = "github.com/hallmark-mcp/hallmark"

// maxLines bounds the facade, without its tests: what needs more belongs into a flow.
const maxLines = 800

// publicPackages are all that others can import: what they would have no use for is internal. "" is the facade.
var publicPackages = []string{"", "artifact", "digest", "evidence", "hashline", "launcher", "ledger", "plugin", "policy", "project",
	"serverjson", "surface", "tree"}

// TestLibraryTypes holds that a program outside this module can name every type that it meets:
// none that the exported names of a public package lead to lies in an internal package.
func TestLibraryTypes(t *testing.T) {
	public := loadPublic(t)
	for _, p := range public {
		w := typeWalk{seen: map[types.Type]bool{}, public: public}
		for _, name := range p.Scope().Names() {
			if object := p.Scope().Lookup(name); object.Exported() {
				w.object(object, p.Path()+"."+name)
			}
		}
		for _, found := range w.found {
			t.Error(found)
		}
	}
	var names []string
	for path := range public {
		names = append(names, strings.TrimPrefix(strings.TrimPrefix(path, modulePath), "/"))
	}
	slices.Sort(names)
	if !slices.Equal(names, publicPackages) {
		t.Errorf("the public packages are %q, and are to be %q", names, publicPackages)
	}
}

// TestLibraryTypesFindsInternal holds that the walk sees what it is there for.
func TestLibraryTypesFindsInternal(t *testing.T) {
	hidden := types.NewPackage(modulePath+"/internal/host", "host")
	host := types.NewNamed(types.NewTypeName(token.NoPos, hidden, "Host", nil), types.NewStruct(nil, nil), nil)
	p := types.NewPackage(modulePath, "hallmark")
	field := func(name string, of types.Type) *types.Struct {
		return types.NewStruct([]*types.Var{types.NewField(token.NoPos, p, name, of, false)}, nil)
	}
	result := func(of types.Type) *types.Signature {
		return types.NewSignatureType(nil, nil, nil, nil, types.NewTuple(types.NewVar(token.NoPos, p, "", of)), false)
	}
	for name, object := range map[string]types.Object{
		"field":    types.NewTypeName(token.NoPos, p, "A", field("Host", types.NewPointer(host))),
		"result":   types.NewFunc(token.NoPos, p, "B", result(types.NewSlice(host))),
		"callback": types.NewTypeName(token.NoPos, p, "C", field("Confirm", result(host))),
		"alias": types.NewTypeName(token.NoPos, p, "D",
			types.NewAlias(types.NewTypeName(token.NoPos, p, "E", nil), host)),
		"map": types.NewVar(token.NoPos, p, "F", types.NewMap(types.Typ[types.String], host)),
	} {
		w := typeWalk{seen: map[types.Type]bool{}, public: map[string]*types.Package{modulePath: p}}
		if w.object(object, name); len(w.found) != 1 {
			t.Errorf("%s: found %q", name, w.found)
		}
	}
	w := typeWalk{seen: map[types.Type]bool{}, public: map[string]*types.Package{modulePath: p}}
	if w.object(types.NewTypeName(token.NoPos, p, "G", field("host", host)), "unexported"); len(w.found) != 0 {
		t.Errorf("an unexported field is nobody's to name: %q", w.found)
	}
}

// TestLibraryOptions holds that options stay few, and the facade thin.
func TestLibraryOptions(t *testing.T) {
	scope := loadPublic(t)[modulePath].Scope()
	for _, name := range scope.Names() {
		if s, ok := scope.Lookup(name).Type().Underlying().(*types.Struct); ok && strings.HasSuffix(name, "Options") &&
			s.NumFields() > 8 {
			t.Errorf("%s has %d fields; 8 are enough", name, s.NumFields())
		}
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines += bytes.Count(data, []byte("\n"))
	}
	if lines == 0 || lines > maxLines {
		t.Errorf("the facade has %d lines", lines)
	}
}

// loadPublic returns the packages of this module that others can import, by path.
func loadPublic(t *testing.T) map[string]*types.Package {
	t.Helper()
	list := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Export,Name", "./...")
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	exports := map[string]string{}
	var paths []string
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ ImportPath, Export, Name string }
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		if p.Name != "main" && p.Export != "" && isPublic(p.ImportPath) {
			paths = append(paths, p.ImportPath)
		}
	}
	load := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("no export data of %s", path)
		}
		return os.Open(exports[path])
	})
	public := map[string]*types.Package{}
	for _, path := range paths {
		p, err := load.Import(path)
		if err != nil {
			t.Fatal(err)
		}
		public[path] = p
	}
	return public
}

// isPublic reports whether a package is part of the library.
func isPublic(path string) bool {
	if path == modulePath {
		return true
	}
	rel, ours := strings.CutPrefix(path, modulePath+"/")
	if !ours || isInternal(path) {
		return false
	}
	switch first, _, _ := strings.Cut(rel, "/"); first {
	case "cmd", "e2e", "bench", "tools": // programs and tests
		return false
	}
	return true
}

func isInternal(path string) bool {
	return strings.HasPrefix(path, modulePath+"/") && strings.Contains(path+"/", "/internal/")
}

// typeWalk follows the types that exported names lead to.
type typeWalk struct {
	public map[string]*types.Package
	seen   map[types.Type]bool
	found  []string
}

func (w *typeWalk) object(o types.Object, at string) {
	w.walk(o.Type(), at)
}

func (w *typeWalk) walk(t types.Type, at string) {
	if t == nil || w.seen[t] {
		return
	}
	w.seen[t] = true
	switch t := t.(type) {
	case *types.Alias:
		w.named(t.Obj(), at)
		w.walk(t.Rhs(), at)
	case *types.Named:
		w.named(t.Obj(), at)
		for arg := range t.TypeArgs().Types() {
			w.walk(arg, at)
		}
		if p := t.Obj().Pkg(); p == nil || w.public[p.Path()] == nil {
			return // of others, or reported already
		}
		w.walk(t.Underlying(), at)
		for m := range t.Methods() {
			if m.Exported() {
				w.walk(m.Type(), at+"."+m.Name())
			}
		}
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() || f.Embedded() {
				w.walk(f.Type(), at+"."+f.Name())
			}
		}
	case *types.Signature:
		for v := range t.Params().Variables() {
			w.walk(v.Type(), at+"(parameter)")
		}
		for v := range t.Results().Variables() {
			w.walk(v.Type(), at+"(result)")
		}
		for p := range t.TypeParams().TypeParams() {
			w.walk(p.Constraint(), at)
		}
	case *types.Interface:
		for m := range t.Methods() {
			if m.Exported() {
				w.walk(m.Type(), at+"."+m.Name())
			}
		}
		for e := range t.EmbeddedTypes() {
			w.walk(e, at)
		}
	case *types.Map:
		w.walk(t.Key(), at)
		w.walk(t.Elem(), at)
	case *types.Union:
		for term := range t.Terms() {
			w.walk(term.Type(), at)
		}
	case *types.Tuple:
		for v := range t.Variables() {
			w.walk(v.Type(), at)
		}
	case interface{ Elem() types.Type }: // pointers, slices, arrays, channels
		w.walk(t.Elem(), at)
	}
}

func (w *typeWalk) named(o *types.TypeName, at string) {
	if o.Pkg() != nil && isInternal(o.Pkg().Path()) {
		w.found = append(w.found, fmt.Sprintf("%s leads to %s.%s", at, o.Pkg().Path(), o.Name()))
	}
}
