//go:build unix

package plugins

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/plugin"
	"github.com/hallmark-mcp/hallmark/tree"
)

// This file generates the plugins of TestSpecifiersAsNode, and what they import.

// wasmOfTest is a module of WebAssembly whose import tells that it was scanned: no other file of a tree asks for it.
const (
	wasmOfTest = "\x00asm\x01\x00\x00\x00\x01\x04\x01\x60\x00\x00\x02\x11\x01\x05http2\x07connect\x00\x00"
	wasmNeeds  = "node:http2"
)

// specifierTree is a generated plugin, in a directory p, and what lies around it.
type specifierTree struct {
	dir      string
	files    map[string]string // by path in dir
	wasm     string            // the one file of WebAssembly in dist/
	cases    []specifierCase
	bundle   *plugin.Bundle
	manifest *plugin.Manifest
	plain    verdictOf // without any import

	random *rand.Rand
	odd    bool            // has what may be reported whatever is imported, which hides what is not
	taken  map[string]bool // names in any case, of files true
}

var (
	treeDirs = []string{"", "", "a/", "lib/", "a/b/", "node_modules/", "node_modules/x/", "node_modules/x/",
		"node_modules/x/lib/", "node_modules/x/lib/", "node_modules/@s/y/", "a/node_modules/x/", "node_modules/..z/",
		"node_modules/#h/", "node_modules/" + plugin.SDK + "/", "node_modules/stream/"}
	treeStems = []string{"a", "b", "c", "x", "index", "iter", ".h", "d e", "f%41", "g#h", "..z", "i.j", ""}
	treeEnds  = []string{"", "", "", ".js", ".mjs", ".cjs", ".json", ".json", ".node", ".wasm", ".dat", ".dat", ".JS",
		".JSON", ".ts", ".mts", ".cts", ".js.dat"}
	treeImporters = []string{"a/from.js", "node_modules/x/lib/from.mjs", "node_modules/@s/y/from.cjs",
		"node_modules/from.js"}
	// Members of exports and imports, and what fits them.
	keysOfTest  = []string{"a", "b", "x", "*", "lib/*", "x*", "lib/*.js", "in/*/y", "a/b"}
	namesOfKeys = []string{"h", "h/index.js", "a", "b", "x", "xy", "xa", "lib/a", "lib/b.js", "in/x/y", "in/a/y", "a/b"}

	aroundTree = []string{"up", "p/out", "p/out.js", "p/node_modules/x/b.js", "p/node_modules/x/c",
		"p/node_modules/x/index.js", "p/node_modules/ext/index.js", "p/node_modules/#h/index.js",
		"p/node_modules/_stream_wrap/index.js", "p/node_modules/stream/iter.js",
		"p/node_modules/" + plugin.SDK + "/index.js"}
)

func pick[E any](r *rand.Rand, from []E) E { return from[r.IntN(len(from))] }

// chance is true in n of a hundred cases.
func chance(r *rand.Rand, n int) bool { return r.IntN(100) < n }

// newSpecifierTree generates a plugin with n imports.
func newSpecifierTree(t *testing.T, r *rand.Rand, dir string, n int) *specifierTree {
	t.Helper()
	s := &specifierTree{dir: dir, files: map[string]string{}, random: r, taken: map[string]bool{}, odd: chance(r, 30)}
	importers := []string{"index.js"}
	s.add("p/dist/index.js", "1")
	for _, file := range treeImporters {
		if chance(r, 60) && s.add("p/dist/"+file, "1") {
			importers = append(importers, file)
		}
	}
	for _, file := range aroundTree {
		if chance(r, 60) {
			s.add(file, "1")
		}
	}
	for range 12 + r.IntN(16) {
		name := pick(r, treeStems) + pick(r, treeEnds)
		s.addCode("p/dist/" + pick(r, treeDirs) + name)
	}
	for _, dir := range slices.Compact(slices.Clone(treeDirs)) {
		if prefix := "p/dist/" + dir; dir != "node_modules/" && s.has(prefix) && chance(r, 45) {
			s.add(prefix+"package.json", s.packageFile(dir))
		}
	}
	for range n {
		from := pick(r, importers)
		c := specifierCase{plugin.Import{Line: 1, Kind: plugin.Require, Specifier: s.specifier(from)}, from}
		if chance(r, 55) {
			c.Kind = pick(r, []plugin.Kind{plugin.Static, plugin.Export, plugin.Dynamic})
		}
		s.cases = append(s.cases, c)
	}
	s.read(t)
	s.plain = s.judge(t, nil)
	return s
}

