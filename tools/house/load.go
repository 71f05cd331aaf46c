package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// source is a package of this module, parsed and type-checked.
type source struct {
	path  string   // relative to the module; "." is its own directory
	uses  []string // paths of the module's packages that it imports
	tests int      // lines of its test files and scripts
	fset  *token.FileSet
	files []*ast.File
	texts map[*ast.File][]byte
	types *types.Package
	info  *types.Info
}

// listed is what is needed of `go list -json`.
type listed struct {
	Dir, ImportPath, Export            string
	GoFiles, TestGoFiles, XTestGoFiles []string
	Imports                            []string
	Module                             *struct{ Path string }
	DepOnly                            bool
}

// goCommand runs the go command in the module's directory, and gives what it prints.
func goCommand(root string, args ...string) ([]byte, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w", args[0], err)
	}
	return out, nil
}

// loadPackages reads every package of the module, with the types of what it imports from the
// export data that the compiler has.
func loadPackages(root string) ([]*source, error) {
	out, err := goCommand(root, "list", "-export", "-deps",
		"-json=Dir,ImportPath,Export,GoFiles,TestGoFiles,XTestGoFiles,Imports,Module,DepOnly", "./...")
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	var ours []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		exports[l.ImportPath] = l.Export
		if !l.DepOnly && len(l.GoFiles) > 0 {
			ours = append(ours, l)
		}
	}
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})
	var all []*source
	for _, l := range ours {
		path := l.relative(l.ImportPath)
		if first, _, _ := strings.Cut(path, "/"); first == "e2e" || first == "bench" || first == "examples" {
			continue
		}
		s, err := checkTypes(fset, imports, path, l)
		if err != nil {
			return nil, err
		}
		for _, imported := range l.Imports {
			if path := l.relative(imported); path != "" {
				s.uses = append(s.uses, path)
			}
		}
		if s.tests, err = countTests(l); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// relative gives the path of a package of the module, and "" of any other.
func (l listed) relative(importPath string) string {
	if importPath == l.Module.Path {
		return "."
	}
	path, ours := strings.CutPrefix(importPath, l.Module.Path+"/")
	if !ours {
		return ""
	}
	return path
}

// countTests counts the lines of a package's tests. Its scripts are such: a test file has but the call that runs them.
func countTests(l listed) (lines int, err error) {
	files, err := filepath.Glob(filepath.Join(l.Dir, "testdata", "script", "*.txtar"))
	if err != nil {
		return 0, err
	}
	for _, name := range slices.Concat(l.TestGoFiles, l.XTestGoFiles) {
		files = append(files, filepath.Join(l.Dir, name))
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return 0, err
		}
		lines += bytes.Count(text, []byte("\n"))
	}
	return lines, nil
}

func checkTypes(fset *token.FileSet, imports types.Importer, path string, l listed) (*source, error) {
	s := &source{path: path, fset: fset, texts: map[*ast.File][]byte{}, info: &types.Info{
		Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
	}}
	for _, name := range l.GoFiles {
		name = filepath.Join(l.Dir, name)
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		f, err := parser.ParseFile(fset, name, text, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		s.files, s.texts[f] = append(s.files, f), text
	}
	config := types.Config{Importer: imports}
	var err error
	s.types, err = config.Check(l.ImportPath, fset, s.files, s.info)
	return s, err
}
