package closure

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	modzip "golang.org/x/mod/zip"

	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/project"
)

// A module that is older than modules has no go.mod where it is unpacked. It is one of the closure all the same, and
// its packages that the program does not import bring nothing along.
func TestResolveGoWithoutModFile(t *testing.T) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	proxy := t.TempDir()
	serveModule(t, proxy, "example.com/server", map[string]string{
		"go.mod":  "module example.com/server\n\ngo 1.21\n\nrequire example.com/old v1.0.0\n",
		"main.go": "package main\n\nimport \"example.com/old/used\"\n\nfunc main() { used.It() }\n",
	})
	serveModule(t, proxy, "example.com/old", map[string]string{
		"used/used.go": "package used\n\nfunc It() {}\n",
		"more/more.go": "package more\n\nimport _ \"example.com/unused\"\n",
	})
	serveModule(t, proxy, "example.com/unused", map[string]string{"unused.go": "package unused\n"})
	cache := t.TempDir()
	h := &host.Host{Places: host.Places{Cache: cache, State: t.TempDir()}, Getenv: os.Getenv, Environ: append(os.Environ(),
		"GOPROXY=file://"+filepath.ToSlash(proxy), "GOSUMDB=off", "GOCACHE="+t.TempDir())}
	c, err := ResolveGo(t.Context(), h, "example.com/server", "v1.0.0",
		&project.Runtime{Path: strings.TrimSpace(string(root))})
	if err != nil {
		t.Fatal(err)
	}
	var refs []string
	for _, p := range c.Packages {
		refs = append(refs, p.Ref.String())
	}
	slices.Sort(refs)
	if want := []string{"go:example.com/old@v1.0.0", "go:example.com/server@v1.0.0"}; !slices.Equal(refs, want) {
		t.Errorf("%q, want %q", refs, want)
	}
}

// serveModule puts v1.0.0 of a module into a directory that go reads as a proxy.
func serveModule(t *testing.T, proxy, path string, files map[string]string) {
	t.Helper()
	dir, at := t.TempDir(), filepath.Join(proxy, filepath.FromSlash(path), "@v")
	if err := os.MkdirAll(at, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	zip, err := os.Create(filepath.Join(at, "v1.0.0.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer zip.Close()
	if err := modzip.CreateFromDir(zip, module.Version{Path: path, Version: "v1.0.0"}, dir); err != nil {
		t.Fatal(err)
	}
	mod := files["go.mod"]
	if mod == "" {
		mod = "module " + path + "\n"
	}
	for name, text := range map[string]string{"list": "v1.0.0\n", "v1.0.0.mod": mod,
		"v1.0.0.info": `{"Version":"v1.0.0","Time":"2020-01-01T00:00:00Z"}`} {
		if err := os.WriteFile(filepath.Join(at, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
