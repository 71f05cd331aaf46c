package plugins

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// What changes after it was compared is not copied as if it had not: the copy is compared once more.
func TestCopiedModules(t *testing.T) {
	for name, change := range map[string]string{"unchanged": "good", "changed": "evil", "longer": "good and evil", "shorter": "g"} {
		dir, staging := t.TempDir(), t.TempDir()
		for path, text := range map[string]string{
			"mcp-plugin.json": `{"manifestVersion": "2", "name": "p", "version": "1.0.0", "entry": "dist/index.js",
				"dependenciesPolicy": "external-allowed", "externalDependencies": [{"name": "a", "version": "1.0.0"}]}`,
			"dist/index.js": "require('a')", "node_modules/a/index.js": "good",
		} {
			for _, to := range []string{dir, staging} {
				if to == staging && path == "node_modules/a/index.js" {
					continue
				}
				file := filepath.Join(to, filepath.FromSlash(path))
				if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		p, err := readInstalled(t.Context(), dir)
		if err != nil || len(p.modules) != 1 {
			t.Fatal(p, err)
		}
		if err := os.WriteFile(filepath.Join(dir, "node_modules", "a", "index.js"), []byte(change), 0o600); err != nil {
			t.Fatal(err)
		}
		err = (&lockedModules{dir, p.modules, p.files}).copyTo(t.Context(), staging)
		// What became longer is copied as far as it was listed, which is what was compared.
		if held := name == "unchanged" || name == "longer"; (err == nil) != held ||
			!held && evidence.ClassOf(err) != evidence.Integrity {
			t.Errorf("%s: %v", name, err)
		}
	}
}
