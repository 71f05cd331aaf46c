package program

import (
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/world"
	"github.com/hallmark-mcp/hallmark/internal/closure"
	"github.com/hallmark-mcp/hallmark/internal/foreign"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/store"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// TestBytecode: python reads the bytecode that was compiled and no other, takes the source where there is none, and
// finds modules, data files and what a package says of itself as it does without.
func TestBytecode(t *testing.T) {
	world.NeedsPython(t)
	environ := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	h := &host.Host{Environ: environ, Getenv: func(name string) string { return foreign.Variable(environ, name) },
		Logger: slog.New(slog.DiscardHandler)}
	h.Places.Cache = t.TempDir()
	rt, err := closure.FindPython(t.Context(), workspace.Empty(h, t.TempDir()), os.Getenv("PATH"))
	if err != nil {
		t.Fatal(err)
	}
	site := filepath.Join(t.TempDir(), "site-packages")
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(site, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("hx/__init__.py", "from . import deep, ns\n")
	write("hx/deep/__init__.py", "import os\nwhere = os.path.basename(__file__)\n")
	write("hx/ns/part.py", "")
	write("hx/template.py", "{{ no module }}")
	write("hx/data.txt", "data")
	write("hx-1.0.dist-info/METADATA", "Name: hx\nVersion: 1.0\n")
	write("more.pth", "added\n")
	write("added/extra.py", "value = 7\n")
	write("hx/main.py", `import importlib.metadata, importlib.resources, pkgutil, sys, extra, hx, hx.ns.part
def run():
    print("old", hx.deep.where, importlib.resources.files("hx").joinpath("data.txt").read_text(),
        importlib.metadata.version("hx"), extra.value, sorted(m.name for m in pkgutil.iter_modules(hx.__path__)), sys.argv)
`)
	s, err := store.Open(filepath.Join(t.TempDir(), "store"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	st, err := s.Stage()
	if err != nil {
		t.Fatal(err)
	}
	defer st.Discard()
	if err := closure.CompilePython(t.Context(), h, rt, site, st); err != nil {
		t.Fatal(err)
	}
	start := func(bytecode string) string {
		t.Helper()
		p := &Program{Args: slices.Concat([]string{rt.Path}, isolatePython(rt.Version), []string{"-S", "-B", "-c",
			closure.StartPython, site, bytecode, "hx.main:run", "hx", "argument"})}
		var said [2]string
		for i := range said { // the second as it is where code of the project runs, too
			out, err := exec.Command(p.Args[0], p.Args[1:]...).CombinedOutput()
			if err != nil {
				t.Fatalf("%q: %v: %s", p.Args, err, out)
			}
			said[i] = strings.TrimSpace(string(out))
			p.IgnoreBytecode()
		}
		if said[0] != said[1] {
			t.Errorf("with bytecode in %q: %s, with code of the project %s", bytecode, said[0], said[1])
		}
		return said[0]
	}
	const want = "old __init__.py data 1.0 7 ['deep', 'main', 'template'] ['hx', 'argument']"
	for _, bytecode := range []string{"", st.Dir(), t.TempDir()} { // none, all, and none where some is looked for
		if got := start(bytecode); got != want {
			t.Errorf("with bytecode in %q: %s, want %s", bytecode, got, want)
		}
	}
	compiled, err := filepath.Glob(filepath.Join(st.Dir(), "hx", "__pycache__", "*.pyc"))
	if err != nil || len(compiled) != 2 { // the template is none
		t.Errorf("compiled are %q, %v", compiled, err)
	}
	write("hx/main.py", "def run(): print('new')\n")
	if got := start(st.Dir()); got != want {
		t.Errorf("the bytecode was not read: %s", got)
	}
	// Bytecode beside the source is not what was compiled.
	write("hx/deep/__init__.py", "where = 'forged'\n")
	forged, err := s.Stage()
	if err != nil {
		t.Fatal(err)
	}
	defer forged.Discard()
	if err := closure.CompilePython(t.Context(), h, &project.Runtime{Path: rt.Path, Version: rt.Version}, site, forged); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(forged.Dir(), "hx", "deep", "__pycache__"), filepath.Join(site, "hx", "deep", "__pycache__")); err != nil {
		t.Fatal(err)
	}
	if got := start(st.Dir()); got != want {
		t.Errorf("bytecode beside the source was read: %s", got)
	}
}
