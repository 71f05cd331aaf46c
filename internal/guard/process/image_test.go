package process_test

import (
	"errors"
	"os"
	"runtime"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/e2e/built"
	"github.com/hallmark-mcp/hallmark/internal/guard/guardtest"
	"github.com/hallmark-mcp/hallmark/internal/guard/process"
)

// TestAlgorithms: further digests come from the same bytes, and sha256 always.
func TestAlgorithms(t *testing.T) {
	for _, path := range []string{built.Greeter(t, "x"), "/bin/echo"} {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		algs := []digest.Algorithm{digest.SHA1, digest.SHA256, digest.SHA512}
		h := digest.NewHasher(algs...)
		h.Write(b)
		m, err := process.Open(path, algs...)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		o := m.Observed()
		if len(o.Digests) != 3 || o.Digests[0].Algorithm() != digest.SHA256 || o.Size != int64(len(b)) ||
			o.From != m.Path() {
			t.Errorf("%s: observed %v", path, o)
		}
		for _, d := range o.Digests {
			if d.String() != h.Digest(d.Algorithm()).String() {
				t.Errorf("%s: %s, want %s", path, d, h.Digest(d.Algorithm()))
			}
		}
		if len(guardtest.Open(t, path).Observed().Digests) != 1 {
			t.Errorf("%s: digests that nobody asked for", path)
		}
	}
	var unknown *digest.UnknownAlgorithmError
	if _, err := process.Open("/bin/echo", "md5"); !errors.As(err, &unknown) {
		t.Errorf("md5: %v", err)
	}
}

// TestByName: an interpreter is known by any of its names.
func TestByName(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the guarantee is Linux's")
	}
	for path, want := range map[string]bool{
		"/usr/bin/node": true, "/opt/node-22.1": true, "/usr/bin/nodejs": true, "/x/deno": true, "/x/bun": true,
		"/usr/bin/python3": false, "/bin/sh": false, "/x/nodemon": false, "/x/node/bin/ruby": false,
	} {
		if got := (&process.Image{}).ByName(&process.Image{Chain: []string{path}}); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
	if !(&process.Image{}).ByName(&process.Image{Chain: []string{"/home/u/shims/node", "/opt/shim"}}) {
		t.Error("a shim called node")
	}
}
