package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/tree"
)

// manifest is a valid manifest with members replaced or added.
func manifest(members string) string {
	base := map[string]any{"manifestVersion": "2", "name": "net-utils", "version": "1.1.0", "entry": "dist/index.js",
		"dist": map[string]any{"hash": "sha256:" + strings.Repeat("0", 64)}}
	var over map[string]any
	if err := json.Unmarshal([]byte("{"+members+"}"), &over); err != nil {
		panic(members + ": " + err.Error())
	}
	for name, v := range over {
		base[name] = v
	}
	data, _ := json.Marshal(base)
	return string(data)
}

func list(n int, f func(i int) string) string {
	var parts []string
	for i := range n {
		parts = append(parts, f(i))
	}
	return "[" + strings.Join(parts, ",") + "]"
}

func number(i int) string { return fmt.Sprintf("%q", fmt.Sprint("x", i)) }

// Each limit of the schema at its edge, and one beyond; and what it cannot say.
func TestParse(t *testing.T) {
	hash := strings.Repeat("ab", 32)
	external := func(members string) string { return `"externalDependencies":[{` + members + `}]` }
	for _, c := range []struct{ members, at string }{ // at: the place of the issue, "" if valid
		{``, ""},
		{`"name":"a-_9"`, ""}, {`"name":"A"`, "/name"}, {`"name":"a/../b"`, "/name"}, {`"name":""`, "/name"},
		{`"name":"` + strings.Repeat("a", 100) + `"`, ""}, {`"name":"` + strings.Repeat("a", 101) + `"`, "/name"},
		{`"version":"1.0.0-rc.1+b"`, ""}, {`"version":"01.0.0"`, "/version"}, {`"version":"1.0"`, "/version"},
		{`"version":"v1.0.0"`, "/version"},
		{`"entry":"dist/a/b.mjs"`, ""}, {`"entry":"dist/a.cjs"`, "/entry"}, {`"entry":"index.js"`, "/entry"},
		{`"entry":"dist/../x.js"`, "/entry"},
		{`"entry":"./dist/x.js"`, "/entry"}, {`"entry":"dist//x.js"`, "/entry"}, {`"entry":"dist/a\\b.js"`, "/entry"},
		{`"entry":"dist/nul.js"`, "/entry"},
		{`"manifestVersion":"1"`, "/manifestVersion"}, {`"manifestVersion":2`, "/manifestVersion"},
		{`"manifestVersion":"3"`, "/manifestVersion"},
		{`"description":"` + strings.Repeat("é", 300) + `"`, ""},
		{`"description":"` + strings.Repeat("é", 301) + `"`, "/description"},
		{`"author":"` + strings.Repeat("a", 121) + `"`, "/author"},
		{`"license":"` + strings.Repeat("a", 51) + `"`, "/license"},
		{`"keywords":` + list(25, number), ""}, {`"keywords":` + list(26, number), "/keywords"},
		{`"dependencies":` + list(50, number), ""}, {`"dependencies":` + list(51, number), "/dependencies"},
		{`"dependencies":["a","a"]`, "/dependencies"},
		{`"dependencies":["net-utils"]`, "/dependencies/0"},
		{`"scripts":{}`, ""}, {`"Name":"x"`, "/Name"}, {`"x-anything":{"a":[1]}`, ""}, {`"X-y":1`, ""},
		{`"x-hash-profile":"od"`, ""}, {`"x-hash-profile":"other"`, "/x-hash-profile"},
		{`"x-Hash-Profile":"od"`, "/x-Hash-Profile"},
		{`"dist":{"hash":"sha256:` + hash + `","fileCount":0}`, "/dist/fileCount"},
		{`"dist":{"hash":"sha256:` + hash + `","fileCount":1.0,"totalBytes":0}`, ""},
		{`"dist":{"hash":"sha256:` + hash + `","coverage":"some"}`, "/dist/coverage"},
		{`"dist":{"hash":"sha256:` + hash + `","more":1}`, "/dist"},
		{`"dist":{"hash":"sha256:` + hash + `","checksums":{"files":[{"path":"../x","sha256":"` + hash + `"}]}}`,
			"/dist/checksums/files/0/path"},
		{`"dist":{"hash":"sha256:` + hash + `","checksums":{"files":[{"path":"x","sha256":"` + hash +
			`"},{"path":"./dist/x","sha256":"` + hash + `"}]}}`, "/dist/checksums/files/1/path"},
		{`"dist":{"hash":"sha256:` + hash + `","checksums":{"files":[{"path":"x","sha256":"ab"}]}}`,
			"/dist/checksums/files/0/sha256"},
		{`"dist":{"hash":"sha256:` + hash +
			`","hashes":[{"alg":"a","value":"12345678"},{"alg":"a","value":"12345679"}]}`, "/dist/hashes/1/alg"},
		{`"permissions":{"network":true}`, ""}, {`"permissions":{"network":"yes"}`, "/permissions/network"},
		{`"permissions":{"root":true}`, "/permissions"},
		{external(`"name":"@acme/x","version":"1.0.0","integrity":"sha512-x"`), ""},
		{external(`"name":"x","version":"^1.0.0"`), "/externalDependencies/0/version"},
		{external(`"name":"x","version":"*"`), "/externalDependencies/0/version"},
		{external(`"name":"x","version":">=1.0.0"`), "/externalDependencies/0/version"},
		{external(`"name":"x","version":"~1.0.0"`), "/externalDependencies/0/version"},
		{external(`"name":"x","version":"<2.0.0"`), "/externalDependencies/0/version"},
		{external(`"name":"../x","version":"1.0.0"`), "/externalDependencies/0/name"},
		{external(`"name":"x"`), "/externalDependencies/0/version"},
		{`"externalDependencies":[{"name":"x","version":"1.0.0"},{"name":"x","version":"2.0.0"}]`,
			"/externalDependencies/1/name"},
		{`"externalDependencies":` + list(41, func(i int) string {
			return fmt.Sprintf(`{"name":"x%d","version":"1.0.0"}`, i)
		}), "/externalDependencies"},
		{`"dependenciesPolicy":"sandbox-required"`, ""}, {`"dependenciesPolicy":"any"`, "/dependenciesPolicy"},
		{`"signatures":` + list(6, func(int) string { return `{"alg":"Ed25519","signature":"aaaaaaaaaaaaaaaa"}` }),
			"/signatures"},
		{`"capabilities":{"tools":["a","a"]}`, "/capabilities/tools"},
		{`"capabilities":{"tools":["a",{"name":"b","title":7}],"prompts":[{"name":"a"}]}`, ""},
		{`"capabilities":{"tools":[{"title":"a"}]}`, "/capabilities/tools/0/name"},
		{`"capabilities":{"tools":[{"name":""}]}`, "/capabilities/tools/0/name"},
		{`"capabilities":{"tools":[7]}`, "/capabilities/tools/0"},
		{`"capabilities":{"tools":[{"name":"a","x":1},{"x":1,"name":"a"}]}`, "/capabilities/tools"},
	} {
		agree(t, []byte(manifest(c.members)), true)
		m, err := Parse([]byte(manifest(c.members)))
		var invalid *Invalid
		switch {
		case c.at == "":
			if err != nil || m.Policy == "" {
				t.Errorf("%.80s: %v", c.members, err)
			}
		case !errors.As(err, &invalid) ||
			!slices.ContainsFunc(invalid.Issues, func(i Issue) bool { return i.Path == c.at }) ||
			invalid.Class() != evidence.Validation:
			t.Errorf("%.80s: got %v, want an issue at %s", c.members, err, c.at)
		}
	}
	for _, dist := range []string{`{}`, `5`, `{"hash":""}`, `{"hash":7}`, `{"hash":"sha256:ab"}`,
		`{"hash":"` + hash + `"}`} {
		m, err := Parse([]byte(manifest(`"dist":` + dist)))
		if err != nil || m == nil {
			t.Errorf("dist %s: %v; it is evidence, not an error of the manifest", dist, err)
		}
		if _, err := Parse([]byte(manifest(`"name":"A","dist":` + dist))); evidence.ClassOf(err) != evidence.Integrity {
			t.Errorf("dist %s beside another error: %v", dist, err)
		}
	}
}

