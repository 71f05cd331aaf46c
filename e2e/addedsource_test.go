package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/hallmark-mcp/hallmark/archive"
	"github.com/hallmark-mcp/hallmark/facet"
	"github.com/hallmark-mcp/hallmark/tree"
)

// TestAddedSource adds a source of facets: two files, and a line in each of two tables. With no other change Hallmark
// locks a facet of it, checks it, installs it, upgrades it, and refuses bytes that are not the locked ones.
func TestAddedSource(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles Hallmark with more")
	}
	g := &guarded{t: t, hallmark: build(t, "hallmark"), dir: t.TempDir(), home: t.TempDir()}
	if err := os.Mkdir(filepath.Join(g.dir, ".claude"), 0o700); err != nil {
		t.Fatal(err)
	}
	wave := func(text string) {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(g.dir, ".claude", "commands", "wave.md"))
		if err != nil || !strings.Contains(string(data), text) {
			t.Errorf("%v: the installed command is %q, want %q", err, data, text)
		}
	}
	g.pack("1.0.0", "Wave once.")
	const declared = "manifest_version = 1\n[facets]\nkit = { path = \"kit.facet\" }\n"
	g.write("hallmark.toml", declared)
	g.expect(2, "kit.facet", "install")

	g.hallmark = buildWithMore(t)
	g.expect(0, "kit@1.0.0  (archive kit.facet)", "install")
	wave("Wave once.")
	lock, err := os.ReadFile(filepath.Join(g.dir, "hallmark.lock"))
	if err != nil || !strings.Contains(string(lock), `"kind": "archive"`) {
		t.Fatalf("%v: the lock is\n%s", err, lock)
	}
	g.expect(0, "", "check", "--offline")
	g.expect(0, "unchanged", "install", "--frozen", "--offline")

	// The same version with other bytes, and another version, are not what is locked.
	g.pack("1.0.0", "Wave twice.")
	g.expect(3, "kit@1.0.0", "install")
	g.pack("1.1.0", "Wave twice.")
	g.expect(3, "kit@1.1.0", "install")
	wave("Wave once.")

	g.expect(0, "1.0.0 -> 1.1.0", "outdated")
	g.expect(0, "1.1.0", "upgrade", "--yes", "kit")
	wave("Wave twice.")
	g.expect(0, "", "check", "--offline")

	// The archive says what a facet is called that is declared without a name.
	g.expect(0, "removed", "remove", "kit")
	g.expect(0, "kit@1.1.0", "add", "--path", "kit.facet")
	g.expect(0, "", "check", "--offline")
}

// pack writes kit.facet, a facet with a command.
func (g *guarded) pack(version, text string) {
	g.t.Helper()
	contents := fstest.MapFS{
		"facet.json": {Data: []byte(`{"name":"kit","version":"` + version +
			`","commands":{"wave":{"description":"Waves."}}}`)},
		"commands/wave.md": {Data: []byte(text + "\n")},
	}
	var files []tree.File
	for path, file := range contents {
		files = append(files, tree.File{Path: path, Size: int64(len(file.Data))})
	}
	var packed strings.Builder
	if _, err := facet.Pack(g.t.Context(), &packed, files, tree.OpenFS(contents), archive.Limits{}); err != nil {
		g.t.Fatal(err)
	}
	g.write("kit.facet", packed.String())
}
