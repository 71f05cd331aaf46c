package obtain

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A member is a new file: what appeared in the staging directory under its name, be it a
// link, is neither written into nor taken over.
func TestWriteMemberIsNew(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := writeMember(root, "a/b.md", strings.NewReader("first")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("b.md", filepath.Join(dir, "a", "link.md")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"a/b.md", "a/link.md"} {
		if err := writeMember(root, path, strings.NewReader("other")); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if data, err := os.ReadFile(filepath.Join(dir, "a", "b.md")); err != nil || string(data) != "first" {
		t.Errorf("%q, %v", data, err)
	}
}
