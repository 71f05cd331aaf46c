package servers

import (
	"archive/zip"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/world"
)

// TestGoServers pins a real server that go run starts, with all modules that it is built
// from, and runs what was built from them. It reaches the Go module proxy.
func TestGoServers(t *testing.T) {
	if testing.Short() {
		t.Skip("reaches the Go module proxy")
	}
	const sdk, version = "github.com/modelcontextprotocol/go-sdk", "v1.1.0"
	server := realServer{
		name: "hello", command: "go", old: sdk + "/examples/server/hello@" + version,
		tool: "greet", input: map[string]any{"name": "hallmark"}, answer: "hallmark",
	}
	r := &realRun{realServer: server, bin: world.Build(t, "hallmark"), home: t.TempDir(), dir: t.TempDir()}
	t.Cleanup(func() { writable(r.home) })
	// What the compiler remembers is what it remembers of this test: the standard library takes a minute.
	remembered, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(r.home, "cache"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(strings.TrimSpace(string(remembered)), filepath.Join(r.home, "cache", "go-build")); err != nil {
		t.Fatal(err)
	}
	if err := r.declare(r.old, []string{"-tags", "any"}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.hallmark(t.Context(), 4, "pin", "--yes"); err != nil {
		t.Error(err) // what options change is in no closure
	}
	if err := r.declare(r.old, nil); err != nil {
		t.Fatal(err)
	}
	out, err := r.hallmark(t.Context(), 0, "pin", "--yes")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out, "go:"+sdk+"@"+version) || !strings.Contains(out, "each verified") ||
		!strings.Contains(out, "built by") {
		t.Errorf("pin shows\n%s", out)
	}
	data, err := os.ReadFile(filepath.Join(r.dir, "hallmark.closures", "hello.json"))
	if err != nil || !strings.Contains(string(data), sdk+" "+version+" h1:") {
		t.Errorf("%v: the closure is\n%s", err, data)
	}
	// What runs now comes from the store: no module can be had.
	t.Setenv("GOPROXY", "off")
	if err := r.use(t.Context(), r.tool); err != nil {
		t.Error(err)
	}
	if _, err := r.hallmark(t.Context(), 0, "check", "--offline"); err != nil {
		t.Error(err)
	}

	t.Run("other bytes", func(t *testing.T) {
		other := *r
		other.home = t.TempDir()
		t.Setenv("GOPROXY", "file://"+filepath.ToSlash(otherModule(t, sdk, version)))
		out, err := other.hallmark(t.Context(), 3, "run", "--trust-lock", "hello")
		if err != nil || !strings.Contains(out, "checksum mismatch") {
			t.Errorf("%v\n%s", err, out)
		}
	})
	t.Run("built again", func(t *testing.T) {
		// On a machine that has nothing the same bytes are built: the lock holds them. What
		// the compiler remembers is moved there, for the time that it takes.
		other := *r
		other.home, other.flags = t.TempDir(), []string{"--trust-lock"}
		t.Cleanup(func() { writable(other.home) })
		if err := os.MkdirAll(filepath.Join(other.home, "cache"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(r.home, "cache", "go-build"),
			filepath.Join(other.home, "cache", "go-build")); err != nil {
			t.Fatal(err)
		}
		t.Setenv("GOPROXY", "")
		if err := other.use(t.Context(), r.tool); err != nil {
			t.Error(err)
		}
	})
	t.Run("tampered", func(t *testing.T) {
		found, err := filepath.Glob(filepath.Join(r.home, "cache", "store", "sha256", "*", "*", "content", "server*"))
		if err != nil || len(found) != 1 {
			t.Fatal(found, err)
		}
		if err := os.Chmod(found[0], 0o700); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(found[0], os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString("x"); err != nil {
			t.Fatal(err)
		}
		f.Close()
		if out, err := r.hallmark(t.Context(), 3, "run", "hello"); err != nil || !strings.Contains(out, "mismatch") {
			t.Errorf("%v\n%s", err, out)
		}
	})
}

// otherModule is a directory that serves a version of a module as a proxy does, with one
// file more than its author published.
func otherModule(t *testing.T, path, version string) string {
	t.Helper()
	cache := t.TempDir()
	c := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", "-modcacherw", path+"@"+version)
	c.Dir = t.TempDir()
	c.Env = append(os.Environ(), "GOMODCACHE="+cache, "GOPROXY=", "GOFLAGS=")
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var m struct{ Zip string }
	if err := json.Unmarshal(out, &m); err != nil {
		t.Fatal(err)
	}
	in, err := zip.OpenReader(m.Zip)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	to, err := os.Create(m.Zip + ".new")
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	w := zip.NewWriter(to)
	for _, f := range in.File {
		if err := w.Copy(f); err != nil {
			t.Fatal(err)
		}
	}
	more, err := w.Create(path + "@" + version + "/examples/server/hello/more.go")
	if err == nil {
		_, err = io.WriteString(more, "package main\n\nfunc init() { panic(\"bytes that nobody verified\") }\n")
	}
	if err == nil {
		err = w.Close()
	}
	if err == nil {
		err = os.Rename(m.Zip+".new", m.Zip)
	}
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(cache, "cache", "download")
}
