package hallmark

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/hallmark-mcp/hallmark/project"
)

// TestNamesIn: a file is found wherever an argument may name it.
func TestNamesIn(t *testing.T) {
	for word, want := range map[string]string{
		"x.js": "x.js", "--load=./x.js": "./x.js", "-fx.awk": "x.awk", "@x.jar": "x.jar", "EXEC:./x.sh": "./x.sh", "a.jar:b.jar": "b.jar", "a.py,b.py": "b.py",
		"node x.js": "x.js", "alias.x=!./x": "./x", "sh -c './x'": "./x", `BEGIN{system("./x")}`: "./x", "--file=a b.js": "a b.js", "a b.js": "a b.js", "file=x.js": "x.js",
	} {
		if got := namesIn(word); !slices.Contains(got, want) {
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
		"a.js": {"", 0o644, true}, "A.PY": {"", 0o644, true}, "script": {"#!/bin/sh", 0o644, true}, "elf": {"\x7fELF", 0o644, true}, "run": {"x", 0o755, runtime.GOOS != "windows"},
		"notes.sqlite": {"SQLite", 0o644, false}, "config.json": {"{}", 0o644, false}, "empty": {"", 0o644, false},
	} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(c.text), c.mode); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(file)
		if err != nil || code(file, info) != c.want {
			t.Errorf("%s: %v %v", name, !c.want, err)
		}
	}
}

// TestSteersLoading: an entry of a client that sets such a variable is not shown as guarded.
func TestSteersLoading(t *testing.T) {
	declared := project.Server{Variables: []string{"LUA_INIT", "DOTNET_STARTUP_HOOKS", "GLIBC_TUNABLES", "NOTES_KEY"}}
	for name, want := range map[string]bool{"LUA_INIT": false, "DOTNET_STARTUP_HOOKS": false, "GLIBC_TUNABLES": false, "NOTES_KEY": true} {
		if allowedVariable(declared, name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}
