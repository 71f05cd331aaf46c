//go:build unix

package packages

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/registry/pkg/model"

	"github.com/hallmark-mcp/hallmark/e2e/world"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/operate"
)

var write = flag.Bool("write", false, "write testdata/releases.txt")

// releaseStep is one command of an author, and its exit code, which is the same for every ecosystem.
type releaseStep struct {
	name    string
	program string
	args    string // REGISTRY is the URL of ours
	exit    int
}

// down is the name of steps of which none changes what another sees, and which wait for a server again and again: all
// programs do so at once.
const down = "server down"

// releaseSteps is the way of an author through two releases and what can be wrong with the second. What happens before
// the first command of a name is in [walk.prepare].
var releaseSteps = []releaseStep{
	{"first", "hallmark", "hash-gen --write server.json", 0},
	{"first", "hallmark", "validate server.json", 0},
	{"first", "hallmark", "publish server.json --registry REGISTRY", 0},

	{"bumped", "mcp-publisher", "validate server.json", 2},
	{"bumped", "mcp-publisher", "verify server.json", 2},
	{"bumped", "mcp-publisher", "publish server.json --registry REGISTRY", 2},

	{"second", "mcp-publisher", "hash-gen --write server.json", 0},
	{"second", "mcp-publisher", "validate server.json", 0},
	{"second", "mcp-publisher", "verify server.json", 0},
	{"second", "mcp-publisher", "publish server.json --registry REGISTRY", 0},

	{"wrong hash", "hallmark", "validate server.json", 0},
	{"wrong hash", "hallmark", "verify server.json", 3},
	{"wrong hash", "hallmark", "publish server.json --registry REGISTRY", 3},
	{"wrong hash", "hallmark", "publish --no-hash server.json --registry REGISTRY", 3},

	{"former hash", "mcp-publisher", "verify server.json", 3},
	{"former hash", "mcp-publisher", "publish server.json --registry REGISTRY", 3},
	{"former hash", "mcp-publisher", "publish --no-hash server.json --registry REGISTRY", 3},

	{"file gone", "hallmark", "hash-gen server.json", 1},
	{"file gone", "hallmark", "verify server.json", 1},
	{"file gone", "hallmark", "publish server.json --registry REGISTRY", 1},
	{"file gone", "hallmark", "publish --no-hash server.json --registry REGISTRY", 1},

	{down, "mcp-publisher", "hash-gen server.json", 1},
	{down, "mcp-publisher", "verify server.json", 1},
	{down, "mcp-publisher", "publish server.json --registry REGISTRY", 1},
	{down, "mcp-publisher", "publish --no-hash server.json --registry REGISTRY", 1},
}

// released is a package of one ecosystem with two releases.
type released struct {
	server   string // that it is for
	pkg      map[string]any
	versions [2]string
	files    [2][]file // of each release, in one order; ref is the key of file_hashes
}

