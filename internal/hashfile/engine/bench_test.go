package engine

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
)

// BenchmarkEdit replaces a file of 100 KB under its lock.
func BenchmarkEdit(b *testing.B) {
	d, err := filepath.EvalSymlinks(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	data := bytes.Repeat([]byte("0123456789\n"), 100<<10/11)
	path := filepath.Join(d, "f")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		b.Fatal(err)
	}
	source, err := place.NewSource([]string{d}, time.Second)
	if err != nil {
		b.Fatal(err)
	}
	defer source.Close()
	scope := source.Configured()
	defer scope.Close()
	w := newWriter(b.TempDir(), false)
	for b.Loop() {
		p, err := place.Resolve(scope, path)
		if err != nil {
			b.Fatal(err)
		}
		unlock, err := w.Lock(b.Context(), p)
		if err != nil {
			b.Fatal(err)
		}
		old := Contents{Data: data, Hash: digest.FromBytes(data), Info: p.Info}
		if _, err := w.Replace(p, old, data); err != nil {
			b.Fatal(err)
		}
		unlock()
		p.Close()
	}
}