// add adds a file unless something has its name, in any case, or lies in the way of it.
func (s *specifierTree) add(file, text string) bool {
	folded := strings.ToLower(file)
	if _, ok := s.taken[folded]; ok || strings.HasSuffix(file, "/") {
		return false
	}
	for dir := path.Dir(folded); dir != "."; dir = path.Dir(dir) {
		if s.taken[dir] {
			return false
		}
	}
	for dir := path.Dir(folded); dir != "."; dir = path.Dir(dir) {
		s.taken[dir] = false
	}
	s.taken[folded], s.files[file] = true, text
	return true
}

// addCode adds a file that can be run, and, with an extension of data, be read as data.
func (s *specifierTree) addCode(file string) {
	switch path.Ext(file) {
	case ".json", ".JSON":
		s.add(file, `["data"]`) // an expression of JavaScript as well
	case ".wasm":
		if s.wasm == "" && s.add(file, wasmOfTest) {
			s.wasm = strings.TrimPrefix(file, "p/dist/")
		}
	default:
		s.add(file, "1")
	}
}

func (s *specifierTree) has(prefix string) bool {
	for file := range s.files {
		if strings.HasPrefix(file, prefix) {
			return true
		}
	}
	return false
}

// below are the files of dist/ in a directory of it, relative to that, in order.
func (s *specifierTree) below(dir string) (out []string) {
	for file := range s.files {
		if rest, ok := strings.CutPrefix(file, "p/dist/"+dir); ok {
			out = append(out, rest)
		}
	}
	slices.Sort(out)
	return out
}

// packageFile generates the package.json of a directory of dist/.
func (s *specifierTree) packageFile(dir string) string {
	r := s.random
	p := map[string]any{"data": true}
	if chance(r, 60) {
		_, name, _ := strings.Cut(strings.TrimSuffix(dir, "/"), "node_modules/")
		p["name"] = pick(r, []string{name, "self", "x"})
	}
	if chance(r, 40) {
		p["type"] = pick(r, []string{"module", "commonjs", "other"})
	}
	if chance(r, 50) {
		p["main"] = strings.TrimPrefix(s.target(dir), pick(r, []string{"", "./"}))
		if s.odd && chance(r, 20) {
			p["main"] = pick(r, []any{s.dir + "/p/out", "../../out", "/up", 5, "./x//../a", ".", ""})
		}
	}
	keys := map[string]string{"exports": "./", "imports": "#"}
	for _, member := range slices.Sorted(maps.Keys(keys)) {
		if !chance(r, 40) {
			continue
		}
		all := map[string]any{}
		for range 1 + r.IntN(4) {
			key := keys[member] + pick(r, keysOfTest)
			all[key] = s.targets(dir, 0)
		}
		if p[member] = all; member == "exports" {
			if chance(r, 40) {
				all["."] = s.targets(dir, 0)
			}
			if chance(r, 20) {
				p[member] = s.targets(dir, 0)
			}
		}
	}
	data, err := json.Marshal(p)
	if err != nil {
		panic(err)
	}
	if text := strings.TrimSuffix(string(data), "}"); s.odd && chance(r, 20) { // not quite JSON, or with a member twice
		return text + pick(r, []string{`,"z":tru}`, `,"z":1e999}`, `,"main":5}`, `,"exports":7}`, `,"imports":7}`,
			`,"z":"\x"}`, `,"main":"./a"}`, "} ", "}x", ",}", `,"z":{"y":01}}`, `,"z":"` + "\t" + `"}`, `,"z":[1 2]}`})
	}
	return string(data)
}

