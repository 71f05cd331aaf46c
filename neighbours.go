package hallmark

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/guard"
	"github.com/hallmark-mcp/hallmark/launcher"
)

// A script is not all that its interpreter runs: python looks for modules beside it before it
// looks among its own, node follows what the script imports and finds packages in every
// directory above. What a locked script may load so is locked with it.

// script is a program that an interpreter reads.
type script struct {
	file     string   // without links
	language string   // as package launcher calls the interpreter; "" if it is none that it knows
	words    []string // of the interpreter, before the file
	first    bool     // the #! line of the file names the interpreter
}

// isolated reports whether python is told not to look beside the script.
func (s *script) isolated() bool {
	return slices.Contains(s.words, "-I") || slices.Contains(s.words, "-P")
}

// beside finds what an interpreter may load besides the script that it is given.
func beside(r *reads) error {
	s := r.p.script
	if s == nil {
		return nil
	}
	switch s.language {
	case "python":
		if !s.isolated() {
			if err := r.python(filepath.Dir(s.file), 0); err != nil {
				return err
			}
		}
		dir := r.w.environmentOf(r.p)
		installed := dir != "" && !slices.Contains(s.words, "-S")
		if installed {
			if err := r.environment(dir); err != nil {
				return err
			}
		}
		before := r.count
		if err := r.pythonNamed(s); err != nil {
			return err
		}
		return r.p.compileAnew(installed || !s.isolated() || r.count > before)
	case "node", "bun", "deno":
		if s.language == "bun" {
			if err := r.quiet(); err != nil {
				return err
			}
		}
		return r.javascript(s.file)
	case "java":
		return r.jar(s.file)
	}
	r.cannot("what " + cmp.Or(s.language, "the interpreter") + " loads besides the script is not known")
	return nil
}

// python adds what python may import from a directory: modules of every kind, and packages,
// which need no __init__.py. Other names than those of modules cannot be imported.
func (r *reads) python(dir string, depth int) error {
	entries, err := r.entries(dir, depth)
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
			if _, err := r.file(name); err != nil {
				return err
			}
		case !directory || !isModule(e.Name()):
		case e.Name() == "lib64" && resolved(name) == filepath.Join(resolved(dir), "lib"): // of an environment
		case !e.IsDir():
			return fmt.Errorf("%s is a link to a directory, from which python may load modules", name)
		default:
			if err := r.python(name, depth+1); err != nil {
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

// compileAnew keeps python from code that it, or somebody, compiled before and left beside a
// module: what is hashed is the source. reads says that it loads modules which are hashed.
func (p *program) compileAnew(reads bool) error {
	s := p.script
	deaf := slices.ContainsFunc(s.words, func(w string) bool { // to the variables
		return strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--") && strings.ContainsAny(w, "EI")
	})
	switch {
	case !reads:
	case !deaf:
		p.set = append(p.set, "PYTHONDONTWRITEBYTECODE=1", "PYTHONPYCACHEPREFIX="+os.DevNull)
	case !s.first:
		p.args = slices.Insert(p.args, 1, "-B", "-X", "pycache_prefix="+os.DevNull)
	default:
		return errors.New("its #! line keeps python from the variable by which it would leave compiled code alone; name the interpreter itself in 'command'")
	}
	return nil
}

// scriptOf is what an interpreter reads of an image with a #! line.
func scriptOf(exe, interp *guard.Image, named string, words []string) *script {
	s := &script{file: exe.Path(), language: launcher.InterpreterName(named), words: words, first: true}
	for _, path := range interp.Chain { // whatever its link is called
		s.language = cmp.Or(s.language, launcher.InterpreterName(path))
	}
	return s
}
