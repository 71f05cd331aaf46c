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
	"strings"
)

// source is a package of this module, parsed and type-checked.
type source struct {
	path  string // relative to the module; "." is its own directory
	fset  *token.FileSet
	files []*ast.File
	texts map[*ast.File][]byte
	types *types.Package
	info  *types.Info
}

// listed is what is needed of `go list -json`.
type listed struct {
	Dir, ImportPath, Export string
	GoFiles                 []string
	Module                  *struct{ Path string }
	DepOnly                 bool
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
	out, err := goCommand(root, "list", "-export", "-deps", "-json=Dir,ImportPath,Export,GoFiles,Module,DepOnly",
		"./...")
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
		path := strings.TrimPrefix(strings.TrimPrefix(l.ImportPath, l.Module.Path), "/")
		if path == "" {
			path = "."
		}
		if first, _, _ := strings.Cut(path, "/"); first == "e2e" || first == "bench" || first == "examples" {
			continue
		}
		s, err := checkTypes(fset, imports, path, l)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
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
