package fetch

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/forge"
	"github.com/hallmark-mcp/hallmark/evidence"
)

// TestCheckTarball: a file that is there twice is taken if it is equal; else the command that fetches
// it ends with the exit code of bytes that differ.
func TestCheckTarball(t *testing.T) {
	for content, class := range map[string]evidence.Class{"1": evidence.OK, "2": evidence.Integrity} {
		tar := forge.Tar{Gzip: true, End: make([]byte, 1024), Members: []*forge.Member{
			forge.NewMember("package/dist/index.js", '0', []byte("1")),
			forge.NewMember("package/./dist/index.js", '0', []byte(content))}}
		name := filepath.Join(t.TempDir(), "tarball")
		if err := os.WriteFile(name, tar.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := CheckTarball(name); evidence.ClassOf(err) != class {
			t.Errorf("%s: %v", content, err)
		}
	}
}
