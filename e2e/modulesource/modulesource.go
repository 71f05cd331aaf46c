// Package modulesource reads the sources of this module, for tests that hold a rule of all of it.
package modulesource

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Sources are the sources of this module, without its tests.
type Sources struct {
	Dirs  map[string][]*ast.File // by directory, "." of the root package
	Names map[*ast.File]string   // without the directory
}

// Read reads them below the root of the module.
func Read(t *testing.T, root string) *Sources {
	t.Helper()
	s := &Sources{Dirs: map[string][]*ast.File{}, Names: map[*ast.File]string{}}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		path, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		path = filepath.ToSlash(path)
		if d.IsDir() && slices.Contains([]string{"e2e", "bench", "examples", "bin", "tools", ".git"}, path) ||
			d.Name() == "testdata" {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		dir := filepath.ToSlash(filepath.Dir(path))
		s.Dirs[dir], s.Names[f] = append(s.Dirs[dir], f), d.Name()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