// releasedPackages make the packages, and put into o what the public registries do not have themselves.
var releasedPackages = []struct {
	ecosystem string
	make      func(t *testing.T, o *outside, r *released)
}{
	{"npm", func(t *testing.T, _ *outside, r *released) {
		const name = "@modelcontextprotocol/server-memory"
		r.versions = [2]string{"2026.7.4", "2026.8.31"}
		for i, v := range r.versions {
			r.server, r.files[i] = npmFiles(t, name+"@"+v)
		}
		r.pkg = pkg("npm", name, r.versions[0])
	}},
	{"pypi", func(t *testing.T, o *outside, r *released) { // of each release two wheels and an sdist
		r.versions = [2]string{"3.7.4", "3.7.4.1"}
		for i, v := range r.versions {
			r.files[i] = simpleFiles(t, "typing", v)
			slices.SortFunc(r.files[i], func(a, b file) int { return cmp.Compare(a.ref, b.ref) })
			o.pages[model.RegistryURLPyPI+"/pypi/typing/"+v+"/json"] = nil // then the simple page tells the files
		}
		r.pkg = pkg("pypi", "typing", r.versions[0])
	}},
	{"cargo", func(t *testing.T, o *outside, r *released) {
		r.versions = [2]string{"1.0.0", "1.0.1"}
		var config map[string]any
		world.Decode(t, metadata(t, crates()+"/config.json"), &config)
		config["api"] = model.RegistryURLCrates
		o.pages[crates()+"/config.json"] = encode(config)
		o.pages[model.RegistryURLCrates+"/readme.html"] = []byte("<p>mcp-name: " + r.server + "</p>")
		for i, v := range r.versions {
			r.files[i] = []file{crateFile(t, "itoa", v)}
			o.pages[model.RegistryURLCrates+"/api/v1/crates/itoa/"+v+"/readme"] =
				encode(map[string]any{"url": model.RegistryURLCrates + "/readme.html"})
		}
		r.pkg = pkg("cargo", "itoa", r.versions[0])
	}},
	{"oci", func(t *testing.T, o *outside, r *released) {
		r.versions = [2]string{"1.0.0", "1.0.1"}
		for i, v := range r.versions {
			r.files[i] = []file{pushIndex(t, o.images, "acme/notes", v, r.server)}
			r.files[i][0].ref = "oci:" + imageHost + "/acme/notes:" + v
		}
		r.pkg = map[string]any{"registryType": "oci", "identifier": imageHost + "/acme/notes:1.0.0", "transport": stdio}
	}},
	{"url", func(_ *testing.T, o *outside, r *released) {
		const at = "https://" + fileHost + "/notes/VERSION/notes.mcpb"
		r.bundle(o, at, at)
	}},
	{"mcpb", func(_ *testing.T, o *outside, r *released) {
		at := model.RegistryURLGitLab + "/acme/notes/-/releases/vVERSION/downloads/notes.mcpb"
		r.bundle(o, at, at)
		r.pkg["fileSha256"] = strings.TrimPrefix(r.files[0][0].digest, "sha256:") // as the official registry wants it
	}},
	{"github", func(_ *testing.T, o *outside, r *released) {
		at := model.RegistryURLGitHub + "/acme/notes/releases/download/vVERSION/notes.mcpb"
		r.bundle(o, at, "github:acme/notes/vVERSION/notes.mcpb")
		scheme, host, _ := strings.Cut(model.RegistryURLGitHub, "://")
		for i, v := range r.versions {
			o.pages[scheme+"://api."+host+"/repos/acme/notes/releases/tags/v"+v] = encode(map[string]any{"tag_name": "v" + v,
				"assets": []any{map[string]any{"id": i, "name": "notes.mcpb", "digest": r.files[i][0].digest,
					"browser_download_url": r.files[i][0].url}}})
		}
	}},
	{"nuget", func(_ *testing.T, o *outside, r *released) {
		r.versions = [2]string{"1.0.0", "1.0.1"}
		r.pkg = pkg("nuget", "Acme.Notes", r.versions[0])
		index, _ := url.Parse(model.RegistryURLNuGet)
		flat := index.ResolveReference(&url.URL{Path: "/flat/"}).String()
		o.pages[model.RegistryURLNuGet] = encode(map[string]any{"version": "3.0.0",
			"resources": []any{map[string]any{"@id": flat, "@type": "PackageBaseAddress/3.0.0"},
				map[string]any{"@id": flat + "{lower_id}/{lower_version}/readme", "@type": "ReadmeUriTemplate/6.13.0"}}})
		for i, v := range r.versions {
			r.files[i] = []file{o.keep("nuget:Acme.Notes@"+v, flat+"acme.notes/"+v+"/acme.notes."+v+".nupkg", map[string]string{
				"Acme.Notes.nuspec": "<package><metadata><id>Acme.Notes</id><version>" + v +
					"</version><readme>README.md</readme></metadata></package>",
				"README.md": "mcp-name: " + r.server})}
			o.pages[flat+"acme.notes/"+v+"/readme"] = []byte("mcp-name: " + r.server)
		}
	}},
}

// bundle is a bundle at a URL. In at and key, VERSION is that of the release.
func (r *released) bundle(o *outside, at, key string) {
	r.versions = [2]string{"1.0.0", "1.0.1"}
	for i, v := range r.versions {
		in := func(s string) string { return strings.ReplaceAll(s, "VERSION", v) }
		r.files[i] = []file{o.keep(in(key), in(at), map[string]string{
			"manifest.json": in(`{"manifest_version":"0.3","name":"` + r.server + `","version":"VERSION"}`)})}
	}
	r.pkg = map[string]any{"registryType": "mcpb", "identifier": r.files[0][0].url, "transport": stdio}
}

func encode(v any) []byte {
	text, _ := json.Marshal(v)
	return text
}

// walk is an author on the way through [releaseSteps].
type walk struct {
	released
	ecosystem string
	out       *outside
	registry  string
	dir       string
	env       []string
	rows      []said // by the index in [releaseSteps]
}

