package local

import (
	"encoding/json"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/plugin"
)

// moduleEndings are the suffixes of files that a runtime of JavaScript loads.
var moduleEndings = []string{".js", ".cjs", ".mjs", ".ts", ".cts", ".mts", ".jsx", ".tsx", ".json", ".node", ".wasm"}

// modules are the files that a script of JavaScript imports, and what is left to follow.
type modules struct {
	*readSet
	files         []string // files that are loaded, the script first
	todo          []string // files whose imports are to be followed
	importsByName bool     // something is imported by name, not by path
	// wideDirs are directories of which any file may be imported; true once all files are loaded.
	wideDirs map[string]bool

	configs    []string        // configuration files that may apply
	configured int             // how many of files had their directories searched for configs
	dirs       map[string]bool // directories above files
	read       map[string]bool // of configs, those that were read
	maps       map[string]bool // base names of configs that other configs name
	vendored   []string        // directories of modules that replace remote ones
}

// hasPending reports whether there is a directory in wideDirs whose files are not loaded.
func (m *modules) hasPending() bool {
	return slices.Contains(slices.Collect(maps.Values(m.wideDirs)), false)
}

// loadWidened loads all files of the directories in wideDirs.
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

// load adds a file that may be imported, and its imports to what is to be followed.
func (m *modules) load(file string) error {
	fresh, err := m.addFile(file)
	if err != nil || !fresh {
		return err
	}
	m.files, m.todo = append(m.files, file), append(m.todo, file)
	return nil
}

// startedEndings are the suffixes that a path in quotes may lack. Data is left out, since it may change.
var startedEndings = slices.DeleteFunc(slices.Clone(moduleEndings), func(e string) bool { return e == ".json" })

// loadStarted adds a file that code names in quotes, and follows it if it is a module.
func (m *modules) loadStarted(file string) error {
	if slices.Contains(moduleEndings, filepath.Ext(file)) {
		return m.load(file)
	}
	_, err := m.addFile(file)
	return err
}

// widen notes that any file of dir may be imported.
func (m *modules) widen(dir string) {
	if _, ok := m.wideDirs[dir]; !ok {
		m.wideDirs[dir] = false
	}
}

// packageDir returns the directory of the package that file belongs to, or top.
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
	name := readPackageText(m.packageDir(file, ""), "name")
	return name != "" && (spec == name || strings.HasPrefix(spec, name+"/"))
}

// readPackageText returns a member of the package.json of a directory if it is a text, else "". The case of
// its name matters, as it does to Node.
func readPackageText(dir, member string) (text string) {
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
		if ext := filepath.Ext(p); slices.Contains([]string{".js", ".cjs", ".mjs"}, ext) { // the source of it
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
		if start := readPackageText(p, "main"); start != "" {
			if err := m.loadCandidates(filepath.Join(p, filepath.FromSlash(start)), depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxMainDepth bounds how often the "main" of a package.json leads to another directory.
const maxMainDepth = 4

// loadAll loads every file below a directory that can be imported, except installed packages.
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
