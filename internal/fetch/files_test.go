package fetch

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/e2e/forge"
)

func TestListFiles(t *testing.T) {
	var tarball bytes.Buffer
	z := gzip.NewWriter(&tarball)
	w := tar.NewWriter(z)
	for _, name := range []string{"package/package.json", "package/lib/a.js"} {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: 2}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	wheel := forge.Wheel("a-1.0", "m.py", "1", "m/b.py", "2", "a-1.0.data/scripts/run", "3", "a-1.0.dist-info/METADATA", "4")
	for name, c := range map[string]struct {
		data []byte
		list func(string) (map[string]File, error)
		want []string
	}{
		"tarball": {tarball.Bytes(), ListTarball, []string{"lib/a.js", "package.json"}},
		"wheel":   {wheel, ListWheel, []string{"data/scripts/run", "dist-info/METADATA", "dist-info/WHEEL", "m.py", "m/b.py"}},
	} {
		path := filepath.Join(t.TempDir(), "package")
		if err := os.WriteFile(path, c.data, 0o600); err != nil {
			t.Fatal(err)
		}
		files, err := c.list(path)
		if got := slices.Sorted(maps.Keys(files)); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		if name == "tarball" && !digest.Equal(files["lib/a.js"].Sum, digest.FromBytes([]byte("{}"))) {
			t.Errorf("%v", files)
		}
		if err := os.WriteFile(path, c.data[:len(c.data)-1], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := c.list(path); err == nil {
			t.Errorf("%s: what is cut off is listed", name)
		}
	}
}

func TestCompareFiles(t *testing.T) {
	file := func(text string) File { return File{digest.FromBytes([]byte(text)), int64(len(text))} }
	size := func(n int64) *int64 { return &n }
	got := CompareFiles(map[string]File{"same": file("x"), "less": file("xyz"), "gone": file("x")},
		map[string]File{"same": file("x"), "less": file("a"), "come": file("")})
	want := []FileChange{{"come", nil, size(0)}, {"gone", size(1), nil}, {"less", size(3), size(1)}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
	for i, want := range []struct {
		kind  string
		moved int64
	}{{"added", 0}, {"removed", 1}, {"changed", 2}} {
		if got[i].Kind() != want.kind || got[i].Moved() != want.moved {
			t.Errorf("%v: %s, %d", got[i], got[i].Kind(), got[i].Moved())
		}
	}
}
