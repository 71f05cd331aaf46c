package plugins

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/jsscan"
	"github.com/hallmark-mcp/hallmark/plugin"
)

// Whatever is done to what is remembered of scripts, a plugin that is refused stays refused: also by
// files that say of its scripts that they import nothing, and that are in order but for the key.
func TestRememberedIsNotBelieved(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "p")
	for name, content := range map[string]string{
		"mcp-plugin.json": `{"manifestVersion": "2", "name": "p", "version": "1.0.0", "entry": "dist/index.js"}`,
		"dist/index.js":   `require('fs')`, "dist/broken.js": `require('`,
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Hash(t.Context(), dir, HashOptions{Write: true}); err != nil {
		t.Fatal(err)
	}
	at := func(name string) *host.Host {
		home := filepath.Join(base, name)
		return &host.Host{Places: host.Places{Cache: filepath.Join(home, "cache"), State: filepath.Join(home, "state")},
			Now: time.Now}
	}
	h := at("home")
	refused := func(what string) {
		t.Helper()
		r, err := Verify(t.Context(), h, dir, Options{})
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		schemes := map[evidence.Scheme]int{}
		for _, f := range r.Verdict.Findings {
			if f.Class != evidence.OK {
				schemes[f.Evidence.Scheme]++
			}
		}
		if schemes[evidence.Permission] != 1 || schemes[evidence.Import] != 1 || r.Verdict.Allowed() {
			t.Errorf("%s: %v", what, r.Verdict.Err())
		}
	}
	refused("never seen")
	refused("seen before")
	files, err := filepath.Glob(filepath.Join(h.Places.Cache, "imports", "*"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	file := files[0]
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	// Another machine, whose scanner finds nothing in anything.
	other := at("other")
	source, err := Read(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]digest.Digest{}
	for path, content := range source.Bundle.Contents {
		sums[path] = digest.FromBytes(content)
	}
	blind := OpenImportCache(other.Places.Cache, other.Places.State, ImportScanner{Version: jsscan.Version(),
		Key:  func(path string, sum digest.Digest) ScriptKey { return jsscan.Key(path, sum) },
		Scan: func(string, []byte) ([]plugin.Import, error) { return nil, nil }})
	scan, done := blind.For("p", sums)
	for path, content := range source.Bundle.Contents {
		if found, err := scan(path, content); len(found) > 0 || err != nil {
			t.Fatal(found, err)
		}
	}
	done()
	forged, err := os.ReadFile(filepath.Join(other.Places.Cache, "imports", filepath.Base(file)))
	if err != nil {
		t.Fatal(err)
	}
	// On that machine itself they are believed, so that the test is one of the key.
	h = other
	if r, err := Verify(t.Context(), h, dir, Options{}); err != nil || !r.Verdict.Allowed() {
		t.Fatalf("the forged file has no effect where it was made: %v, %v", r.Verdict.Err(), err)
	}
	h = at("home")
	for what, data := range map[string][]byte{"forged": forged, "emptied": {}, "cut": whole[:len(whole)-1],
		"the MAC of ours, the records of theirs": slices.Concat(whole[:len("hallmark imports 1\n")+32],
			forged[len("hallmark imports 1\n")+32:])} {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		refused(what)
	}
}

// What a plugin's script imports is found whether or not it can be remembered.
func TestNothingIsRemembered(t *testing.T) {
	base := t.TempDir()
	file := filepath.Join(base, "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	h := &host.Host{Places: host.Places{Cache: file, State: file}, Now: time.Now}
	scans := newScans(h)
	content := []byte(`require('fs')`)
	for range 2 {
		scan, done := scans("p", map[string]digest.Digest{"a.js": digest.FromBytes(content)})
		found, err := scan("a.js", content)
		if done(); err != nil || len(found) != 1 || found[0].Specifier != "fs" {
			t.Errorf("found %v, %v", found, err)
		}
	}
}