// prepare brings about what a step is about.
func (w *walk) prepare(t *testing.T, step string) {
	t.Helper()
	name := filepath.Join(w.dir, "server.json")
	doc := described(w.server, []map[string]any{w.pkg})
	old, changed := w.files[0][0], w.files[1][0]
	edit := func(was, now string) {
		text, err := os.ReadFile(name)
		if err != nil || !bytes.Contains(text, []byte(was)) {
			t.Fatalf("%s has no %s, %v", text, was, err)
		}
		world.Write(t, name, strings.ReplaceAll(string(text), was, now))
	}
	hex := func(f file) string { return strings.TrimPrefix(f.digest, "sha256:") }
	switch step {
	case "first":
		w.newest(0)
		world.Write(t, name, string(encode(doc)))
	case "bumped":
		w.newest(1)
		w.bump(t, name, "1.0.1", w.versions[0], w.versions[1])
	case "wrong hash":
		w.bump(t, name, "1.0.2", "", "") // the next that is published
		edit(hex(changed), wrong)
	case "former hash":
		edit(wrong, hex(old))
	case "file gone":
		edit(hex(old), hex(changed))
		w.out.lose(changed, http.StatusNotFound)
	case down:
		w.out.lose(changed, http.StatusServiceUnavailable)
	}
}

// bump sets the version of the document, and changes that of its package, as an author does who edits it.
func (w *walk) bump(t *testing.T, name, version, was, now string) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	world.Decode(t, text, &doc)
	doc["version"] = version
	p := doc["packages"].([]any)[0].(map[string]any)
	for _, member := range []string{"identifier", "version"} {
		if text, ok := p[member].(string); ok && was != "" {
			p[member] = strings.ReplaceAll(text, was, now)
		}
	}
	world.Write(t, name, string(encode(doc)))
}

var wrong = strings.Repeat("5", 64)

// newest lets the project's document be that of a release, which names the server in its description.
func (w *walk) newest(release int) {
	if w.pkg["registryType"] != "pypi" {
		return
	}
	w.out.mu.Lock()
	defer w.out.mu.Unlock()
	w.out.pages[model.RegistryURLPyPI+"/pypi/typing/json"] = encode(map[string]any{"info": map[string]any{
		"name": "typing", "version": w.versions[release], "description": "mcp-name: " + w.server}})
}

// said is what a program said first at one step.
type said struct{ message, hint string }

// run runs one step and checks what holds for every ecosystem.
func (w *walk) run(t *testing.T, program string, s releaseStep) said {
	args := strings.Fields(strings.ReplaceAll(s.args, "REGISTRY", w.registry))
	c := exec.CommandContext(t.Context(), program, args...)
	var out, errs bytes.Buffer
	c.Dir, c.Env, c.Stdout, c.Stderr = w.dir, w.env, &out, &errs
	err := c.Run()
	fail := func(format string, args ...any) {
		t.Errorf("%s, %s, %s %s: %s\n%s%s", w.ecosystem, s.name, s.program, s.args, fmt.Sprintf(format, args...), &out, &errs)
	}
	if c.ProcessState == nil || c.ProcessState.ExitCode() != s.exit {
		fail("%v, want exit code %d", err, s.exit)
	}
	first := out.String() + errs.String()
	if s.exit != 0 {
		first = errs.String()
	}
	message, _, _ := strings.Cut(first, "\n")
	_, hint, _ := strings.Cut(errs.String(), "\n  hint: ")
	hint, _, _ = strings.Cut(hint, "\n")
	if (s.exit != 0) != (hint != "") {
		fail("hint %q", hint)
	}
	if lead := "'" + s.program + " hash-gen --write server.json'"; s.exit == 2 && !strings.Contains(hint, lead) {
		fail("the hint does not lead on with %s", lead)
	}
	// What was found of the file is said under the name that file_hashes has for it.
	if key := s.program + ": " + w.files[1][0].ref + ": "; (s.exit == 1 || s.exit == 3) &&
		!strings.Contains(s.args, "--no-hash") && !strings.HasPrefix(message, key) {
		fail("it does not begin with %s", key)
	}
	return said{w.stable(message), w.stable(hint)}
}

