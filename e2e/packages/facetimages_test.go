package packages

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/world"
)

// TestFacetImages installs a facet that declares a server by its image, from a real
// registry: the tag, which looks like a version, is a label and nothing else. It reaches
// nothing else.
func TestFacetImages(t *testing.T) {
	t.Parallel()
	w, tools := world.New(t), world.Tools(t)
	r := startImages(t, w, false)
	digest, err := pushPlatforms(t, r, "acme/notes", "v1.5.0", "linux/amd64", "linux/arm64/v8").Digest()
	if err != nil {
		t.Fatal(err)
	}
	pushPlatforms(t, r, "acme/notes", "v1.6.0", "linux/amd64") // newer, were it a version
	name := r.Host + "/acme/notes"
	p := newImageProject(t, w, tools, name)
	p.write(t, "hallmark.toml",
		"manifest_version = 1\n[facets]\nkit = { path = \"kit\" }\n[adapters]\ntargets = [\"claude-code\"]\n")
	if err := os.Mkdir(filepath.Join(p.dir, "kit"), 0o700); err != nil {
		t.Fatal(err)
	}
	p.write(t, "kit/facet.json",
		`{"name": "kit", "version": "1.0.0", "servers": {"notes": {"image": "`+name+`:v1.5.0"}}}`)

	// Nothing is locked without consent.
	if code, out := p.run(t, p.bin, "install"); code != 4 || !strings.Contains(out, "nobody consented") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if code, out := p.run(t, p.bin, "install", "--yes"); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	image, locked, platforms := p.lock(t)
	if image != name+":v1.5.0" || locked != digest.String() || len(platforms) != 2 {
		t.Errorf("the lock has %s %s %v", image, locked, platforms)
	}
	lock, err := os.ReadFile(filepath.Join(p.dir, "hallmark.lock"))
	if err != nil || strings.Count(string(lock), `"api_surface": "sha256:`) != 1 {
		t.Errorf("no api_surface is locked: %v\n%s", err, lock)
	}
	started := func(digest string) {
		t.Helper()
		code, out := p.run(t, p.client, "-call", "args", p.bin, "run", "notes")
		if code != 0 || !strings.Contains(out, "call args: -i --rm "+name+"@"+digest) {
			t.Errorf("exit code %d\n%s", code, out)
		}
	}
	started(locked)

	t.Run("tag moved", func(t *testing.T) {
		moved, err := pushPlatforms(t, r, "acme/notes", "v1.5.0", "linux/amd64").Digest()
		if err != nil {
			t.Fatal(err)
		}
		p.write(t, "run",
			`{"tools/list": {"tools": [{"name": "args", "description": "Say all arguments.", "inputSchema": {"type": `+
				`"object"}}]}}`)
		// A locked install does not ask where the tag leads.
		for _, args := range [][]string{{"install"}, {"install", "--frozen"}} {
			if code, out := p.run(t, p.bin, args...); code != 0 {
				t.Errorf("%v: exit code %d\n%s", args, code, out)
			}
		}
		if _, now, _ := p.lock(t); now != locked {
			t.Errorf("the lock has %s", now)
		}
		code, out := p.run(t, p.bin, "upgrade")
		if _, now, _ := p.lock(t); code != 4 || now != locked {
			t.Errorf("without consent: exit code %d, %s\n%s", code, now, out)
		}
		code, out = p.run(t, p.bin, "upgrade", "--yes")
		for _, want := range []string{"  new         oci:" + name + "@" + moved.String(), "oci mismatch",
			"surface of notes: surface mismatch", "description changed"} {
			if !strings.Contains(out, want) {
				t.Errorf("upgrade does not say %q", want)
			}
		}
		if code != 0 {
			t.Fatalf("exit code %d\n%s", code, out)
		}
		if _, now, _ := p.lock(t); now != moved.String() {
			t.Errorf("the lock has %s", now)
		}
		started(moved.String())
	})
}
