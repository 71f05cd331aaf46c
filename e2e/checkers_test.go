package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// checked is the last line of a checker that agrees with every vector it read.
var checked = regexp.MustCompile(`(?m)^[1-9][0-9]* vectors ok\s*\z`)

// interpreters runs a checker by its extension; both languages' standard
// libraries suffice.
var interpreters = map[string]string{".py": "python3", ".mjs": "node"}

// TestCheckers runs every check_*.py and check_*.mjs: programs written from
// spec/*.md alone, which recompute spec/*.json in another language.
func TestCheckers(t *testing.T) {
	var files []string
	for ext := range interpreters {
		found, err := filepath.Glob("check_*" + ext)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		t.Fatal("no checker found beside this test")
	}
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			interpreter, err := exec.LookPath(interpreters[filepath.Ext(file)])
			if err != nil {
				if os.Getenv("CI") == "true" {
					t.Fatal(err)
				}
				t.Skipf("%v; 'make test' installs it", err)
			}
			out, err := exec.CommandContext(t.Context(), interpreter, file).CombinedOutput()
			if err != nil || !checked.Match(out) {
				t.Errorf("%s disagrees or did not finish: %v\n%s", file, err, out)
			}
		})
	}
}
