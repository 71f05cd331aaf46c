package tree

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestWalk(t *testing.T) {
	good := fstest.MapFS{
		"a.txt":     {Data: []byte("a")},
		"a/b":       {Data: []byte("bb"), Mode: 0o755},
		"a-":        {Data: nil, Mode: 0o444},
		"a/B":       {Data: []byte("B"), Mode: 0o010},
		"empty/dir": {Mode: fs.ModeDir | 0o755},
	}
	files, err := Walk(good, Limits{})
	want := []File{{"a-", 0, false}, {"a.txt", 1, false}, {"a/B", 1, true}, {"a/b", 2, true}}
	if err != nil || !slices.Equal(files, want) {
		t.Fatalf("got %v, %v", files, err)
	}

	for name, c := range map[string]struct {
		path string
		mode fs.FileMode
		kind string
	}{
		"link":      {"x/link", fs.ModeSymlink | 0o777, "a symbolic link"},
		"fifo":      {"x/pipe", fs.ModeNamedPipe, "a named pipe"},
		"socket":    {"x/sock", fs.ModeSocket, "a socket"},
		"device":    {"x/null", fs.ModeDevice | fs.ModeCharDevice, "a device"},
		"irregular": {"x/odd", fs.ModeIrregular, "not a regular file"},
		"newline":   {"x/a\nb", 0, "a name that a tree cannot hold"},
		"backslash": {`x/a\b`, 0, "a name that a tree cannot hold"},
		"del":       {"x/\x7f", 0, "a name that a tree cannot hold"},
		"c1":        {"x/\u0085", 0, "a name that a tree cannot hold"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Walk(fstest.MapFS{"ok": {}, c.path: {Mode: c.mode}}, Limits{})
			var e *EntryError
			if !errors.As(err, &e) || e.Path != c.path || e.Kind != c.kind {
				t.Fatalf("got %v", err)
			}
			if strings.ContainsAny(err.Error(), "\n\x7f\u0085") {
				t.Errorf("%q is not escaped", err)
			}
		})
	}

	for name, l := range map[string]Limits{"files": {Files: 6}, "bytes": {Bytes: 3}, "depth": {Depth: 1}} {
		if _, err := Walk(good, l); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Walk(good, Limits{Files: 7, Bytes: 4, Depth: 2}); err != nil {
		t.Error("exactly at the limits:", err)
	}
}

// On a real file system names can be any bytes.
func TestWalkDirectory(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/bad\xff", nil, 0o600); err != nil {
		t.Skip(err)
	}
	if err := os.Symlink("/nowhere", dir+"/z"); err != nil {
		t.Fatal(err)
	}
	os.WriteFile(dir+"/run", []byte("#!"), 0o700)
	files, refused, err := Scan(os.DirFS(dir), Limits{})
	if err != nil || len(files) != 1 || !files[0].Exec || len(refused) != 2 || refused[0].Path != "bad\xff" ||
		refused[1].Path != "z" {
		t.Fatal(files, refused, err)
	}
}

func TestCheckPath(t *testing.T) {
	for _, p := range []string{"a", "a/b", ".a", "a b", "é/日本", "a..b", "...", "-", "a:b",
		strings.Repeat("x", MaxPath)} {
		if err := CheckPath(p); err != nil {
			t.Error(err)
		}
	}
	for _, p := range []string{"", ".", "..", "/", "/a", "a/", "a//b", "a/./b", "../a", "a/..", "a\x00b", "a\tb",
		"\x1b[0m", "a\\b", "\xff", "a\u0080", strings.Repeat("x", MaxPath+1)} {
		if err := CheckPath(p); !errors.Is(err, ErrPath) {
			t.Errorf("%q: %v", p, err)
		}
	}
}