// targets generates what exports or imports say of one key.
func (s *specifierTree) targets(dir string, depth int) any {
	r := s.random
	if depth < 3 && chance(r, 30) {
		some := map[string]any{}
		for range 1 + r.IntN(3) {
			condition := pick(r, []string{"node", "import", "require", "module-sync", "default", "node-addons", "other"})
			some[condition] = s.targets(dir, depth+1)
		}
		return some
	}
	if depth < 3 && chance(r, 12) {
		return []any{s.targets(dir, depth+1), s.targets(dir, depth+1)}
	}
	if chance(r, 5) {
		return nil
	}
	return s.target(dir)
}

func (s *specifierTree) target(dir string) string {
	r := s.random
	if below := s.below(dir); chance(r, 60) && len(below) > 0 {
		file := pick(r, below)
		switch r.IntN(8) {
		case 0:
			file = strings.TrimSuffix(file, path.Ext(file))
		case 1:
			file = path.Dir(file)
		case 2:
			file = s.escape(file)
		}
		if s.odd && chance(r, 10) {
			return file
		}
		return "./" + file
	}
	if s.odd && chance(r, 20) {
		return pick(r, []string{"x", "x/*", "*", "ext", "fs", "node:path", "path", "#h", "#h/*", "f*", "../a", "a/b",
			"https://h/*", "@s/y", "/up", "./%2e%2e/*", plugin.SDK + "/*"})
	}
	return pick(r, []string{"./*", "./lib/*", "./*.js", "./*.dat", "./*/index.js", "./lib/*.js", "./lib/*/*.dat",
		"./*/*", "./l%69b/*", "./*?q", "./lib/*?q.js", "./a?*", "./lib//*", "./missing", "./*/missing",
		"./node_modules/x/*"})
}

// specifier generates what a file imports.
func (s *specifierTree) specifier(from string) string {
	r := s.random
	out := ""
	switch r.IntN(12) {
	case 0, 1, 2, 3, 4:
		out = s.relative(from)
	case 5, 6, 7, 8:
		out = s.bare()
	case 9, 10:
		out = "#" + pick(r, slices.Concat(s.names(), namesOfKeys))
	default:
		const dist = "ROOT/p/dist"
		out = pick(r, []string{"fs", "node:path", "path", "NODE:fs", "node:fs/promises", "fs/", "node:nothing", "sys",
			"_stream_wrap", "stream/iter", "stream/promises", "node:test", "test", "process", "zlib/iter", "util/types",
			"_http_agent", "data:text/javascript,1", "file://" + dist + "/index.js", " file://" + dist + "/a",
			dist + "/index.js", "ROOT/up",
			"file:" + dist + "/c", "?x/a", "https://h.invalid/", "/", "", ".", "..", "./", "../", "..z", ".h", "//a", "C:/a",
			"@modelcontextprotocol", "@s", "wasm:a"})
	}
	for chance(r, 30) {
		out = s.mutate(out)
	}
	return strings.ReplaceAll(out, "ROOT", s.dir) // at last: its length is not the seed's
}

// relative generates a path from a file of dist/ to another one, or out of it.
func (s *specifierTree) relative(from string) string {
	r := s.random
	to := pick(r, slices.Sorted(maps.Keys(s.files)))
	if chance(r, 85) {
		to = "p/dist/" + pick(r, s.below(""))
	}
	switch r.IntN(8) {
	case 0:
		to = path.Dir(to)
	case 1, 2:
		to = strings.TrimSuffix(to, path.Ext(to))
	}
	out, err := filepath.Rel(path.Dir("p/dist/"+from), to)
	if err != nil {
		panic(err)
	}
	if !strings.HasPrefix(out, ".") || strings.HasPrefix(out, ".h") || strings.HasPrefix(out, "..z") {
		out = "./" + out
	}
	return out
}

