//go:build unix

package engine

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
)

// TestOverwriteStale writes in place only what was read.
func TestOverwriteStale(t *testing.T) {
	d := t.TempDir()
	path := writeFile(t, d, "f", "read\n")
	r, err := os.OpenRoot(d)
	must(t, err)
	defer r.Close()
	info, err := r.Lstat("f")
	must(t, err)
	old := Contents{Data: []byte("read\n"), Info: info}
	for _, theirs := range []string{"theirs\n", "read\nand more\n", "rea", ""} {
		writeFile(t, d, "f", theirs)
		err := overwriteFile(place.In(r, "f", info), old, []byte("ours\n"))
		if !errors.Is(err, errReplaced) || readFile(t, path) != theirs {
			t.Errorf("%q: %v, and now %q", theirs, err, readFile(t, path))
		}
	}
	writeFile(t, d, "g", "read\n") // of the same content, but another file
	os.Rename(filepath.Join(d, "g"), path)
	err = overwriteFile(place.In(r, "f", info), old, []byte("ours\n"))
	if !errors.Is(err, errReplaced) || readFile(t, path) != "read\n" {
		t.Errorf("%v, and now %q", err, readFile(t, path))
	}
}
