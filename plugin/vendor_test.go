package plugin

import (
	"io"
	"path"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/tree"
)

// A package is found where Node finds it: in node_modules of the file's directory and of
// those above it, but not in node_modules of node_modules. What is expected is what
// require.resolve of Node 20 gives for these files.
func TestVendorOf(t *testing.T) {
	b := &Bundle{Contents: map[string][]byte{}}
	for _, dir := range []string{"node_modules/node_modules/axios", "node_modules/node_modules",
		"node_modules/x", "node_modules/x/node_modules/y",
		"node_modules/c", "node_modules/@s/d", "sub/node_modules/z", "not_node_modules/w"} {
		b.Files = append(b.Files, tree.File{Path: dir + "/index.js"})
		b.Contents[dir+"/index.js"] = nil
	}
	resolver := b.resolver()
	for _, c := range []struct{ file, name, dir string }{
		{"index.js", "axios", ""}, {"node_modules/a.js", "axios", ""}, {"node_modules/x/index.js", "axios", ""},
		{"node_modules/node_modules/a.js", "axios", ""}, {"node_modules/node_modules/axios/index.js", "axios", ""},
		{"node_modules/node_modules/a.js", "c", "node_modules"},
		{"node_modules/node_modules/axios/index.js", "c", "node_modules"},
		{"index.js", "node_modules", "node_modules"}, {"node_modules/x/index.js", "node_modules", "node_modules"},
		{"node_modules/x/index.js", "y", "node_modules/x/node_modules"},
		{"node_modules/x/lib/index.js", "y", "node_modules/x/node_modules"},
		{"node_modules/x/node_modules/y/index.js", "x", "node_modules"}, {"node_modules/c/index.js", "y", ""},
		{"sub/a.js", "z", "sub/node_modules"}, {"sub/deep/a.js", "z", "sub/node_modules"}, {"a.js", "z", ""},
		{"sub/node_modules/z/index.js", "c", "node_modules"}, {"sub/node_modules/b.js", "z", "sub/node_modules"},
		{"a.js", "@s/d", "node_modules"}, {"not_node_modules/a.js", "w", ""}, {"a.js", "w", ""},
	} {
		for _, kind := range []Kind{Require, Static} {
			dir := ""
			for _, modules := range modulesAbove(c.file) {
				if dir == "" && resolver.endsSearch(modules, Import{Kind: kind, Specifier: c.name}) {
					dir = modules
				}
			}
			if dir != c.dir {
				t.Errorf("%s of %s in %s: %q, want %q", kind, c.name, c.file, dir, c.dir)
			}
		}
	}
}

// What only lies in node_modules of node_modules is external to whom Node would not give
// it, and is scanned for whom it would.
func TestNestedModules(t *testing.T) {
	const nested = "dist/node_modules/node_modules/axios/"
	for name, c := range map[string]struct {
		files map[string]string
		want  evidence.Class
	}{
		"of the plugin's own code": {map[string]string{"dist/index.js": "require axios", nested + "index.js": "1"},
			evidence.Refused},
		"of a package": {
			map[string]string{"dist/node_modules/x/index.js": "require axios", nested + "index.js": "1"},
			evidence.Refused},
		"of a file beside it": {
			map[string]string{"dist/node_modules/a.js": "require axios", nested + "index.js": "1"}, evidence.Refused},
		"of itself": {map[string]string{nested + "index.js": "require axios"}, evidence.Refused},
		"by its path": {
			map[string]string{"dist/index.js": "require node_modules/axios", nested + "index.js": "1"}, evidence.OK},
		"a script under its path": {
			map[string]string{"dist/index.js": "require node_modules/axios/x.dat", nested + "x.dat": "require other"},
			evidence.Refused},
		"a package beside": {
			map[string]string{nested + "index.js": "require c", "dist/node_modules/c/index.js": "1"}, evidence.OK},
		"in a directory that is not": {
			map[string]string{"dist/index.js": "require axios", "dist/my_node_modules/axios/index.js": "1"},
			evidence.Refused},
	} {
		b, m := bundle(t, ``, c.files)
		r, err := Check(t.Context(), b, m, Host{Scan: scanLines})
		if err != nil || r.Verdict.Class() != c.want {
			t.Errorf("%s: %v, %v", name, r.Verdict.Err(), err)
		}
	}
}

