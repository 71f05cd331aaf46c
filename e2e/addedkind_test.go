package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/built"
)

// TestAddedKind adds a kind of server: two files, and a line in each of two tables. With no other change Hallmark
// pins it, checks it, runs it, upgrades it, and refuses bytes that are not the locked ones.
func TestAddedKind(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles Hallmark with more")
	}
	if runtime.GOOS == "windows" {
		t.Skip("the demo's programs have no extension")
	}
	packages := t.TempDir()
	install := func(version, tail string) {
		dir := filepath.Join(packages, "notes", version)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		built.Into(t, filepath.Join(dir, "server"), "e2e/puppet")
		appendTo(t, filepath.Join(dir, "server"), tail)
	}
	install("1", "")
	t.Setenv("DEMO_PACKAGES", packages)
	g := &guarded{t: t, hallmark: build(t, "hallmark"), dir: t.TempDir(), home: t.TempDir()}
	g.show(honest)
	declare := func(name string) {
		g.write("hallmark.toml", fmt.Sprintf("manifest_version = 1\n[providers.mcp.notes]\ncommand = \"demo-run\"\n"+
			"arguments = [%q, %q]\n", name, filepath.Join(g.dir, "shown.json")))
	}
	declare("notes")
	g.expect(1, "demo-run", "pin", "--yes")

	g.hallmark = buildWithMore(t)
	g.expect(0, "demo:notes@1", "pin", "--yes")
	lock, err := os.ReadFile(filepath.Join(g.dir, "hallmark.lock"))
	if err != nil || !strings.Contains(string(lock), `"source": "demo"`) {
		t.Fatalf("%v: the lock is\n%s", err, lock)
	}
	g.expect(0, "", "check", "--offline")
	s := g.converse("2025-06-18", "run", "notes")
	a := s.ask(`tools/call {"name":"echo","arguments":{"text":"hello"}}`)
	if !strings.Contains(string(a.Result), "hello") {
		t.Errorf("echo answers %s", a.Result)
	}
	s.in.Close()
	s.cmd.Wait()

	install("2", "x")
	g.expect(0, "2", "outdated")
	g.expect(0, "demo:notes@2", "upgrade", "--yes", "notes")
	g.expect(0, "", "check", "--offline")

	// Who never saw this machine must approve the entry.
	mine := g.home
	g.home = t.TempDir()
	g.expect(4, "approv", "run", "notes")
	g.home = mine

	appendTo(t, filepath.Join(packages, "notes", "2", "server"), "y")
	g.expect(3, "demo:notes@2", "check", "--offline")
	g.expect(3, "demo:notes@2", "run", "notes")

	// Another package than the locked one is not started.
	declare("other")
	g.expect(4, "launch mismatch", "run", "notes")
}

// expect runs hallmark, and wants its exit code and a text that it prints.
func (g *guarded) expect(code int, text string, args ...string) {
	g.t.Helper()
	if got, out := g.run(args...); got != code || !strings.Contains(out, text) {
		g.t.Errorf("hallmark %s: exit code %d, want %d and %q\n%s", strings.Join(args, " "), got, code, text, out)
	}
}

// appendTo appends text to a program, which runs as before.
func appendTo(t *testing.T, name, text string) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}
