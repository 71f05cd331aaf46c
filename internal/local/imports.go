package local

import (
	"cmp"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hallmark-mcp/hallmark/internal/jsscan"
	"github.com/hallmark-mcp/hallmark/plugin"
)

// addImports adds the files that a script imports, and those that these import. For each path it adds
// every file that the path could stand for, so that a file which is added later and takes precedence is
// noticed. If an import is computed at run time, it adds all files of the script's directory.
func (r *readSet) addImports(script string) error {
	m := &modules{
		readSet: r, files: []string{script}, todo: []string{script}, wideDirs: map[string]bool{},
		dirs: map[string]bool{}, read: map[string]bool{}, maps: map[string]bool{},
	}
	for more := true; more; {
		for len(m.todo) > 0 {
			file := m.todo[0]
			m.todo = m.todo[1:]
			if err := m.follow(file, filepath.Dir(script)); err != nil {
				return err
			}
		}
		if more = m.hasPending(); more {
			if err := m.loadWidened(); err != nil {
				return err
			}
			continue
		}
		if err := m.loadConfigs(); err != nil {
			return err
		}
		more = len(m.todo) > 0 || m.hasPending() || m.configured < len(m.files)
	}
	if m.importsByName || len(m.wideDirs) > 0 {
		for dir := range m.dirs {
			m.vendored = append(m.vendored, filepath.Join(dir, "node_modules"))
		}
	}
	for _, dir := range m.vendored {
		if err := r.addTree(dir, nodePackages); err != nil {
			return err
		}
	}
	return nil
}

// follow adds the files that a file imports or names in quotes. top is the script's directory.
func (m *modules) follow(file, top string) error {
	switch filepath.Ext(file) {
	case ".json", ".node", ".wasm", ".toml", ".jsonc", ".lock":
		return nil
	case ".jsx", ".tsx":
		// The runtime imports the module that makes elements, which the code does not name.
		m.importsByName = m.importsByName || m.p.Script.Language != "node"
	}
	content, _, err := readCode(file)
	if err != nil {
		return err
	}
	m.noteStarts(startsJavaScript(), content)
	if err := m.findQuotedFiles(file, content, top, startedEndings, m.loadStarted); err != nil {
		return err
	}
	imports, err := jsscan.File(filepath.Base(file), content)
	if err != nil {
		return err // it is too large, or cannot be parsed: what it imports is not known
	}
	for _, imp := range imports {
		if err := m.followImport(imp, file, top); err != nil {
			return err
		}
	}
	return nil
}

// followImport adds the files that an import in file may stand for. top is the script's directory.
func (m *modules) followImport(imp plugin.Import, file, top string) error {
	if imp.Kind == plugin.Global { // which loads no file
		return nil
	}
	if imp.Computed {
		m.widen(top)
		m.noteComputed(cmp.Or(string(imp.Kind), "code that is not read"))
		return nil
	}
	spec, _, _ := strings.Cut(imp.Specifier, "?")
	path, isFile := strings.CutPrefix(spec, "file://")
	if name := strings.TrimPrefix(spec, "node:"); slices.Contains(startModules, name) {
		m.noteComputed(name)
	}
	switch {
	case plugin.IsCore(spec): // tsconfig.json may map it to a file
		m.importsByName = m.importsByName || m.p.Script.Language == "bun" && !strings.Contains(spec, ":")
	case strings.HasPrefix(spec, "data:"):
	case isFile || filepath.IsAbs(spec):
		return m.loadCandidates(filepath.FromSlash(path), 0)
	case spec == "." || spec == ".." || strings.HasPrefix(spec, "./") || strings.HasPrefix(spec, "../"):
		return m.loadCandidates(filepath.Join(filepath.Dir(file), filepath.FromSlash(spec)), 0)
	case strings.HasPrefix(spec, "#"): // package.json says what it stands for
		m.widen(m.packageDir(file, top))
	case strings.Contains(spec, ":"):
		m.noteUnknown("it imports " + spec)
	default:
		m.importsByName = true
		if m.importsItself(file, spec) {
			m.widen(m.packageDir(file, top))
		}
	}
	return nil
}

// startsJavaScript matches the words by which code of JavaScript starts a program, or loads what it
// computes, without an import.
var startsJavaScript = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(Worker)\s*\(|\b(Bun\s*\.\s*spawn|Deno\s*\.\s*(?:Command|run|dlopen))`)
})

// startModules are the modules of runtimes of JavaScript that start programs, or load code that they are
// given.
var startModules = []string{"child_process", "cluster", "worker_threads", "vm"}
