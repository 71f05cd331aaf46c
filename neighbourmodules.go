package hallmark

import (
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/jsscan"
	"github.com/hallmark-mcp/hallmark/plugin"
)

// moduleEndings are those of files that a runtime of JavaScript loads; moduleConfigs are files
// that it reads unasked and that say what an import means, or what is loaded first.
var (
	moduleEndings = []string{".js", ".cjs", ".mjs", ".ts", ".cts", ".mts", ".jsx", ".tsx", ".json", ".node", ".wasm"}
	moduleConfigs = []string{"package.json", "deno.json", "deno.jsonc", "tsconfig.json", "jsconfig.json", "bunfig.toml"}
)

// modules follows what a script of JavaScript imports.
type modules struct {
	*reads
	files []string // that are loaded, the script first
	todo  []string
	named bool            // some are imported by name
	wide  map[string]bool // directories of which any file may be imported
}

// javascript adds the files that a script imports, and they in turn. Of each path every file is
// added that it could stand for, so that one which comes before another is one more. Where what
// is imported is known only when the code runs, it is whatever lies in the script's directory.
func (r *reads) javascript(script string) error {
	m := &modules{reads: r, files: []string{script}, todo: []string{script}, wide: map[string]bool{}}
	for len(m.todo) > 0 {
		file := m.todo[0]
		m.todo = m.todo[1:]
		if err := m.follow(file, filepath.Dir(script)); err != nil {
			return err
		}
		if len(m.todo) > 0 {
			continue
		}
		for dir, done := range m.wide {
			if !done {
				m.wide[dir] = true
				if err := m.all(dir, 0); err != nil {
					return err
				}
			}
		}
	}
	dirs := map[string]bool{}
	for _, file := range m.files {
		for dir := filepath.Dir(file); !dirs[dir]; dir = filepath.Dir(dir) {
			dirs[dir] = true
		}
	}
	for dir := range dirs {
		for _, name := range moduleConfigs {
			if rel, err := filepath.Rel(r.w.dir, dir); dir != filepath.Dir(script) && (err != nil || !filepath.IsLocal(rel)) {
				continue // the user's own, or anybody's, which differ between machines
			}
			if _, err := r.file(filepath.Join(dir, name)); err != nil {
				return err
			}
		}
		if !m.named && len(m.wide) == 0 {
			continue
		}
		if err := r.tree(filepath.Join(dir, "node_modules"), nodePackages); err != nil {
			return err
		}
	}
	return nil
}

// load takes a file that may be imported, and follows its imports.
func (m *modules) load(file string) error {
	fresh, err := m.file(file)
	if err != nil || !fresh {
		return err
	}
	m.files, m.todo = append(m.files, file), append(m.todo, file)
	return nil
}

// follow reads what a file imports. top is the script's directory.
func (m *modules) follow(file, top string) error {
	switch filepath.Ext(file) {
	case ".json", ".node", ".wasm":
		return nil
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	content, err := io.ReadAll(io.LimitReader(f, jsscan.MaxFile+1))
	f.Close()
	if err != nil {
		return err
	}
	imports, err := jsscan.File(filepath.Base(file), content)
	if err != nil {
		imports = []plugin.Import{{Computed: true}}
	}
	for _, imp := range imports {
		spec, _, _ := strings.Cut(imp.Specifier, "?")
		path, isFile := strings.CutPrefix(spec, "file://")
		switch {
		case imp.Computed:
			m.widen(top)
		case plugin.IsCore(spec) || strings.HasPrefix(spec, "data:"):
		case isFile || filepath.IsAbs(spec):
			err = m.candidates(filepath.FromSlash(path), 0)
		case spec == "." || spec == ".." || strings.HasPrefix(spec, "./") || strings.HasPrefix(spec, "../"):
			err = m.candidates(filepath.Join(filepath.Dir(file), filepath.FromSlash(spec)), 0)
		case strings.HasPrefix(spec, "#"): // what it means, package.json says
			m.widen(m.scope(file, top))
		case strings.Contains(spec, ":"):
			m.cannot("it imports " + spec)
		default:
			if m.named = true; m.own(file, spec) {
				m.widen(m.scope(file, top))
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (m *modules) widen(dir string) {
	if _, ok := m.wide[dir]; !ok {
		m.wide[dir] = false
	}
}

// scope is the directory of the package that a file is of, or top.
func (m *modules) scope(file, top string) string {
	for dir := filepath.Dir(file); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, "package.json")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return top
		}
	}
}

// own reports whether a package imports itself by its name.
func (m *modules) own(file, spec string) bool {
	var manifest struct {
		Name string `json:"name"`
	}
	data, err := readFile(filepath.Join(m.scope(file, ""), "package.json"), plugin.MaxManifest)
	return err == nil && json.Unmarshal(data, &manifest) == nil && manifest.Name != "" &&
		(spec == manifest.Name || strings.HasPrefix(spec, manifest.Name+"/"))
}

// candidates loads every file that an imported path could stand for.
func (m *modules) candidates(path string, depth int) error {
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
		if err != nil || !info.IsDir() || depth > maxLinksOfMain {
			continue
		}
		if err := m.candidates(filepath.Join(p, "index"), depth+1); err != nil {
			return err
		}
		if err := m.load(filepath.Join(p, "package.json")); err != nil {
			return err
		}
		var manifest struct {
			Main string `json:"main"`
		}
		data, err := readFile(filepath.Join(p, "package.json"), plugin.MaxManifest)
		if err == nil && json.Unmarshal(data, &manifest) == nil && manifest.Main != "" {
			if err := m.candidates(filepath.Join(p, filepath.FromSlash(manifest.Main)), depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxLinksOfMain is how many directories name each other as what they are.
const maxLinksOfMain = 4

// all loads every file below a directory that can be imported, packages of others aside.
func (m *modules) all(dir string, depth int) error {
	entries, err := os.ReadDir(dir)
	if err != nil || depth > maxFoundDepth {
		return errors.Join(err, deep(dir, depth))
	}
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), ".") || e.Name() == "node_modules":
		case e.IsDir():
			err = m.all(name, depth+1)
		case slices.Contains(moduleEndings, filepath.Ext(name)):
			err = m.load(name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
