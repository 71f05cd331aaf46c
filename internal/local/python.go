package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/program"
)

// isIsolated reports whether an option keeps python from looking for modules beside the script.
func isIsolated(s *program.Script) bool {
	return slices.Contains(s.Words, "-I") || slices.Contains(s.Words, "-P")
}

// addPythonModules adds what python may import from a directory: modules of every kind, and packages,
// which need no __init__.py.
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
		// An environment has this link.
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

// ignoreBytecode keeps python from loading compiled code that was left beside a module, since the source is
// what is hashed. loadsModules says that python loads modules that are hashed.
func ignoreBytecode(p *program.Program, loadsModules bool) error {
	s := p.Script
	ignoresVariables := slices.ContainsFunc(s.Words, func(w string) bool { // those of python
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

// startsPython matches the words by which code of python starts a program, or loads what it computes.
var startsPython = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(subprocess|multiprocessing|runpy|pty)\b|` +
		`\b(os\s*\.\s*system)\b|(?:^|[^.\w])(system)\s*\(|` +
		`\b(popen|exec|execfile|eval|exec[lv]p?e?|spawn[lv]p?e?|posix_spawnp?|create_subprocess_\w+|` +
		`__import__|spec_from_file_location|SourceFileLoader|CDLL|LoadLibrary)\s*\(|` +
		`\b(import_module)\s*\(\s*[^'"\s)]`)
})

// addNamedByPython adds the files that code of python names: the code of the script, and of all modules
// that were found.
func (r *readSet) addNamedByPython(s *program.Script) error {
	todo := []string{s.File}
	for _, item := range r.items {
		todo = append(todo, item.path)
	}
	slices.Sort(todo)
	seen := map[string]bool{}
	for len(todo) > 0 {
		file := todo[0]
		todo = todo[1:]
		if info, err := os.Stat(file); seen[file] || err != nil || !info.Mode().IsRegular() || file != s.File &&
			!slices.Contains([]string{".py", ".pyw"}, filepath.Ext(file)) {
			continue
		}
		seen[file] = true
		content, whole, err := readCode(file)
		if err != nil {
			return err
		}
		if !whole {
			r.noteUnknown(filepath.Base(file) + " is too large to be read")
		}
		r.noteStarts(startsPython(), content)
		if err := r.findQuotedFiles(file, content, filepath.Dir(s.File), nil, func(path string) error {
			todo = append(todo, path)
			_, err := r.addFile(path)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}
