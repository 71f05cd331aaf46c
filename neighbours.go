package hallmark

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/guard"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/project"
)

// A script is not all that its interpreter runs: python looks for modules beside it before it
// looks among its own, node follows what the script imports and finds packages in every
// directory above. What a locked script may load so is locked with it, as artifacts beside its
// own: a file that was edited is a mismatch, one that was added is part of no fingerprint.

// script is a program that an interpreter reads.
type script struct {
	file     string   // without links
	language string   // as package launcher calls the interpreter; "" if it is none that it knows
	words    []string // of the interpreter, before the file
	first    bool     // the #! line of the file names the interpreter
}

// Bounds of what a script may load besides itself, hashed at each start.
const (
	maxNeighbours     = 4096      // files, one artifact each
	maxNeighbourBytes = 256 << 20 // all of them
	maxNeighbourDepth = 32        // directories
)

// neighbours are what a script may load besides itself.
type neighbours struct {
	files   map[string]bool // absolute
	trees   map[string]bool // directories of packages, absolute
	bytes   int64
	unknown string // why it may load more than is found, "" if it may not
}

// isolated reports whether python is told not to look beside the script.
func (s *script) isolated() bool {
	return slices.Contains(s.words, "-I") || slices.Contains(s.words, "-P")
}

// neighbours finds what may be loaded. project is the directory of the project.
func (s *script) neighbours(project string) (*neighbours, error) {
	n := &neighbours{files: map[string]bool{}, trees: map[string]bool{}}
	var err error
	switch s.language {
	case "python":
		if !s.isolated() {
			err = n.python(filepath.Dir(s.file), 0)
		}
	case "node", "bun", "deno":
		err = n.javascript(s.file, project)
	default:
		n.unknown = "what " + cmp.Or(s.language, "the interpreter") + " loads besides the script is not known"
	}
	delete(n.files, s.file)
	return n, err
}

// add takes a file, unless it is none or there are too many.
func (n *neighbours) add(file string) error {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() || n.files[file] {
		return nil // nothing is loaded from it as it is; once it can be, it is one more
	}
	n.files[file] = true
	if n.bytes += info.Size(); len(n.files) > maxNeighbours || n.bytes > maxNeighbourBytes {
		return fmt.Errorf("the script may load more than %d files or %d bytes beside it", maxNeighbours, maxNeighbourBytes)
	}
	return nil
}

