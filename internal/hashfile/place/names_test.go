package place

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// openTree makes files, and directories for names that end in a slash, in a new directory.
func openTree(t *testing.T, names ...string) (string, *os.Root) {
	t.Helper()
	at := t.TempDir()
	for _, name := range names {
		path := filepath.Join(at, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		if strings.HasSuffix(name, "/") {
			must(t, os.MkdirAll(path, 0o755))
		} else {
			must(t, os.WriteFile(path, nil, 0o644))
		}
	}
	dir, err := os.OpenRoot(at)
	must(t, err)
	t.Cleanup(func() { dir.Close() })
	return at, dir
}

func TestElements(t *testing.T) {
	for path, want := range map[string]string{"": "", "/": "", ".": "", "a": "a", "/a//b/./c/": "a b c", "../a/..": ".. a ..",
		"a. /...": "a.  ..."} {
		if got := strings.Join(SplitPath(path), " "); got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}

func TestOnDisk(t *testing.T) {
	_, dir := openTree(t, "Name", "other")
	for _, name := range []string{"Name", "other", "name"} {
		info, err := dir.Lstat(name)
		if err != nil {
			continue // where letter case counts, "name" is no file
		}
		if got := onDisk(dir, name, info); got != "Name" && got != "other" || !strings.EqualFold(got, name) {
			t.Errorf("%q is %q on disk", name, got)
		}
	}
}

func TestHolds(t *testing.T) {
	at, dir := openTree(t, "file", "dir/")
	must(t, os.Symlink("nowhere", filepath.Join(at, "link")))
	holds := Holds(dir)
	for name, want := range map[string]bool{"file": true, "dir": true, "link": true, "none": false} {
		if holds(name) != want {
			t.Errorf("holds %s: %v", name, !want)
		}
	}
}

// TestIsGit: a directory is one of git with three or two names, and is made one by the last of them.
func TestIsGit(t *testing.T) {
	whole := []string{"HEAD", "objects/", "refs/"}
	for _, parts := range [][]string{whole, {"HEAD", "commondir"}} {
		_, dir := openTree(t, parts...)
		if !IsGit(Holds(dir)) {
			t.Errorf("%q are none", parts)
		}
		if makesGit(dir, "config") {
			t.Errorf("config makes one of %q", parts)
		}
		for i, last := range parts {
			_, dir := openTree(t, slices.Delete(slices.Clone(parts), i, i+1)...)
			if IsGit(Holds(dir)) {
				t.Errorf("%q without %s is one", parts, last)
			}
			last = strings.TrimSuffix(last, "/")
			for _, name := range []string{last, strings.ToLower(last), strings.ToUpper(last), last + ".", last + "\u200b",
				last + "::$DATA"} {
				if !makesGit(dir, name) {
					t.Errorf("%q does not make one of %q", name, parts)
				}
			}
			if makesGit(dir, "x"+last) {
				t.Errorf("x%s makes one of %q", last, parts)
			}
		}
	}
}

func TestIsWorkTree(t *testing.T) {
	for name, want := range map[string]bool{".git": true, ".git/HEAD": true, ".git/config": false, "file": false} {
		at, dir := openTree(t, name, "a/b/file")
		if isWorkTree(dir.Stat) != want {
			t.Errorf("with %s: %v", name, !want)
		}
		if got := inWorkTree(filepath.Join(at, "a/b/file")); got != want {
			t.Errorf("in a directory with %s: %v", name, got)
		}
	}
	if isWorkTree(func(string) (fs.FileInfo, error) { return nil, fs.ErrPermission }) {
		t.Error("what cannot be read is one")
	}
}
