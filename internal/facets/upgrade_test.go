package facets

import (
	"archive/zip"
	"os"
	"path/filepath"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// TestLatestModule: what is declared is never followed by an older version, though go calls
// the newest release the latest, and not a later prerelease.
func TestLatestModule(t *testing.T) {
	const module = "example.com/served"
	proxy := t.TempDir()
	dir := filepath.Join(proxy, filepath.FromSlash(module), "@v")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(name string, data string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mod, list := "module "+module+"\n\ngo 1.17\n", ""
	for _, version := range []string{"v1.0.0", "v1.1.0", "v1.2.0-rc.1"} {
		list += version + "\n"
		write(version+".info", `{"Version": "`+version+`"}`)
		write(version+".mod", mod)
		f, err := os.Create(filepath.Join(dir, version+".zip"))
		if err != nil {
			t.Fatal(err)
		}
		z := zip.NewWriter(f)
		for name, text := range map[string]string{"go.mod": mod, "main.go": "package main\n\nfunc main() {}\n"} {
			w, err := z.Create(module + "@" + version + "/" + name)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write([]byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	write("list", list)
	environ := append(os.Environ(), "GOPROXY=file://"+filepath.ToSlash(proxy), "GONOSUMDB="+module, "GOSUMDB=off")
	w := &workspace.Workspace{Host: &host.Host{Getenv: os.Getenv, Environ: environ}, Config: &project.Config{},
		Lock: &project.Lock{}, Dir: t.TempDir()}
	for declared, want := range map[string]string{"v1.0.0": "v1.1.0", "v1.1.0": "v1.1.0",
		"v1.2.0-rc.1": "v1.2.0-rc.1"} {
		s := project.Server{Name: "served", Type: "stdio", Command: "go",
			Arguments: []string{"run", module + "@" + declared}}
		status, next, err := findLatest(t.Context(), w, s, "")
		if err != nil || status.Wanted != want || next.Arguments[1] != module+"@"+want {
			t.Errorf("%s: %v: wanted %s, declared as %v, want %s", declared, err, status.Wanted, next.Arguments, want)
		}
	}
}