// bundle is a plugin in memory, with its manifest's hash written.
func bundle(t *testing.T, members string, files map[string]string) (*Bundle, *Manifest) {
	t.Helper()
	all := map[string]string{ManifestFile: manifest(members), "dist/index.js": "1"}
	for path, text := range files {
		all[path] = text
	}
	read := func() *Bundle {
		var l []tree.File
		for path, text := range all {
			l = append(l, tree.File{Path: path, Size: int64(len(text))})
		}
		slices.SortFunc(l, func(a, b tree.File) int { return strings.Compare(a.Path, b.Path) })
		b, err := ReadBundle(t.Context(), l, nil, func(path string) (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(all[path])), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	b := read()
	m, err := Parse(b.Manifest)
	if err != nil {
		t.Fatal(err)
	}
	data, err := b.WriteHash(t.Context(), m, tree.Guide)
	if err != nil {
		t.Fatal(err)
	}
	all[ManifestFile] = string(data)
	b = read()
	if m, err = Parse(b.Manifest); err != nil {
		t.Fatal(err)
	}
	return b, m
}

// found scans by lines: "KIND SPECIFIER".
func scanLines(_ string, content []byte) ([]Import, error) {
	var out []Import
	for i, line := range strings.Split(string(content), "\n") {
		if kind, specifier, ok := strings.Cut(line, " "); ok {
			out = append(out,
				Import{Line: i + 1, Kind: Kind(strings.ReplaceAll(kind, "#", " ")), Specifier: specifier,
					Computed: kind == "~"})
		}
	}
	if bytes.Contains(content, []byte("BROKEN")) {
		return nil, errors.New("broken")
	}
	return out, nil
}

// What an import means depends on where it stands and what lies below dist/.
func TestImports(t *testing.T) {
	for _, c := range []struct {
		name, members string
		files         map[string]string
		want          evidence.Class
	}{
		{"nothing", ``, nil, evidence.OK},
		{"a file of dist", ``, map[string]string{"dist/index.js": "require ./a", "dist/a.js": "1"}, evidence.OK},
		{"core without a right", ``, map[string]string{"dist/index.js": "require path\nimport node:util"}, evidence.OK},
		{"the SDK", ``, map[string]string{"dist/index.js": "import @modelcontextprotocol/sdk/server/index.js"},
			evidence.OK},
		{"out of the SDK", ``, map[string]string{"dist/index.js": "require @modelcontextprotocol/sdk/../../x"},
			evidence.Refused},
		{"fs", ``, map[string]string{"dist/index.js": "require fs/promises"}, evidence.Refused},
		{"fs with a permission", `"permissions":{"fsWrite":true}`,
			map[string]string{"dist/index.js": "require fs/promises"}, evidence.OK},
		{"an undocumented way to http", ``, map[string]string{"dist/index.js": "require _http_client"},
			evidence.Refused},
		{"a package that is named like core", ``, map[string]string{"dist/index.js": "require process/browser"},
			evidence.Refused},
		{"an unknown module of node:", ``, map[string]string{"dist/index.js": "require node:unknown"},
			evidence.Refused},
		{"external", ``, map[string]string{"dist/index.js": "require axios"}, evidence.Refused},
		{"vendored", ``, map[string]string{"dist/a/b.js": "require axios/lib", "dist/node_modules/axios/lib.js": "1"},
			evidence.OK},
		{"vendored, with a scope", ``,
			map[string]string{"dist/index.js": "require @a/b", "dist/node_modules/@a/b/index.js": "1"}, evidence.OK},
		{"vendored elsewhere", ``,
			map[string]string{"dist/index.js": "require axios", "dist/sub/node_modules/axios/index.js": "1"},
			evidence.Refused},
		{"vendored, as a file", ``,
			map[string]string{"dist/index.js": "require axios", "dist/node_modules/axios": "1"}, evidence.OK},
		{"vendored, as a file that import passes over", ``,
			map[string]string{"dist/index.js": "import axios", "dist/node_modules/axios": "1"}, evidence.Refused},
		{"climbing out of a vendored package", ``,
			map[string]string{"dist/index.js": "require axios/../../../x", "dist/node_modules/axios/index.js": "1"},
			evidence.Refused},
		{"out of the plugin", ``, map[string]string{"dist/index.js": "require ../../x"}, evidence.Refused},
		{"out of the plugin, escaped", ``, map[string]string{"dist/index.js": "import ./%2e%2e/%2e%2e/x.js"},
			evidence.Refused},
		{"out of dist", ``, map[string]string{"dist/index.js": "require ../package.json"}, evidence.Integrity},
		{"code out of dist", ``,
			map[string]string{"dist/index.js": "require ../evil.js", "evil.js": "require child_process"},
			evidence.Integrity},
		{"code out of dist, without its extension", ``,
			map[string]string{"dist/sub/a.js": "import ../../evil", "evil.js": "1"}, evidence.Integrity},
		{"a document out of dist, as code", ``,
			map[string]string{"dist/index.js": "require ../README.md", "README.md": "require child_process"},
			evidence.Integrity},
		{"main out of dist", ``, map[string]string{"dist/p/package.json": `{"main":"../../evil.js"}`},
			evidence.Integrity},
		{"the plugin's directory", ``, map[string]string{"dist/index.js": "require .."}, evidence.Integrity},
		// a warning
		{"the manifest", ``, map[string]string{"dist/index.js": "require ../mcp-plugin.json"}, evidence.OK},
		{"what would be the manifest's script", ``, map[string]string{"dist/index.js": "require ../mcp-plugin"},
			evidence.Integrity},
		{"an absolute path", ``, map[string]string{"dist/index.js": "require /etc/x.js"}, evidence.Refused},
		{"data:", ``, map[string]string{"dist/index.js": "import data:text/javascript,x"}, evidence.Refused},
		{"file:", ``, map[string]string{"dist/index.js": "import file:///x.js"}, evidence.Refused},
		{"https:", ``, map[string]string{"dist/index.js": "import https://x.example/y.js"}, evidence.Refused},
		{"a backslash", ``, map[string]string{"dist/index.js": `require .\..\..\x`}, evidence.Refused},
		{"computed", ``, map[string]string{"dist/index.js": "~ x"}, evidence.OK}, // a warning
		{"unparsed", ``, map[string]string{"dist/other.cjs": "BROKEN"}, evidence.Refused},
		{"a script by another name", ``,
			map[string]string{"dist/index.js": "require ./a.txt", "dist/a.txt": "require axios"}, evidence.Refused},
		{"the same, not loaded", ``, map[string]string{"dist/a.txt": "require axios"}, evidence.OK},
		{"a script by another name, with a query", ``,
			map[string]string{"dist/index.js": "import ./a.txt?x", "dist/a.txt": "require axios"}, evidence.Refused},
		{"main of a package.json", ``,
			map[string]string{"dist/p/package.json": `{"main":"x.dat"}`, "dist/p/x.dat": "require axios"},
			evidence.Refused},
		{"main that climbs out", ``, map[string]string{"dist/p/package.json": `{"main":"../../../x.js"}`},
			evidence.Refused},
		{"exports of a package.json", ``,
			map[string]string{"dist/p/package.json": `{"exports":{".":{"require":"./x"}}}`,
				"dist/p/x": "require axios"}, evidence.Refused},
		{"exports with a star", ``,
			map[string]string{"dist/p/package.json": `{"exports":{"./*":"./lib/*.dat"}}`,
				"dist/p/lib/x.dat": "require axios"}, evidence.Refused},
		{"exports with another star", ``,
			map[string]string{"dist/p/package.json": `{"exports":{"./*":"./lib/*.dat"}}`,
				"dist/p/other/x.dat": "require axios"}, evidence.OK},
		// a warning
		{"a document that a star exports", ``,
			map[string]string{"dist/p/package.json": `{"exports":{"./*":"./lib/*"}}`, "dist/p/lib/README.md": "BROKEN"},
			evidence.OK},
		{"a broken script that a star exports", ``,
			map[string]string{"dist/p/package.json": `{"exports":{"./*":"./lib/*"}}`, "dist/p/lib/a.js": "BROKEN"},
			evidence.Refused},
		{"a package.json that is too large", ``,
			map[string]string{"dist/p/package.json": `{"main":"x.dat"}` + strings.Repeat(" ", MaxManifest)},
			evidence.Refused},
		{"a binding that does the work of a module", ``, map[string]string{"dist/index.js": "builtin#module tty_wrap"},
			evidence.OK},
		{"a binding that needs a permission", ``, map[string]string{"dist/index.js": "builtin#module spawn_sync"},
			evidence.Refused},
		{"an unknown binding", ``, map[string]string{"dist/index.js": "builtin#module natives"}, evidence.Refused},
		{"imports of a file", ``,
			map[string]string{"dist/package.json": `{"imports":{"#x":{"node":["./x.dat"]}}}`,
				"dist/x.dat": "require axios"}, evidence.Refused},
		{"imports of a package", ``, map[string]string{"dist/package.json": `{"imports":{"#x":"axios"}}`},
			evidence.Refused},
		{"a name of imports", `"x-a":1`,
			map[string]string{"dist/package.json": `{"imports":{"#x":"./index.js"}}`, "dist/sub/a.js": "require #x"},
			evidence.OK},
		{"a star that overlaps itself", ``,
			map[string]string{"dist/p/package.json": `{"exports":{"./*":"./aa*aa.dat"}}`,
				"dist/p/aaa.dat": "require axios"}, evidence.OK},
		{"a package that is declared and not imported", `"externalDependencies":[{"name":"axios","version":"1.0.0"}]`,
			nil, evidence.Refused},
		{"imports of a core module", ``, map[string]string{"dist/package.json": `{"imports":{"#x":"node:fs"}}`},
			evidence.Refused},
		{"a package.json with a byte order mark", ``,
			map[string]string{"dist/package.json": "\xef\xbb\xbf" + `{"main":"x.dat"}`, "dist/x.dat": "require axios"},
			evidence.Refused},
		{"a script by another name in a vendored SDK", ``,
			map[string]string{"dist/index.js": "require @modelcontextprotocol/sdk/x.dat",
				"dist/node_modules/@modelcontextprotocol/sdk/x.dat": "require axios"}, evidence.Refused},
		{"a native addon", ``, map[string]string{"dist/x.NODE": "x"}, evidence.Refused},
		{"dlopen", ``, map[string]string{"dist/index.js": "dlopen /x"}, evidence.Refused},
	} {
		b, m := bundle(t, c.members, c.files)
		r, err := Check(t.Context(), b, m, Host{Scan: scanLines, Now: time.Now()})
		if err != nil {
			t.Fatal(c.name, err)
		}
		if got := r.Verdict.Class(); got != c.want {
			t.Errorf("%s: %s, want %s: %v", c.name, got, c.want, r.Verdict.Err())
		}
	}
}

// An import must lead to what a hash covers: not to a link, and not to a dotfile that
// dist.hash leaves out and nothing else covers.
func TestImportsOfUnhashed(t *testing.T) {
	for name, c := range map[string]struct {
		specifier, hidden, link string
		covered                 bool // by checksums and the framed hash
		entry                   bool // is the hidden file
		want                    evidence.Class
	}{
		"a dotfile":                       {specifier: "./.x.js", hidden: "dist/.x.js", want: evidence.Integrity},
		"a dotfile without its extension": {specifier: "./.x", hidden: "dist/.x.js", want: evidence.Integrity},
		"a file of a hidden directory":    {specifier: "./.x", hidden: "dist/.x/index.js", want: evidence.Integrity},
		"of a vendored package": {specifier: "a/.x.js", hidden: "dist/node_modules/a/.x.js",
			want: evidence.Integrity},
		"a dotfile that nothing imports": {specifier: "./b.js", hidden: "dist/.x.js", want: evidence.OK},
		"a dotfile that is covered": {specifier: "./.x.js", hidden: "dist/.x.js", covered: true,
			want: evidence.OK},
		"the entry": {specifier: "./b.js", hidden: "dist/.x.js", entry: true,
			want: evidence.Integrity},
		"a link":                       {specifier: "./l.js", link: "dist/l.js", want: evidence.Integrity},
		"a link without its extension": {specifier: "./l", link: "dist/l.js", want: evidence.Integrity},
		"below a link":                 {specifier: "./l/a.js", link: "dist/l", want: evidence.Integrity},
		"a link that nothing imports":  {specifier: "./b.js", link: "dist/l.js", want: evidence.OK},
	} {
		files := map[string]string{"dist/index.js": "require " + c.specifier, "dist/b.js": "1",
			"dist/node_modules/a/index.js": "1"}
		if c.hidden != "" {
			files[c.hidden] = "1"
		}
		b, m := bundle(t, ``, files)
		if !c.covered {
			m.Dist.Hashes, m.Dist.Checksums, m.Dist.All = nil, nil, false
		}
		if c.entry {
			m.Entry = c.hidden
		}
		if c.link != "" {
			b.Refused = []*tree.EntryError{{Path: c.link, Kind: "a symbolic link"}}
		}
		r, err := Check(t.Context(), b, m, Host{Scan: scanLines, Now: time.Now()})
		if err != nil || r.Verdict.Class() != c.want {
			t.Errorf("%s: %s, want %s: %v, %v", name, r.Verdict.Class(), c.want, r.Verdict.Err(), err)
		}
	}
}

// A name that begins with # is known where dist/ has the package.json that says what it
// means, and refused elsewhere: the package.json beside dist/ is neither hashed nor loaded.
func TestSubpathImports(t *testing.T) {
	for _, c := range []struct {
		file string
		want bool
	}{{"a.js", true}, {"sub/b.js", true}, {"node_modules/x/c.js", false}} {
		b, _ := bundle(t, ``,
			map[string]string{"dist/package.json": `{"imports":{"#x":"./index.js"}}`, "dist/" + c.file: "require #x"})
		u, err := b.scanAll(t.Context(), scanLines)
		if err != nil || len(u.computed) > 0 || (len(u.forbidden) == 0) != c.want {
			t.Errorf("%s: %v, %v, %v", c.file, u.computed, u.forbidden, err)
		}
	}
}

// The bytes are read once: what is hashed is what is parsed, whatever the file becomes.
func TestReadOnce(t *testing.T) {
	good, evil := "exports.x = 1", "exports.x = 2"
	text := manifest("")
	var opened atomic.Int32
	files := []tree.File{{Path: "dist/index.js", Size: int64(len(good))}, {Path: ManifestFile, Size: int64(len(text))}}
	b, err := ReadBundle(t.Context(), files, nil, func(path string) (io.ReadCloser, error) {
		if path == ManifestFile {
			return io.NopCloser(strings.NewReader(text)), nil
		}
		if opened.Add(1) > 1 {
			return io.NopCloser(strings.NewReader(evil)), nil
		}
		return io.NopCloser(strings.NewReader(good)), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	m, err := Parse(b.Manifest)
	if err != nil {
		t.Fatal(err)
	}
	data, err := b.WriteHash(t.Context(), m, tree.Guide)
	if err != nil {
		t.Fatal(err)
	}
	if m, err = Parse(data); err != nil {
		t.Fatal(err)
	}
	scanned := ""
	scan := func(_ string, content []byte) ([]Import, error) { scanned = string(content); return nil, nil }
	r, err := Check(t.Context(), b, m, Host{Scan: scan})
	if err != nil || !r.Verdict.Allowed() || scanned != good || opened.Load() != 1 {
		t.Errorf("scanned %q, opened %d times, %v", scanned, opened.Load(), err)
	}
	// A file that grows between the listing and the reading is an error.
	_, err = ReadBundle(context.Background(),
		[]tree.File{{Path: "dist/index.js", Size: 3}, {Path: ManifestFile, Size: int64(len(text))}}, nil,
		func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil })
	if !errors.Is(err, tree.ErrChanged) {
		t.Errorf("a file that grew: %v", err)
	}
}

// The ambiguous pair has one dist.hash; the framed hash tells its trees apart.
func TestAmbiguous(t *testing.T) {
	_, m := bundle(t, ``, map[string]string{"dist/index.js": "x\nk.js\ny"})
	other := &Bundle{Manifest: m.Raw, Contents: map[string][]byte{"index.js": []byte("x\n"), "k.js": []byte("y")},
		Files: []tree.File{{Path: "index.js", Size: 2}, {Path: "k.js", Size: 1}}}
	r, err := CheckFiles(t.Context(), other, m)
	if err != nil {
		t.Fatal(err)
	}
	outcomes := map[evidence.Scheme]evidence.Outcome{}
	for _, f := range r.Verdict.Findings {
		if f.Evidence.Subject == m.Subject() {
			outcomes[f.Evidence.Scheme] = f.Evidence.Outcome
		}
	}
	if outcomes[evidence.Dist] != evidence.Match || outcomes[evidence.Tree] != evidence.Mismatch ||
		r.Verdict.Class() != evidence.Integrity {
		t.Errorf("%v, %v", outcomes, r.Verdict.Class())
	}
}

func TestEveryByteCounts(t *testing.T) {
	b, m := bundle(t, ``, map[string]string{"dist/a.js": "one", "dist/b/c.txt": "two"})
	for path, content := range b.Contents {
		for i := range content {
			content[i] ^= 1
			r, err := CheckFiles(t.Context(), b, m)
			content[i] ^= 1
			if err != nil || r.Verdict.Class() != evidence.Integrity {
				t.Errorf("%s, byte %d: %v, %v", path, i, r.Verdict.Class(), err)
			}
		}
	}
	if r, err := CheckFiles(t.Context(), b, m); err != nil || !r.Verdict.Allowed() {
		t.Errorf("%v, %v", r, err)
	}
}

func TestFlags(t *testing.T) {
	for value, want := range map[string]bool{"1": true, "true": true, "YES": true, "on": true, "0": false, "": false,
		"no": false, "Off": false, "false": false} {
		f, err := ReadFlags(func(name string) string {
			if name == "PLUGIN_REQUIRE_SIGNED" {
				return value
			}
			return ""
		})
		if err != nil || f.RequireSignatures != want || f.StrictTools {
			t.Errorf("%q: %+v, %v", value, f, err)
		}
	}
	if _, err := ReadFlags(func(string) string { return "enabled" }); err == nil {
		t.Error("a value that is neither true nor false is taken for one")
	}
}

func TestOrder(t *testing.T) {
	plugins := func(pairs ...string) (out []*Manifest) {
		for _, p := range pairs {
			name, on, _ := strings.Cut(p, ":")
			out = append(out,
				&Manifest{Name: name, Dependencies: strings.FieldsFunc(on, func(r rune) bool { return r == ',' })})
		}
		return out
	}
	if got, err := Order(plugins("z", "app:lib,base", "lib:base", "base", "a:z")); err != nil ||
		!slices.Equal(got, []string{"z", "a", "base", "lib", "app"}) {
		t.Errorf("%v, %v", got, err)
	}
	_, err := Order(plugins("a:b", "b:c", "c:a", "d:none,none2", "e", "e"))
	for _, want := range []string{"a -> b -> c -> a", "d depends on none, which is missing", "none2",
		"e is there twice"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
}

func TestAllowlistForms(t *testing.T) {
	for text, want := range map[string]string{
		`["lodash","@a/b"]`: "lodash@1 @a/b@2", `{"allow":["lodash"]}`: "lodash@1",
		`{"dependencies":{"lodash":"1.0.0"}}`:                      "lodash@1.0.0",
		`{"dependencies":{"lodash":["1.0.0","2.0.0"],"@a/b":"*"}}`: "lodash@2.0.0 @a/b@2 lodash/fp@1.0.0",
		`{}`: "!", `[]`: "", `5`: "!", ``: "!", `{"allow":"x"}`: "!", `{"dependencies":{"x":"^1"}}`: "!",
		`{"dependencies":{"x":[]}}`: "!",
		`{"other":[]}`:              "!", `["a/b"]`: "!", `[""]`: "!", `{"allow":["x"],"allow":[]}`: "!",
	} {
		a, err := ParseAllowlist([]byte(text))
		if (err != nil) != (want == "!") {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if err != nil {
			continue
		}
		for _, ref := range strings.Fields(want) {
			i := strings.LastIndex(ref, "@")
			if !a.Allows(ref[:i], ref[i+1:]) {
				t.Errorf("%s does not allow %s", text, ref)
			}
		}
		if a.Allows("lodash", "9.9.9") && strings.Contains(text, "1.0.0") || a.Allows("other", "1.0.0") {
			t.Errorf("%s allows what it does not name", text)
		}
	}
}

// The schema is published where manifests name it.
func TestSchemaFile(t *testing.T) {
	data, err := os.ReadFile("../spec/plugin.schema.json")
	if err != nil || !json.Valid(data) || !bytes.Contains(data, []byte("draft-07")) {
		t.Fatal(err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(manifest("")))
	f.Add([]byte(manifest(`"externalDependencies":[{"name":"x","version":"1.0.0"}]`)))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Parse(data)
		if err != nil {
			return
		}
		if _, err := m.Statement(); err == nil && m.Entry == "" {
			t.Error("a manifest without an entry")
		}
	})
}
