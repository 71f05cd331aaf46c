package e2e

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// TestPlatformsDocument: docs/platforms.md names each file that holds what the program does where
// the system offers less, by its package's directory or, for one whose name is its own, by that.
func TestPlatformsDocument(t *testing.T) {
	page, err := os.ReadFile("../docs/platforms.md")
	if err != nil {
		t.Fatal(err)
	}
	err = fs.WalkDir(os.DirFS(".."), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name == "e2e" || name == "bench" || name != "." && strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir // helpers of tests, and what is not ours
		case !strings.HasSuffix(name, "_other.go"):
			return nil
		}
		short := strings.TrimPrefix(name, "internal/")
		if !strings.Contains(string(page), "`"+short+"`") && !strings.Contains(string(page), "`"+path.Base(name)+"`") {
			t.Errorf("%s is not in docs/platforms.md", name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
