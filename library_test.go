package hallmark_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/e2e/built"
	"github.com/hallmark-mcp/hallmark/e2e/npmtest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/publish"
	"github.com/hallmark-mcp/hallmark/internal/registry/client"
	"github.com/hallmark-mcp/hallmark/internal/registry/servertest"
)

const modulePath = "github.com/hallmark-mcp/hallmark"

// maxLines bounds the facade, without its tests: what needs more belongs into a flow.
const maxLines = 800

// publicPackages are all that others can import: what they would have no use for is internal. "" is the facade.
var publicPackages = []string{"", "artifact", "digest", "evidence", "hashline", "launcher", "ledger", "plugin", "policy", "project",
	"serverjson", "surface", "tree"}

// TestLibraryTypes holds that a program outside this module can name every type that it meets:
// none that the exported names of a public package lead to lies in an internal package.
func TestLibraryTypes(t *testing.T) {
	public := loadPublic(t)
	for _, p := range public {
		w := typeWalk{seen: map[types.Type]bool{}, public: public}
		for _, name := range p.Scope().Names() {
			if object := p.Scope().Lookup(name); object.Exported() {
				w.object(object, p.Path()+"."+name)
			}
		}
		for _, found := range w.found {
			t.Error(found)
		}
	}
	var names []string
	for path := range public {
		names = append(names, strings.TrimPrefix(strings.TrimPrefix(path, modulePath), "/"))
	}
	slices.Sort(names)
	if !slices.Equal(names, publicPackages) {
		t.Errorf("the public packages are %q, and are to be %q", names, publicPackages)
	}
}

// TestLibraryTypesFindsInternal holds that the walk sees what it is there for.
func TestLibraryTypesFindsInternal(t *testing.T) {
	hidden := types.NewPackage(modulePath+"/internal/host", "host")
	host := types.NewNamed(types.NewTypeName(token.NoPos, hidden, "Host", nil), types.NewStruct(nil, nil), nil)
	p := types.NewPackage(modulePath, "hallmark")
	field := func(name string, of types.Type) *types.Struct {
		return types.NewStruct([]*types.Var{types.NewField(token.NoPos, p, name, of, false)}, nil)
	}
	result := func(of types.Type) *types.Signature {
		return types.NewSignatureType(nil, nil, nil, nil, types.NewTuple(types.NewVar(token.NoPos, p, "", of)), false)
	}
	for name, object := range map[string]types.Object{
		"field":    types.NewTypeName(token.NoPos, p, "A", field("Host", types.NewPointer(host))),
		"result":   types.NewFunc(token.NoPos, p, "B", result(types.NewSlice(host))),
		"callback": types.NewTypeName(token.NoPos, p, "C", field("Confirm", result(host))),
		"alias": types.NewTypeName(token.NoPos, p, "D",
			types.NewAlias(types.NewTypeName(token.NoPos, p, "E", nil), host)),
		"map": types.NewVar(token.NoPos, p, "F", types.NewMap(types.Typ[types.String], host)),
	} {
		w := typeWalk{seen: map[types.Type]bool{}, public: map[string]*types.Package{modulePath: p}}
		if w.object(object, name); len(w.found) != 1 {
			t.Errorf("%s: found %q", name, w.found)
		}
	}
	w := typeWalk{seen: map[types.Type]bool{}, public: map[string]*types.Package{modulePath: p}}
	if w.object(types.NewTypeName(token.NoPos, p, "G", field("host", host)), "unexported"); len(w.found) != 0 {
		t.Errorf("an unexported field is nobody's to name: %q", w.found)
	}
}

// TestLibraryOptions holds that options stay few, and the facade thin.
func TestLibraryOptions(t *testing.T) {
	scope := loadPublic(t)[modulePath].Scope()
	for _, name := range scope.Names() {
		if s, ok := scope.Lookup(name).Type().Underlying().(*types.Struct); ok && strings.HasSuffix(name, "Options") &&
			s.NumFields() > 8 {
			t.Errorf("%s has %d fields; 8 are enough", name, s.NumFields())
		}
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines += bytes.Count(data, []byte("\n"))
	}
	if lines == 0 || lines > maxLines {
		t.Errorf("the facade has %d lines", lines)
	}
}

// loadPublic returns the packages of this module that others can import, by path.
func loadPublic(t *testing.T) map[string]*types.Package {
	t.Helper()
	list := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Export,Name", "./...")
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	exports := map[string]string{}
	var paths []string
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ ImportPath, Export, Name string }
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		if p.Name != "main" && p.Export != "" && isPublic(p.ImportPath) {
			paths = append(paths, p.ImportPath)
		}
	}
	load := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("no export data of %s", path)
		}
		return os.Open(exports[path])
	})
	public := map[string]*types.Package{}
	for _, path := range paths {
		p, err := load.Import(path)
		if err != nil {
			t.Fatal(err)
		}
		public[path] = p
	}
	return public
}

