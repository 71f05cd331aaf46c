package archive

import (
	"bytes"
	"context"
	"io"
	"testing"

	"github.com/hallmark-mcp/hallmark/tree"
)

// FuzzCanonical: a tar that is read as canonical is the one that its files determine.
func FuzzCanonical(f *testing.F) {
	f.Add(ending(file(f, "a.md", "content A"), file(f, "b/c.md", "content B")))
	f.Add(ending(file(f, "a.md", "x", set(156, "2"))))
	for _, c := range headers() {
		f.Add(c.forge(f, "a.md"))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		contents := map[string][]byte{}
		var files []tree.File
		_, err := Walk(bytes.NewReader(data), Canonical, Limits{Packed: 1 << 20}, func(e Entry, r io.Reader) error {
			files = append(files, tree.File{Path: e.Path, Size: e.Size})
			var err error
			contents[e.Path], err = io.ReadAll(r)
			return err
		})
		if err != nil {
			return
		}
		var again bytes.Buffer
		open := func(path string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(contents[path])), nil }
		if _, err := tree.WriteTar(context.Background(), &again, files, open, 1); err != nil ||
			!bytes.Equal(again.Bytes(), data) {
			t.Fatalf("read as canonical, but written otherwise: %v", err)
		}
	})
}

// FuzzFacet: every path that Walk hands on is safe, as in FuzzTar.
func FuzzFacet(f *testing.F) {
	good := ending(file(f, "a.md", "content A"))
	f.Add(facetOf(f, zipped(f, good)))
	f.Add(facetOf(f, append(zipped(f, good), zipped(f, nil)...)))
	f.Fuzz(func(t *testing.T, data []byte) { walkSafely(t, data, Facet) })
}

func FuzzTar(f *testing.F) {
	f.Add(ending(file(f, "package/a.md", "content A")), false)
	f.Add(zipped(f, ending(file(f, "./package/a.md", "content A"))), true)
	f.Fuzz(func(t *testing.T, data []byte, compressed bool) {
		if compressed {
			walkSafely(t, data, TarGzip)
		} else {
			walkSafely(t, data, Tar)
		}
	})
}

func walkSafely(t *testing.T, data []byte, format Format) {
	Walk(bytes.NewReader(data), format, Limits{Unpacked: 1 << 22}, func(e Entry, r io.Reader) error {
		if err := CheckPath(e.Path); err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, r)
		if err == nil && n != e.Size {
			t.Fatalf("%v gave %d bytes", e, n)
		}
		return err
	})
}