// bare generates the name of a package, most likely with a path in it.
func (s *specifierTree) bare() string {
	r := s.random
	name := pick(r, []string{"x", "x", "x", "@s/y", "self", "ext", "..z", "#h", "node_modules", "stream", plugin.SDK})
	below := append(s.below("node_modules/"+name+"/"), s.names()...)
	if chance(r, 40) {
		return name + "/" + pick(r, namesOfKeys)
	}
	if len(below) == 0 || chance(r, 30) {
		return name
	}
	file := pick(r, below)
	if chance(r, 25) {
		file = strings.TrimSuffix(file, path.Ext(file))
	}
	return name + "/" + file
}

// names are those of files without their directories, and of directories with one.
func (s *specifierTree) names() (out []string) {
	for _, file := range s.below("") {
		out = append(out, path.Base(file), "lib/"+path.Base(file))
	}
	return out
}

// escape writes a letter of a text as URLs can.
func (s *specifierTree) escape(text string) string {
	i := s.random.IntN(len(text) + 1)
	if i == len(text) {
		return text
	}
	return text[:i] + fmt.Sprintf(pick(s.random, []string{"%%%02x", "%%%02X"}), text[i]) + text[i+1:]
}

// mutate changes one thing in a specifier.
func (s *specifierTree) mutate(text string) string {
	r := s.random
	i := r.IntN(len(text) + 1)
	slash := strings.Index(text[i:], "/")
	switch n := r.IntN(10); {
	case n < 2:
		return text + pick(r, []string{"?q", "#h", "?", "#", "?a/../../b", "/", " ", "\t", "/.", "/..", "?a.json", "#a.js",
			".js", "/../a", "/../../a", "/package.json", "/index"})
	case n < 3:
		return text[:i] + pick(r, []string{"\t", "\n", "\r", "\x00", "\x7f", "\u0085", " ", "\u2028", "\ufeff", "?", "#",
			"%", "*"}) + text[i:]
	case n < 6:
		return s.escape(text)
	case slash >= 0:
		return text[:i+slash] + pick(r, []string{"//", "/./", "/zz/../", `\`, "%2f", "%5C", "//../", "/.\t./", "/../",
			"/..//", "/%2e%2E/", "/%2e/", "?/"}) + text[i+slash+1:]
	}
	return pick(r, []string{" ", "./", "../", "/", "\t", strings.ToUpper(text[:i])}) + text[i:]
}

// read reads the plugin as Hallmark does, and writes its hash.
func (s *specifierTree) read(t *testing.T) {
	t.Helper()
	s.files["p/"+plugin.ManifestFile] = `{"manifestVersion": "2", "name": "p", "version": "1.0.0",
		"entry": "dist/index.js"}`
	var files []tree.File
	for _, file := range slices.Sorted(maps.Keys(s.files)) {
		if name, ok := strings.CutPrefix(file, "p/"); ok {
			files = append(files, tree.File{Path: name, Size: int64(len(s.files[file]))})
		}
	}
	var err error
	if s.bundle, err = plugin.ReadBundle(t.Context(), files, nil, func(name string) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(s.files["p/"+name])), nil
	}); err != nil {
		t.Fatal(err)
	}
	if s.manifest, err = plugin.Parse(s.bundle.Manifest); err != nil {
		t.Fatal(err)
	}
	data, err := s.bundle.WriteHash(t.Context(), s.manifest, tree.Guide)
	if err != nil {
		t.Fatal(err)
	}
	if s.manifest, err = plugin.Parse(data); err != nil {
		t.Fatal(err)
	}
	s.bundle.Manifest = data
}
