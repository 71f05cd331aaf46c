package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestPlace(t *testing.T) {
	dir := t.TempDir()
	path, temp := filepath.Join(dir, "file"), filepath.Join(dir, ".new.tmp")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	holds := func(name, want string) {
		t.Helper()
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s holds %q (%v), want %q", name, got, err, want)
		}
	}
	if err := Place(temp, path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a file: %v", err)
	}
	write(temp, "first")
	if err := Place(temp, filepath.Join(t.TempDir(), "file")); err == nil {
		t.Error("placed in another directory")
	}
	if err := Place(temp, path); err != nil {
		t.Fatal(err)
	}
	holds(path, "first")
	if _, err := os.Lstat(temp); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the temporary file stayed: %v", err)
	}
	write(temp, "second")
	if err := Place(temp, path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over a file: %v", err)
	}
	holds(path, "first")
	holds(temp, "second")
}
