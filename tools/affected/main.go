// Program affected names the packages whose tests a change asks for: those with a file that differs from a
// base, and those that import one of them whose program text differs.
//
//	go run -C tools ./affected [-base REVISION]
//
// Without -base the base is the last commit before the work: HEAD where files are changed and not committed, else
// the commit before HEAD. The packages go to standard output, and what is left out to standard error.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	root := flag.String("root", "..", "the module's directory")
	base := flag.String("base", "", "the `revision` to compare with")
	flag.Parse()
	if err := run(*root, *base); err != nil {
		fmt.Fprintln(os.Stderr, "affected:", err)
		os.Exit(1)
	}
}

func run(root, base string) error {
	base, files, err := listChanges(root, base)
	if err != nil {
		return err
	}
	packages, err := listPackages(root)
	if err != nil {
		return err
	}
	found := affectedBy(packages, files, func(name string) ([]byte, error) {
		return os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	})
	fmt.Fprintf(os.Stderr, "check: %d files differ from %s\n", len(files), base)
	for _, said := range found.leftOut() {
		fmt.Fprintln(os.Stderr, "check: "+said)
	}
	for _, p := range found.test {
		fmt.Println("./" + strings.TrimPrefix(p, "."))
	}
	return nil
}

// listChanges gives the files that differ from where the work left a base, committed or not, relative to the module.
func listChanges(root, base string) (of string, files []string, err error) {
	if base == "" {
		status, err := output(root, "git", "status", "--porcelain")
		if err != nil {
			return "", nil, err
		}
		if base = "HEAD"; len(status) == 0 {
			base = "HEAD^"
		}
	}
	differ, err := output(root, "git", "diff", "--merge-base", "--name-only", "--no-renames", "--relative", "-z", base)
	if err != nil {
		return "", nil, err
	}
	added, err := output(root, "git", "ls-files", "--others", "--exclude-standard", "-z")
	if err != nil {
		return "", nil, err
	}
	files = strings.FieldsFunc(string(differ)+string(added), func(r rune) bool { return r == 0 })
	return base, files, nil
}

// pkg is a package, by its directory relative to the module; "." is the module's own.
type pkg struct {
	dir     string
	tests   []string // files
	imports []string // directories, of the package and of its tests
}

func listPackages(root string) ([]pkg, error) {
	out, err := output(root, "go", "list", "-json=ImportPath,Module,Imports,TestImports,XTestImports,TestGoFiles,"+
		"XTestGoFiles", "./...")
	if err != nil {
		return nil, err
	}
	var all []pkg
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var l struct {
			ImportPath                                                    string
			Module                                                        struct{ Path string }
			Imports, TestImports, XTestImports, TestGoFiles, XTestGoFiles []string
		}
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		within := func(importPath string) string {
			if importPath == l.Module.Path {
				return "."
			}
			dir, ours := strings.CutPrefix(importPath, l.Module.Path+"/")
			if !ours {
				return ""
			}
			return dir
		}
		p := pkg{dir: within(l.ImportPath)}
		for _, name := range slices.Concat(l.TestGoFiles, l.XTestGoFiles) {
			p.tests = append(p.tests, path.Join(p.dir, name))
		}
		for _, imported := range slices.Concat(l.Imports, l.TestImports, l.XTestImports) {
			if dir := within(imported); dir != "" {
				p.imports = append(p.imports, dir)
			}
		}
		all = append(all, p)
	}
}

// output runs a program in dir, and gives what it prints.
func output(dir, name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", name, args[0], err)
	}
	return out, nil
}
