//go:build unix

package script

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestScriptsSayWhy requires a comment at the head of each script, that no two have one name, and that the package in
// whose testdata/script it stands runs it.
func TestScriptsSayWhy(t *testing.T) {
	scripts, names := Find(t, filepath.Join("..", "..")), map[string]bool{}
	if len(scripts) < 100 {
		t.Fatalf("%d scripts", len(scripts))
	}
	for _, name := range scripts {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(data), "# ") {
			t.Errorf("%s does not begin with a comment that says why it is there", name)
		}
		room, ok := strings.CutSuffix(filepath.ToSlash(filepath.Dir(name)), "/testdata/script")
		runner, err := os.ReadFile(filepath.Join(room, "scripts_test.go"))
		if !ok || err != nil || !strings.Contains(string(runner), "script.Run(t)") {
			t.Errorf("%s is run by nobody: %v", name, err)
		}
		if names[filepath.Base(name)] {
			t.Errorf("%s: another package has a script of this name", name)
		}
		names[filepath.Base(name)] = true
	}
}

// TestCommandNames keeps this list and testscript's own apart: testscript prefers its own
// without a word, and its "stop" would end a script there and pass it.
func TestCommandNames(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(commands)) {
		if slices.Contains(
			[]string{"cd", "chmod", "cmp", "cmpenv", "cp", "env", "exec", "exists", "grep", "kill", "mkdir", "mv", "rm",
				"skip", "stderr", "stdin", "stdout", "stop", "symlink", "ttyin", "ttyout", "unix2dos", "unquote",
				"wait"}, name) {
			t.Errorf("%s hides a command of testscript", name)
		}
	}
}