// stable replaces what differs from run to run and from machine to machine.
func (w *walk) stable(text string) string {
	pairs := []string{w.registry, "REGISTRY", wrong, "WRONG", model.RegistryURLGitLab, "GITLAB",
		model.RegistryURLGitHub, "GITHUB"}
	for i, release := range w.files {
		for _, f := range release {
			pairs = append(pairs, strings.TrimPrefix(f.digest, "sha256:"), [2]string{"FIRST", "SECOND"}[i])
		}
	}
	text, _, _ = strings.Cut(text, "  of ") // a URL of the registry that this machine has
	return strings.Join(strings.Fields(strings.NewReplacer(pairs...).Replace(text)), " ")
}

// wantHashes compares the hashes in the document, all of them, with those of a release.
func (w *walk) wantHashes(t *testing.T, release int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(w.dir, "server.json"))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		FileHashes map[string]string `json:"file_hashes"`
		Packages   []struct{ FileSha256 string }
	}
	world.Decode(t, text, &doc)
	want := map[string]string{}
	for _, f := range w.files[release] {
		want[f.ref] = f.digest
	}
	if !maps.Equal(doc.FileHashes, want) {
		t.Errorf("hash-gen wrote %v, want %v", doc.FileHashes, want)
	}
	if got := doc.Packages[0].FileSha256; w.pkg["registryType"] == "mcpb" && "sha256:"+got != w.files[release][0].digest {
		t.Errorf("hash-gen wrote fileSha256 %s, want %v", got, want)
	}
}

// TestReleases walks an author through two releases in each ecosystem. The packages of npm, PyPI and cargo are real ones,
// so that it needs the network. testdata/releases.txt is what is said; go test ./e2e/packages -run TestReleases -write
// writes it.
func TestReleases(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("uses the network")
	}
	o := newOutside(t)
	bin := map[string]string{"hallmark": world.Build(t, "hallmark"), "mcp-publisher": world.Build(t, "mcp-publisher")}
	config := fetch.ServerConfig()
	config.RootCAs = systemRoots(t, o.world.CA)
	config.Limits.Retries = -1
	config.Proxy = func(*url.URL) (*url.URL, error) { return o.proxy, nil }
	registry := serveWith(t, operate.ServeOptions{Fetch: config, AllowHosts: []string{o.proxy.Hostname()},
		BundleHosts: []string{fileHost}})

	walks := make([]*walk, len(releasedPackages))
	for i, p := range releasedPackages {
		dir, r := t.TempDir(), released{server: "com.example/" + p.ecosystem}
		p.make(t, o, &r)
		walks[i] = &walk{released: r, ecosystem: p.ecosystem, out: o, registry: registry, dir: dir,
			rows: make([]said, len(releaseSteps)), env: []string{
				"HOME=" + dir, "TMPDIR=" + dir, "HALLMARK_HOME=" + filepath.Join(dir, "home"),
				"SSL_CERT_FILE=" + o.world.CA, "HTTPS_PROXY=" + o.proxy.String()}}
	}
	var waiting sync.WaitGroup
	whole := t
	t.Run("ecosystems", func(t *testing.T) {
		for _, w := range walks {
			t.Run(w.ecosystem, func(t *testing.T) {
				t.Parallel()
				last := ""
				for i, s := range releaseSteps {
					if s.name != last {
						w.prepare(t, s.name)
						last = s.name
					}
					if s.name == down {
						waiting.Go(func() { w.rows[i] = w.run(whole, bin[s.program], s) })
						continue
					}
					w.rows[i] = w.run(t, bin[s.program], s)
					if strings.HasPrefix(s.args, "hash-gen --write") {
						w.wantHashes(t, map[string]int{"first": 0, "second": 1}[s.name])
					}
				}
			})
		}
	})
	waiting.Wait()

	var table strings.Builder
	for _, w := range walks {
		for i, s := range releaseSteps {
			row := w.rows[i]
			fmt.Fprintf(&table, "%s | %s | %s %s | %d | %s | %s\n", w.ecosystem, s.name, s.program, s.args, s.exit,
				row.message, cmp.Or(row.hint, "-"))
			if one := walks[0].rows[i].hint; s.exit > 1 && row.hint != one {
				t.Errorf("%s, %s, %s: the hint is %q, that of %s %q", w.ecosystem, s.name, s.args, row.hint,
					walks[0].ecosystem, one)
			}
		}
	}
	const name = "testdata/releases.txt"
	if *write {
		if err := os.WriteFile(name, []byte(table.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(name); err != nil || string(want) != table.String() {
		t.Errorf("%s is not what was said, %v; run this test with -write\n%s", name, err, &table)
	}
}