// python adds what python may import from a directory: modules of every kind, and packages,
// which need no __init__.py. Other names than those of modules cannot be imported.
func (n *neighbours) python(dir string, depth int) error {
	entries, err := os.ReadDir(dir)
	if err != nil || depth > maxNeighbourDepth {
		return errors.Join(err, deep(dir, depth))
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
			if err := n.add(name); err != nil {
				return err
			}
		case !directory || !isModule(e.Name()):
		case !e.IsDir():
			return fmt.Errorf("%s is a link to a directory, from which python may load modules", name)
		default:
			if _, err := os.Lstat(filepath.Join(name, "pyvenv.cfg")); err == nil {
				continue // an environment, which is no package
			}
			if err := n.python(name, depth+1); err != nil {
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

func deep(dir string, depth int) error {
	if depth <= maxNeighbourDepth {
		return nil
	}
	return fmt.Errorf("%s lies more than %d directories below the script", dir, maxNeighbourDepth)
}

// lockedProgram is commandProgram with what its script may load. locked and approved may be nil.
func (w *workspace) lockedProgram(ctx context.Context, s project.Server, locked *project.ServerLock, path string, approved *project.Runtime) (*program, error) {
	p, err := w.commandProgram(s, locked, path, approved)
	if err != nil || p.script == nil {
		return p, err
	}
	refused := func(err error) (*program, error) {
		p.close()
		return p, evidence.Errorf(evidence.Refused, s.Name, "give the script a directory of its own; of python, '-P' before it loads nothing from there", err)
	}
	n, err := p.script.neighbours(w.dir)
	if err != nil {
		return refused(err)
	}
	if err := p.compileAnew(); err != nil {
		return refused(err)
	}
	for _, file := range slices.Sorted(maps.Keys(n.files)) {
		o, err := hashFile(file)
		if err != nil {
			return p, evidence.Errorf(evidence.Operation, s.Name, "", err)
		}
		p.neighbour(w.key(file, w.away(file)), evidence.File, o, locked)
	}
	for _, dir := range slices.Sorted(maps.Keys(n.trees)) {
		o, err := hashPackages(ctx, dir)
		if err != nil {
			return p, evidence.Errorf(evidence.ClassOf(err), s.Name, "", err)
		}
		p.neighbour(w.key(dir, w.away(dir)), evidence.Tree, o, locked)
	}
	if dir := w.environmentOf(p); dir != "" && p.script.language == "python" {
		n.unknown = "what python loads from the environment " + dir + " is not covered"
	}
	if n.unknown != "" {
		p.report = append(p.report, evidence.CannotVerify(evidence.Claim{
			Subject: p.own, Scheme: evidence.Import, Authority: evidence.Lock, Where: project.LockFile,
		}, evidence.Unsupported, n.unknown))
	}
	return p, nil
}

// environmentOf is the environment of python's in the project whose interpreter is started, "" if
// there is none.
func (w *workspace) environmentOf(p *program) string {
	for _, image := range []*guard.Image{p.exe, p.interp} {
		if image == nil {
			continue
		}
		for _, path := range image.Chain {
			dir := filepath.Dir(filepath.Dir(path))
			rel, err := filepath.Rel(w.dir, dir)
			if _, bad := os.Lstat(filepath.Join(dir, "pyvenv.cfg")); bad == nil && err == nil && filepath.IsLocal(rel) {
				return filepath.ToSlash(rel)
			}
		}
	}
	return ""
}

// away names what lies outside the project by the way there, which is the same wherever the
// directories around the project are.
func (w *workspace) away(file string) string {
	rel, err := filepath.Rel(w.dir, file)
	if err != nil {
		return file
	}
	return filepath.ToSlash(rel)
}

// neighbour adds what the script may load, with what the lock says of it. Once something is
// locked, what it does not name is refused: it was not there when a person looked.
func (p *program) neighbour(key string, scheme evidence.Scheme, o evidence.Observed, locked *project.ServerLock) {
	if p.artifacts == nil {
		p.artifacts = map[string]digest.Digest{}
	}
	p.artifacts[key] = o.SHA256()
	c := evidence.Claim{Subject: key, Scheme: scheme, Authority: evidence.Lock, Where: project.LockFile}
	if locked == nil {
		p.judged(c, o)
		return
	}
	want, ok := locked.Artifacts[key]
	if ok {
		c.Want = []digest.Digest{want}
		p.judged(c, o)
		if e := &p.report[len(p.report)-1]; scheme == evidence.Tree {
			e.Fix = "these are not the packages that were locked: install them again, or 'hallmark pin " + p.server + "' if you did"
		}
		return
	}
	c.Scheme, c.Text = evidence.Unhashed, "nothing but what was pinned that "+p.own+" may load"
	e := evidence.Fact(c, key)
	e.Fix = "if it is not yours remove it, and find out who put it there; else 'hallmark pin " + p.server + "' shows it and locks it"
	p.report = append(p.report, e)
}

// compileAnew keeps python from code that it, or somebody, compiled before and left beside a
// module: what is hashed is the source.
func (p *program) compileAnew() error {
	s := p.script
	deaf := slices.ContainsFunc(s.words, func(w string) bool { // to the variables
		return strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--") && strings.Contains(w, "E")
	})
	switch {
	case s.language != "python" || s.isolated():
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
	s := &script{file: exe.Path(), language: launcher.Interpreter(named), words: words, first: true}
	for _, path := range interp.Chain { // whatever its link is called
		s.language = cmp.Or(s.language, launcher.Interpreter(path))
	}
	return s
}
