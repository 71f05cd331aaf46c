package local

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/jsscan"
	"github.com/hallmark-mcp/hallmark/plugin"
)

// moduleEndings are those of files that a runtime of JavaScript loads.
var moduleEndings = []string{".js", ".cjs", ".mjs", ".ts", ".cts", ".mts", ".jsx", ".tsx", ".json", ".node", ".wasm"}

// modules follows what a script of JavaScript imports.
type modules struct {
	*readSet
	files         []string // that are loaded, the script first
	todo          []string
	importsByName bool            // some are imported by name
	wideDirs      map[string]bool // directories of which any file may be imported

	configs    []string        // configuration files that apply, read or not
	configured int             // how many of files configs takes into account
	dirs       map[string]bool // directories above files
	read       map[string]bool // of configs
	maps       map[string]bool // names of those of configs that others name
	vendored   []string        // directories of modules that stand for remote ones
}

// addImports adds the files that a script imports, and those that they import in turn. For each path
// it adds every file that the path could stand for, so that a file which is added later and takes
// precedence is noticed. If an import is computed at run time, it adds all of the script's directory.
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

// hasPending reports whether a directory is left of which any file may be imported.
func (m *modules) hasPending() bool {
	return slices.Contains(slices.Collect(maps.Values(m.wideDirs)), false)
}

func (m *modules) loadWidened() error {
	for dir, done := range m.wideDirs {
		if !done {
			m.wideDirs[dir] = true
			if err := m.loadAll(dir, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// load takes a file that may be imported, and follows its imports.
func (m *modules) load(file string) error {
	fresh, err := m.addFile(file)
	if err != nil || !fresh {
		return err
	}
	m.files, m.todo = append(m.files, file), append(m.todo, file)
	return nil
}

// startedEndings are those that a path in quotes may lack: of code, as data may change.
var startedEndings = slices.DeleteFunc(slices.Clone(moduleEndings), func(e string) bool { return e == ".json" })

// loadStarted takes a file that code names in quotes; what the runtime reads is followed.
func (m *modules) loadStarted(file string) error {
	if slices.Contains(moduleEndings, filepath.Ext(file)) {
		return m.load(file)
	}
	_, err := m.addFile(file)
	return err
}

// follow reads what a file imports. top is the script's directory.
func (m *modules) follow(file, top string) error {
	switch filepath.Ext(file) {
	case ".json", ".node", ".wasm", ".toml", ".jsonc", ".lock":
		return nil
	case ".jsx", ".tsx":
		m.importsByName = m.importsByName || m.p.Script.Language != "node" // what makes elements is imported unseen
	}
	content, whole, err := readCode(file)
	if err != nil {
		return err
	}
	imports, err := jsscan.File(filepath.Base(file), content)
	if err != nil || !whole {
		imports = []plugin.Import{{Computed: true}}
	}
	m.noteStarts(startsJavaScript, content)
	if err := m.findQuotedFiles(file, content, top, startedEndings, m.loadStarted); err != nil {
		return err
	}
	for _, imp := range imports {
		spec, _, _ := strings.Cut(imp.Specifier, "?")
		path, isFile := strings.CutPrefix(spec, "file://")
		if name := strings.TrimPrefix(spec, "node:"); !imp.Computed && slices.Contains(startModules, name) {
			m.noteComputed(name)
		}
		switch {
		case imp.Computed:
			m.widen(top)
			m.noteComputed(cmp.Or(string(imp.Kind), "code that is not read"))
		case plugin.IsCore(spec):
			// what tsconfig.json may map
			m.importsByName = m.importsByName || m.p.Script.Language == "bun" && !strings.Contains(spec, ":")
		case strings.HasPrefix(spec, "data:"):
		case isFile || filepath.IsAbs(spec):
			err = m.loadCandidates(filepath.FromSlash(path), 0)
		case spec == "." || spec == ".." || strings.HasPrefix(spec, "./") || strings.HasPrefix(spec, "../"):
			err = m.loadCandidates(filepath.Join(filepath.Dir(file), filepath.FromSlash(spec)), 0)
		case strings.HasPrefix(spec, "#"): // what it means, package.json says
			m.widen(m.packageDir(file, top))
		case strings.Contains(spec, ":"):
			m.noteUnknown("it imports " + spec)
		default:
			if m.importsByName = true; m.importsItself(file, spec) {
				m.widen(m.packageDir(file, top))
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (m *modules) widen(dir string) {
	if _, ok := m.wideDirs[dir]; !ok {
		m.wideDirs[dir] = false
	}
}

// packageDir is the directory of the package that a file is of, or top.
func (m *modules) packageDir(file, top string) string {
	for dir := filepath.Dir(file); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, "package.json")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return top
		}
	}
}

// importsItself reports whether a package imports itself by its name.
func (m *modules) importsItself(file, spec string) bool {
	name := packageText(m.packageDir(file, ""), "name")
	return name != "" && (spec == name || strings.HasPrefix(spec, name+"/"))
}

// packageText is a text in the package.json of a directory, or "". Node reads the member of
// exactly this name.
func packageText(dir, member string) (text string) {
	var members map[string]json.RawMessage
	data, err := host.ReadFile(filepath.Join(dir, "package.json"), plugin.MaxManifest)
	if err != nil || json.Unmarshal(data, &members) != nil || json.Unmarshal(members[member], &text) != nil {
		return ""
	}
	return text
}

// loadCandidates loads every file that an imported path could stand for.
func (m *modules) loadCandidates(path string, depth int) error {
	paths := []string{path}
	if decoded, err := url.PathUnescape(path); err == nil && decoded != path {
		paths = append(paths, decoded)
	}
	for _, p := range paths {
		for _, ending := range append([]string{""}, moduleEndings...) {
			if err := m.load(p + ending); err != nil {
				return err
			}
		}
		if ext := filepath.Ext(p); slices.Contains([]string{".js", ".cjs", ".mjs"}, ext) { // compiled from, or read as
			for _, other := range []string{ext[:len(ext)-2] + "ts", ".tsx"} {
				if err := m.load(strings.TrimSuffix(p, ext) + other); err != nil {
					return err
				}
			}
		}
		info, err := os.Stat(p)
		if err != nil || !info.IsDir() || depth > maxMainDepth {
			continue
		}
		if err := m.loadCandidates(filepath.Join(p, "index"), depth+1); err != nil {
			return err
		}
		if err := m.load(filepath.Join(p, "package.json")); err != nil {
			return err
		}
		if start := packageText(p, "main"); start != "" {
			if err := m.loadCandidates(filepath.Join(p, filepath.FromSlash(start)), depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxMainDepth bounds how often the "main" of a package.json leads to another directory.
const maxMainDepth = 4

// loadAll loads every file below a directory that can be imported, packages of others aside.
func (m *modules) loadAll(dir string, depth int) error {
	entries, err := m.listDir(dir, depth)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), ".") || e.Name() == "node_modules":
		case e.IsDir():
			err = m.loadAll(name, depth+1)
		case slices.Contains(moduleEndings, filepath.Ext(name)):
			err = m.load(name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
