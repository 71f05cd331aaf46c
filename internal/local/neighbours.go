package local

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/guard/executable"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/launcher"
)

// isIsolated reports whether python is told not to look beside the script.
func isIsolated(s *program.Script) bool {
	return slices.Contains(s.Words, "-I") || slices.Contains(s.Words, "-P")
}

// findLoadedFiles finds what an interpreter may load besides the script that it is given.
func findLoadedFiles(r *readSet) error {
	s := r.p.Script
	if s == nil {
		return nil
	}
	switch s.Language {
	case "python":
		if !isIsolated(s) {
			if err := r.addPythonModules(filepath.Dir(s.File), 0); err != nil {
				return err
			}
		}
		dir := findEnvironment(r.w, r.p)
		installed := dir != "" && !slices.Contains(s.Words, "-S")
		if installed {
			if err := r.addEnvironment(dir); err != nil {
				return err
			}
		}
		before := r.count
		if err := r.addNamedByPython(s); err != nil {
			return err
		}
		return ignoreBytecode(r.p, installed || !isIsolated(s) || r.count > before)
	case "node", "bun", "deno":
		if s.Language == "bun" {
			if err := r.quietBun(); err != nil {
				return err
			}
		}
		return r.addImports(s.File)
	case "java":
		return r.addClassPath(s.File)
	}
	r.noteUnknown("what " + cmp.Or(s.Language, "the interpreter") + " loads besides the script is not known")
	return nil
}

// addPythonModules adds what python may import from a directory: modules of every kind, and packages,
// which need no __init__.py. Other names than those of modules cannot be imported.
func (r *readSet) addPythonModules(dir string, depth int) error {
	entries, err := r.listDir(dir, depth)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		directory := e.IsDir()
		if e.Type()&fs.ModeSymlink != 0 {
			info, err := os.Stat(name)
			directory = err == nil && info.IsDir()
		}
		switch {
		case !directory && slices.Contains([]string{".py", ".pyw", ".pyc", ".so", ".pyd"}, filepath.Ext(name)):
			if _, err := r.addFile(name); err != nil {
				return err
			}
		case !directory || !isModule(e.Name()):
		// of an environment
		case e.Name() == "lib64" && host.RealPath(name) == filepath.Join(host.RealPath(dir), "lib"):
		case !e.IsDir():
			return fmt.Errorf("%s is a link to a directory, from which python may load modules", name)
		default:
			if err := r.addPythonModules(name, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// isModule reports whether a directory of this name can be imported as a package.
func isModule(name string) bool {
	if name == "__pycache__" || name == "node_modules" || name[0] >= '0' && name[0] <= '9' {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return r < 0x80 && r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

// ignoreBytecode keeps python from code that it, or somebody, compiled before and left beside a
// module: what is hashed is the source. loadsModules says that it loads modules which are hashed.
func ignoreBytecode(p *program.Program, loadsModules bool) error {
	s := p.Script
	ignoresVariables := slices.ContainsFunc(s.Words, func(w string) bool { // to the variables
		return strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--") && strings.ContainsAny(w, "EI")
	})
	switch {
	case !loadsModules:
	case !ignoresVariables:
		p.RuntimeVariables = append(p.RuntimeVariables, "PYTHONDONTWRITEBYTECODE=1", "PYTHONPYCACHEPREFIX="+os.DevNull)
	case !s.First:
		p.Args = slices.Insert(p.Args, 1, "-B", "-X", "pycache_prefix="+os.DevNull)
	default:
		return errors.New("its #! line keeps python from the variable by which it would leave compiled code alone; " +
			"name the interpreter itself in 'command'")
	}
	return nil
}

// scriptOf is what an interpreter reads of an image with a #! line.
func scriptOf(exe, interp *executable.Image, named string, words []string) *program.Script {
	s := &program.Script{File: exe.Path(), Language: launcher.InterpreterName(named), Words: words, First: true}
	for _, path := range interp.Chain { // whatever its link is called
		s.Language = cmp.Or(s.Language, launcher.InterpreterName(path))
	}
	return s
}
