package pypi

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestBillOfMaterials looks for each wheel of a real closure in both documents.
// Its file comes before that of TestPythonServers, which changes the files that both read.
func TestBillOfMaterials(t *testing.T) {
	w := pinnedWithUV(t)
	dir := t.TempDir() // with this one server: others are declared and not locked
	if err := os.CopyFS(dir, os.DirFS(w.dir)); err != nil {
		t.Fatal(err)
	}
	config, err := os.ReadFile(filepath.Join(dir, "hallmark.toml"))
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.SplitAfterN(string(config), "[providers", 3)
	config = []byte(strings.TrimSuffix(parts[0]+parts[1], "[providers") + "\n")
	if err := os.WriteFile(filepath.Join(dir, "hallmark.toml"), config, 0o600); err != nil {
		t.Fatal(err)
	}
	closure, err := os.ReadFile(filepath.Join(dir, "hallmark.closures", "sqlite.json"))
	if err != nil {
		t.Fatal(err)
	}
	wheels := regexp.MustCompile(`"([^"]+\.whl)": "sha256:([0-9a-f]{64})"`).FindAllStringSubmatch(string(closure), -1)
	if len(wheels) < 20 {
		t.Fatalf("only %d wheels", len(wheels))
	}
	for _, format := range []string{"cyclonedx", "spdx"} {
		code, document, messages := w.run(t, w.bin, "sbom", "--format", format, "--project", dir)
		if _, again, _ := w.run(t, w.bin, "sbom", "--format", format, "--project", dir); code != 0 || again != document {
			t.Fatalf("%s: exit code %d, the same twice: %v\n%s", format, code, again == document, messages)
		}
		if !strings.Contains(document, `"pkg:pypi/mcp-server-sqlite@`) {
			t.Errorf("%s: the server's package is not in it", format)
		}
		for _, m := range wheels {
			if !strings.Contains(document, m[1]) || !strings.Contains(document, `"`+m[2]+`"`) {
				t.Errorf("%s: %s with %s is not in it", format, m[1], m[2])
			}
		}
	}
}
