package hallmark

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/jsscan"
	"github.com/hallmark-mcp/hallmark/plugin"
	"github.com/hallmark-mcp/hallmark/tree"
)

// moduleEndings are those of files that a runtime of JavaScript loads; moduleConfigs are files
// that it reads unasked and that say what an import means, or what is loaded first.
var (
	moduleEndings = []string{".js", ".cjs", ".mjs", ".ts", ".cts", ".mts", ".jsx", ".tsx", ".json", ".node", ".wasm"}
	moduleConfigs = []string{"package.json", "deno.json", "deno.jsonc", "tsconfig.json", "jsconfig.json", "bunfig.toml"}
)

// modules follows what a script of JavaScript imports.
type modules struct {
	*neighbours
	todo     []string
	packages bool            // some are imported by name
	wide     map[string]bool // directories of which any file may be imported
}

// javascript adds the files that a script imports, and they in turn. Of each path every file is
// added that it could stand for, so that one which comes before another is one more. Where what
// is imported is known only when the code runs, it is whatever lies in the script's directory.
func (n *neighbours) javascript(script, project string) error {
	m := &modules{neighbours: n, todo: []string{script}, wide: map[string]bool{}}
	n.files[script] = true
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
	for file := range n.files {
		for dir := filepath.Dir(file); !dirs[dir]; dir = filepath.Dir(dir) {
			dirs[dir] = true
		}
	}
	for dir := range dirs {
		for _, name := range moduleConfigs {
			if rel, err := filepath.Rel(project, dir); dir != filepath.Dir(script) && (err != nil || !filepath.IsLocal(rel)) {
				continue // the user's own, or anybody's, which differ between machines
			}
			if err := n.add(filepath.Join(dir, name)); err != nil {
				return err
			}
		}
		if !m.packages && len(m.wide) == 0 {
			continue
		}
		if err := n.addPackages(filepath.Join(dir, "node_modules")); err != nil {
			return err
		}
	}
	return nil
}

// load takes a file that may be imported, and follows its imports.
func (m *modules) load(file string) error {
	before := len(m.files)
	if err := m.add(file); err != nil || len(m.files) == before {
		return err
	}
	m.todo = append(m.todo, file)
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
			m.unknown = "it imports " + spec
		default:
			if m.packages = true; m.own(file, spec) {
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
	name := packageText(m.scope(file, ""), "name")
	return name != "" && (spec == name || strings.HasPrefix(spec, name+"/"))
}

// packageText is a text in the package.json of a directory, or "". Node reads the member of
// exactly this name.
func packageText(dir, member string) (text string) {
	var members map[string]json.RawMessage
	data, err := readFile(filepath.Join(dir, "package.json"), plugin.MaxManifest)
	if err != nil || json.Unmarshal(data, &members) != nil || json.Unmarshal(members[member], &text) != nil {
		return ""
	}
	return text
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
		if start := packageText(p, "main"); start != "" {
			if err := m.candidates(filepath.Join(p, filepath.FromSlash(start)), depth+1); err != nil {
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
	if err != nil || depth > maxNeighbourDepth {
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

// addPackages takes a directory of packages if it is there, and what the links in it lead to.
func (n *neighbours) addPackages(dir string) error {
	real, err := filepath.EvalSymlinks(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || n.trees[real] {
		return err
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return err
	}
	n.trees[real] = true
	_, away, err := packageFiles(real)
	if err != nil {
		return err
	}
	for _, target := range away {
		info, err := os.Stat(target)
		if err != nil {
			return err
		}
		if !info.IsDir() {
			err = n.add(target)
		} else if err = n.addPackages(target); err == nil {
			for dir := target; err == nil && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
				err = n.addPackages(filepath.Join(dir, "node_modules"))
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// packageEntry is a file of a directory of packages, or a link in it.
type packageEntry struct {
	path string // relative, with slashes
	size int64
	link string // where it leads, as it is written
}

// packageFiles lists a directory of packages without what package managers keep for themselves,
// and where the links lead that lead out of it.
func packageFiles(dir string) (files []packageEntry, away []string, err error) {
	var bytes int64
	err = filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		top := !strings.ContainsRune(rel, filepath.Separator)
		skip := e.Name() == ".bin" || top && strings.HasPrefix(rel, ".") && rel != ".pnpm" ||
			top && rel == "node_modules" // of a package that a link leads to; it is one of its own
		switch {
		case skip && e.IsDir():
			return fs.SkipDir
		case skip || e.IsDir():
			return nil
		}
		entry := packageEntry{path: filepath.ToSlash(rel)}
		if e.Type()&fs.ModeSymlink != 0 {
			if entry.link, err = os.Readlink(name); err != nil {
				return err
			}
			entry.size = int64(len(linkText(entry.link)))
			real, err := filepath.EvalSymlinks(name)
			if inside, _ := filepath.Rel(dir, real); err == nil && !filepath.IsLocal(inside) {
				away = append(away, real)
			}
		} else {
			info, err := e.Info()
			if err != nil {
				return err
			}
			if entry.size = info.Size(); !info.Mode().IsRegular() {
				return &tree.EntryError{Path: entry.path, Kind: tree.Kind(info.Mode())}
			}
		}
		files = append(files, entry)
		if bytes += entry.size; len(files) > maxPackageFiles || bytes > maxPackageBytes {
			return tree.ErrTooLarge
		}
		return nil
	})
	return files, away, err
}

// Bounds of one directory of packages.
const (
	maxPackageFiles = 200_000
	maxPackageBytes = 2 << 30
)

// linkText stands for a link among files: no file of text begins like it.
func linkText(target string) string { return "\x00link\x00" + filepath.ToSlash(target) }

// hashPackages is the fingerprint hallmark-tree-v1 of a directory of packages, with the links in
// it as files and nothing as executable, as nothing of it is executed.
func hashPackages(ctx context.Context, dir string) (o evidence.Observed, err error) {
	entries, _, err := packageFiles(dir)
	if err != nil {
		return o, evidence.Errorf(evidence.Refused, dir, "", err)
	}
	files, links := make([]tree.File, len(entries)), map[string]string{}
	for i, e := range entries {
		files[i] = tree.File{Path: e.path, Size: e.size}
		if e.link != "" {
			links[e.path] = linkText(e.link)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return o, err
	}
	defer root.Close()
	below := tree.OpenFS(root.FS())
	d, size, err := tree.V1(ctx, files, func(path string) (io.ReadCloser, error) {
		if text, ok := links[path]; ok {
			return io.NopCloser(strings.NewReader(text)), nil
		}
		return below(path)
	}, runtime.GOMAXPROCS(0))
	if err != nil {
		return o, evidence.Errorf(evidence.Operation, dir, "", err)
	}
	return evidence.Observed{Digests: []digest.Digest{d}, Size: size, From: dir}, nil
}
