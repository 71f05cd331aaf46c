package kind

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
)

// TestNamesIn: a file is found wherever an argument may name it.
func TestNamesIn(t *testing.T) {
	for word, want := range map[string]string{
		"x.js": "x.js", "--load=./x.js": "./x.js", "-fx.awk": "x.awk", "@x.jar": "x.jar", "EXEC:./x.sh": "./x.sh",
		"a.jar:b.jar": "b.jar", "a.py,b.py": "b.py",
		"node x.js": "x.js", "alias.x=!./x": "./x", "sh -c './x'": "./x", `BEGIN{system("./x")}`: "./x",
		"--file=a b.js": "a b.js", "a b.js": "a b.js", "file=x.js": "x.js",
	} {
		if got := argumentNames(word); !slices.Contains(got, want) {
			t.Errorf("%q names %q, not %q", word, got, want)
		}
	}
}

// TestCode: what is code is told by its mode, its beginning and its name.
func TestCode(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		text string
		mode os.FileMode
		want bool
	}{
		"a.js": {"", 0o644, true}, "A.PY": {"", 0o644, true}, "script": {"#!/bin/sh", 0o644, true},
		"elf": {"\x7fELF", 0o644, true}, "run": {"x", 0o755, runtime.GOOS != "windows"},
		"notes.sqlite": {"SQLite", 0o644, false}, "config.json": {"{}", 0o644, false}, "empty": {"", 0o644, false},
	} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(c.text), c.mode); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(file)
		if err != nil || isCode(file, info) != c.want {
			t.Errorf("%s: %v %v", name, !c.want, err)
		}
	}
}
