package durable

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestOpener: whatever way files are opened, they are those below the directory.
func TestOpener(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"outside": "o", "content/a": "1", "content/b/c/d": "2", "outer/d": "o"} {
		place := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(place), 0o755), os.WriteFile(place, []byte(text), 0o644)); err !=
			nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"content/out": "../outside", "content/up": "../outer"} {
		if err := os.Symlink(to, filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			t.Skip(err) // on Windows it takes a right
		}
	}
	content, err := os.OpenRoot(filepath.Join(dir, "content"))
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	open, done := Opener(content)
	defer done()
	for path, want := range map[string]string{"a": "1", "b/c/d": "2"} {
		f, err := open(path)
		if err != nil {
			t.Fatal(err)
		}
		if data, err := io.ReadAll(f); err != nil || string(data) != want {
			t.Errorf("%s: %q, %v", path, data, err)
		}
		f.Close()
	}
	for _, path := range []string{"out", "up/d", "../outside", "../content/a", filepath.Join(dir, "outside")} {
		if f, err := open(path); err == nil {
			f.Close()
			t.Errorf("%s was opened", path)
		}
	}
	if _, err := open("b/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
