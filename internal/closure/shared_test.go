package closure

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/e2e/forge"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/foreign"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/store"
	"github.com/hallmark-mcp/hallmark/project"
)

// TestInstallShared: three wheels bring a package's __init__.py along. The root's stays, though its name is not the
// last and whichever the installer wrote last.
func TestInstallShared(t *testing.T) {
	python := findPython(t)
	packages := &Packages{dir: t.TempDir()}
	c := &project.Closure{}
	for _, name := range []string{"c", "a", "b"} {
		file := name + "-1.0-py3-none-any.whl"
		path := filepath.Join(packages.dir, "wheels", file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		data := forge.Wheel(name+"-1.0", "ns/__init__.py", "by = "+name, "ns/"+name+".py", "",
			name+"-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: "+name+"\nVersion: 1.0\n")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		ref, err := artifact.NewPyPI(name, "1.0", file)
		if err != nil {
			t.Fatal(err)
		}
		wheel, err := fetch.ReadWheel(path, ref)
		if err != nil {
			t.Fatal(err)
		}
		packages.read = append(packages.read, wheel)
		c.Packages = append(c.Packages, project.ClosurePackage{Ref: ref,
			Wheels: map[artifact.Ref]digest.Digest{ref: digest.FromBytes(data)}})
		if name == "b" {
			c.Root, packages.Ref = ref, ref
		}
	}
	s, err := store.Open(filepath.Join(t.TempDir(), "store"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	st, err := s.Stage()
	if err != nil {
		t.Fatal(err)
	}
	defer st.Discard()
	var said bytes.Buffer
	environ := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	h := &host.Host{Environ: environ, Getenv: func(name string) string { return foreign.Variable(environ, name) },
		Logger: slog.New(slog.NewTextHandler(&said, nil))}
	h.Places.Cache = t.TempDir()
	if err := (Python{}).Install(t.Context(), h, Order{Closure: c, Runtime: &project.Runtime{Path: python}}, packages, st); err != nil {
		t.Fatal(err)
	}
	site := filepath.Join(st.Dir(), "site-packages", "ns")
	if got, err := os.ReadFile(filepath.Join(site, "__init__.py")); err != nil || string(got) != "by = b" {
		t.Errorf("%q, %v", got, err)
	}
	for _, name := range []string{"a.py", "b.py", "c.py"} {
		if _, err := os.Stat(filepath.Join(site, name)); err != nil {
			t.Error(err)
		}
	}
	if !strings.Contains(said.String(), `of pypi:b==1.0/b-1.0-py3-none-any.whl is taken`) {
		t.Errorf("said: %s", &said)
	}
}