// TestLoadedAsNodeDoes: what a specifier stands for, and how Node loads it, is told letter by letter.
func TestLoadedAsNodeDoes(t *testing.T) {
	// (module (import "fs" "x" (func)) (import "./a.js" "m" (memory 1 2)) (import "fs" "g" (global i32)))
	const wasm = "\x00asm\x01\x00\x00\x00\x01\x04\x01\x60\x00\x00" +
		"\x02\x1d\x03\x02fs\x01x\x00\x00\x06./a.js\x01m\x02\x01\x01\x02\x02fs\x01g\x03\x7f\x00"
	for name, c := range map[string]struct {
		files map[string]string
		want  evidence.Class
	}{
		"a tab in a URL":          {map[string]string{"dist/index.js": "import ./\t../LICENSE", "LICENSE": "1"}, evidence.Refused},
		"a carriage return":       {map[string]string{"dist/index.js": "import ./a\r.js", "dist/a.js": "1"}, evidence.Refused},
		"a control in main":       {map[string]string{"dist/package.json": `{"main":"./a\u0009.js"}`, "dist/a.js": "1"}, evidence.Refused},
		"a control in exports":    {map[string]string{"dist/package.json": `{"exports":"./a\u0001"}`, "dist/a.js": "1"}, evidence.Refused},
		"a script called .wasm":   {map[string]string{"dist/index.js": "require ./a.wasm", "dist/a.wasm": "require other"}, evidence.Refused},
		"a script called .JSON":   {map[string]string{"dist/index.js": "require ./a.JSON", "dist/a.JSON": "require other"}, evidence.Refused},
		"data":                    {map[string]string{"dist/index.js": "require ./a.json", "dist/a.json": "require other"}, evidence.OK},
		"WebAssembly with fs":     {map[string]string{"dist/index.js": "import ./a.wasm", "dist/a.wasm": wasm, "dist/a.js": "1"}, evidence.Refused},
		"WebAssembly that is cut": {map[string]string{"dist/index.js": "import ./a.wasm", "dist/a.wasm": wasm[:20]}, evidence.Refused},
		"WebAssembly by itself": {
			map[string]string{"dist/index.js": "import ./a.wasm", "dist/a.wasm": wasm[:14]}, evidence.OK},
		"WebAssembly that is only read": {map[string]string{"dist/index.js": "resolve ./a.wasm", "dist/a.wasm": wasm}, evidence.OK},
	} {
		b, m := bundle(t, ``, c.files)
		r, err := Check(t.Context(), b, m, Host{Scan: scanLines})
		if err != nil || r.Verdict.Class() != c.want {
			t.Errorf("%s: %v, %v, %v", name, r.Verdict.Class(), r.Verdict.Err(), err)
		}
	}
	found, err := scanWasm([]byte(wasm))
	if err != nil || len(found) != 2 || found[0].Specifier != "fs" || found[1].Specifier != "./a.js" {
		t.Errorf("%v, %v", found, err)
	}
}

// A # name is known through the package.json of the file's own package alone.
func TestScoped(t *testing.T) {
	says := []byte(`{"imports": {}}`)
	b := &Bundle{
		Contents: map[string][]byte{"package.json": says, "node_modules/x/package.json": says,
			"node_modules/@s/y/lib/package.json": says, "plain/package.json": []byte(`{}`)}}
	for file, want := range map[string]bool{
		"a.js": true, "sub/a.js": true, "plain/a.js": false, "node_modules/x/a.js": true, "node_modules/x/lib/a.js": true,
		"node_modules/z/a.js": false, "node_modules/a.js": false,
		"node_modules/@s/y/lib/a.js": true, "node_modules/@s/y/a.js": false,
	} {
		if b.resolver().hasImports(file) != want {
			t.Errorf("%s: %v", file, !want)
		}
	}
}

// Opening a file only to resolve its name does not load it.
func TestResolvedOnly(t *testing.T) {
	texts := map[string]string{ManifestFile: manifest(""), "dist/index.js": "resolve ./x.dat\nresolve a/y.dat",
		"dist/x.dat": "require other", "dist/node_modules/a/y.dat": "require other"}
	files, open := listed(texts)
	b, err := ReadBundle(t.Context(), files, nil, func(p string) (io.ReadCloser, error) { return open(p) })
	if err != nil {
		t.Fatal(err)
	}
	var scanned []string
	u, err := b.scanAll(t.Context(), func(name string, content []byte) ([]Import, error) {
		scanned = append(scanned, path.Base(name))
		return scanLines(name, content)
	})
	if err != nil || strings.Join(scanned, " ") != "index.js" || len(u.external) > 0 {
		t.Errorf("%v, %v, %v", scanned, u.external, err)
	}
}
