//go:build unix

package place

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/hallmark-mcp/hallmark/hashline"
)

func TestFileURI(t *testing.T) {
	for uri, want := range map[string]string{
		"file:///a/b": "/a/b", "file://localhost/a": "/a", "file:///a%20b/../c/": "/c", "file:/a": "/a",
		"file://example.com/a": "", "http:///a": "", "/a": "", "file:a": "", "file:": "", "": "", "file:///a%00": "",
		"%": "",
	} {
		if got, ok := ParseFileURI(uri); ok != (want != "") || ok && got != want {
			t.Errorf("%q: %q, %v", uri, got, ok)
		}
	}
}

// TestRootOpen: what was a directory when it was looked up, and is reached through a link when
// it is opened, is not opened.
func TestRootOpen(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	if err := errors.Join(os.MkdirAll(base+"/a/sub", 0o700), os.WriteFile(base+"/a/sub/f", nil, 0o600),
		os.Symlink("a", base+"/link"), os.Symlink("a/sub", base+"/sub")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]hashline.Code{
		"a/sub": "", "link/sub": IO, "sub": IO, "none": NotFound, "a/sub/f": NotFound,
	} {
		full := filepath.Join(base, path)
		r := &Root{given: full, Path: full, name: &Named{given: full, closed: true}}
		err := r.Open()
		var p *Refusal
		if errors.As(err, &p); want == "" != (err == nil) || p != nil && p.Code != want {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
		if err == nil {
			r.Dir.Close()
		}
		if info, err := statWalked(full); (err == nil && info.IsDir()) != (want == "") {
			t.Errorf("%s, by another way: %v", path, err)
		}
	}
}