// isPublic reports whether a package is part of the library.
func isPublic(path string) bool {
	if path == modulePath {
		return true
	}
	rel, ours := strings.CutPrefix(path, modulePath+"/")
	if !ours || isInternal(path) {
		return false
	}
	switch first, _, _ := strings.Cut(rel, "/"); first {
	case "cmd", "e2e", "bench", "tools": // programs and tests
		return false
	}
	return true
}

func isInternal(path string) bool {
	return strings.HasPrefix(path, modulePath+"/") && strings.Contains(path+"/", "/internal/")
}

// typeWalk follows the types that exported names lead to.
type typeWalk struct {
	public map[string]*types.Package
	seen   map[types.Type]bool
	found  []string
}

func (w *typeWalk) object(o types.Object, at string) {
	w.walk(o.Type(), at)
}

func (w *typeWalk) walk(t types.Type, at string) {
	if t == nil || w.seen[t] {
		return
	}
	w.seen[t] = true
	switch t := t.(type) {
	case *types.Alias:
		w.named(t.Obj(), at)
		w.walk(t.Rhs(), at)
	case *types.Named:
		w.named(t.Obj(), at)
		for arg := range t.TypeArgs().Types() {
			w.walk(arg, at)
		}
		if p := t.Obj().Pkg(); p == nil || w.public[p.Path()] == nil {
			return // of others, or reported already
		}
		w.walk(t.Underlying(), at)
		for m := range t.Methods() {
			if m.Exported() {
				w.walk(m.Type(), at+"."+m.Name())
			}
		}
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() || f.Embedded() {
				w.walk(f.Type(), at+"."+f.Name())
			}
		}
	case *types.Signature:
		for v := range t.Params().Variables() {
			w.walk(v.Type(), at+"(parameter)")
		}
		for v := range t.Results().Variables() {
			w.walk(v.Type(), at+"(result)")
		}
		for p := range t.TypeParams().TypeParams() {
			w.walk(p.Constraint(), at)
		}
	case *types.Interface:
		for m := range t.Methods() {
			if m.Exported() {
				w.walk(m.Type(), at+"."+m.Name())
			}
		}
		for e := range t.EmbeddedTypes() {
			w.walk(e, at)
		}
	case *types.Map:
		w.walk(t.Key(), at)
		w.walk(t.Elem(), at)
	case *types.Union:
		for term := range t.Terms() {
			w.walk(term.Type(), at)
		}
	case *types.Tuple:
		for v := range t.Variables() {
			w.walk(v.Type(), at)
		}
	case interface{ Elem() types.Type }: // pointers, slices, arrays, channels
		w.walk(t.Elem(), at)
	}
}

func (w *typeWalk) named(o *types.TypeName, at string) {
	if o.Pkg() != nil && isInternal(o.Pkg().Path()) {
		w.found = append(w.found, fmt.Sprintf("%s leads to %s.%s", at, o.Pkg().Path(), o.Name()))
	}
}

// TestLibraryAgreesToNothing holds that the zero value of options starts and locks nothing, and
// that consent to start a server is none to lock it.
func TestLibraryAgreesToNothing(t *testing.T) {
	world := newExampleWorld()
	defer world.Close()
	project := world.calculator()
	confirmed := 0
	for name, o := range map[string]hallmark.PinOptions{
		"zero": {},
		"confirm alone": {Confirm: func(*hallmark.Pinned) (bool, error) {
			confirmed++
			return true, nil
		}},
		"start alone": {
			Start: func(p *hallmark.Pinned) (bool, error) { return p.Surface == nil && p.Consent.IsZero(), nil }},
	} {
		o.Machine = world.machine
		_, err := hallmark.Pin(t.Context(), project, nil, o)
		if evidence.ClassOf(err) != evidence.Refused {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(world.path("project/hallmark.lock")); err == nil {
			t.Errorf("%s: something was locked", name)
		}
	}
	if confirmed != 0 {
		t.Error("somebody was asked about a server that nobody may start")
	}
	if code, err := hallmark.Run(t.Context(), project, "calculator",
		hallmark.RunOptions{Machine: world.machine}); evidence.ClassOf(err) != evidence.Refused {
		t.Errorf("run: %d, %v", code, err)
	}
}

// TestLibraryPublishesArchive publishes a facet, and demands that a registry is named.
func TestLibraryPublishesArchive(t *testing.T) {
	world := newExampleWorld()
	defer world.Close()
	world.serveRegistry()
	world.write("kit/facet.json",
		`{"name": "kit", "version": "1.0.0", "commands": {"wave": {"description": "Waves."}}}`)
	world.write("kit/commands/wave.md", "Wave.\n")
	packed, err := publish.Pack(t.Context(), publish.PackOptions{Dir: world.path("kit"), File: world.path("kit.facet")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := hallmark.Publish(t.Context(), world.path("kit.facet"),
		hallmark.PublishOptions{Machine: world.machine}); evidence.ClassOf(err) != evidence.Validation {
		t.Errorf("without a registry: %v", err)
	}
	published, err := hallmark.Publish(t.Context(), world.path("kit.facet"), hallmark.PublishOptions{
		Machine: world.machine, Registry: world.registry, LogKey: world.logKey,
	})
	if err != nil {
		t.Fatal(err)
	}
	if published.Subject != "kit@1.0.0" || published.Entry == nil ||
		published.ContentIntegrity.String() != packed.Integrity.String() {
		t.Errorf("%+v", published)
	}
}

// TestOutsideModule builds and runs a program of another module, which verifies a server.json,
// pins and runs a server, and audits a log. The compiler refuses it what is internal.
func TestOutsideModule(t *testing.T) {
	program := buildOutside(t)
	base := t.TempDir()
	t.Cleanup(func() { makeWritable(base) })
	npm, err := npmtest.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(npm.Close)
	if err := npm.Publish(
		npmtest.Package{Name: "notes", Version: "1.0.0",
			Manifest: map[string]any{"mcpName": "io.github.acme/notes"}}); err != nil {
		t.Fatal(err)
	}
	document := serverDocument(npm)
	registry, log := servertest.ServeLog(t, nil)
	if _, err := (&client.Client{Base: registry.URL}).Publish(t.Context(), document, ""); err != nil {
		t.Fatal(err)
	}
	built.Into(t, filepath.Join(base, "puppet"), "e2e/puppet")
	writeFiles(t, base, map[string]string{
		"server.json":   string(document),
		"authority.pem": string(npm.Authority()),
		"project/hallmark.toml": "manifest_version = 1\n[providers.mcp.calculator]\ncommand = \"../puppet\"\n" +
			"arguments = [\"../surface.json\"]\n",
		"surface.json": puppetSurface,
	})
	run := exec.Command(program, filepath.Join(base, "server.json"), filepath.Join(base, "project"), "calculator",
		registry.URL, log.Key.VerifierKey)
	run.Env = append(npm.Environ(filepath.Join(base, "authority.pem")), "HALLMARK_HOME="+filepath.Join(base, "kept"),
		"HOME="+base,
		"PATH="+os.Getenv("PATH"), "SYSTEMROOT="+os.Getenv("SYSTEMROOT"))
	var out, problems bytes.Buffer
	run.Stdout, run.Stderr = &out, &problems
	if err := run.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, out.Bytes(), problems.Bytes())
	}
	for _, want := range []string{
		"^verify: npm:notes@1.0.0 [a-z_-]+ match$",
		"^pin: calculator shows tool:add  Adds two numbers\\.$",
		`^run: {.*"id":2,.*"result":`,
		"^run: exit code 0$",
		"^monitor: log.example.com: 1 entries, 1 records, 0 anomalies$",
	} {
		if !regexp.MustCompile("(?m)" + want).Match(out.Bytes()) {
			t.Errorf("no %q in\n%s%s", want, out.Bytes(), problems.Bytes())
		}
	}
}

// puppetSurface is what the puppet shows.
const puppetSurface = `{"tools/list": {"tools": [{"name": "add", "description": "Adds two numbers.", "inputSchema": ` +
	`{"type": "object"}}]}}`

// serverDocument is the server.json of the package notes, with its hash.
func serverDocument(npm *npmtest.Server) []byte {
	return fmt.Appendf(nil, `{"$schema":"https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
"name":"io.github.acme/notes","description":"Notes","version":"1.0.0",
"packages":[{"registryType":"npm","identifier":"notes","version":"1.0.0","transport":{"type":"stdio"}}],
"file_hashes":{"npm:notes@1.0.0":%q}}`, digest.FromBytes(npm.Tarball("notes", "1.0.0")))
}

// buildOutside builds testdata/outside in a module of its own, from the modules that this one has.
func buildOutside(t *testing.T) string {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	ours, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	// With all that this module requires, go reads no go.mod but those that building this module has read, and so
	// asks nobody.
	_, rest, _ := bytes.Cut(ours, []byte("\n")) // but its name
	files := map[string]string{
		"go.mod": fmt.Sprintf("module example.com/outside\n%s\nrequire %s v0.0.0\n\nreplace %s => %q\n",
			rest, modulePath, modulePath, filepath.ToSlash(here)),
	}
	for from, to := range map[string]string{"go.sum": "go.sum", "testdata/outside/main.go": "main.go"} {
		data, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		files[to] = string(data)
	}
	writeFiles(t, dir, files)
	program := filepath.Join(dir, "outside.exe")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir, build.Env = dir, append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=mod", "GOPROXY=off",
		"GOSUMDB=off", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// writeFiles writes files below dir.
func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// makeWritable undoes the read-only modes of a store, so that the directory can be removed.
func makeWritable(dir string) {
	filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			os.Chmod(path, 0o700)
		}
		return nil
	})
}
