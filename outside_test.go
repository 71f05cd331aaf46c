package hallmark_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/e2e/built"
	"github.com/hallmark-mcp/hallmark/e2e/npmtest"
	"github.com/hallmark-mcp/hallmark/internal/registry/client"
	"github.com/hallmark-mcp/hallmark/internal/registry/servertest"
)

// TestOutsideModule builds and runs a program of another module, which verifies a server.json,
// pins and runs a server, and audits a log. The compiler refuses it what is internal.
func TestOutsideModule(t *testing.T) {
	program := buildOutside(t)
	base := t.TempDir()
	t.Cleanup(func() { makeWritable(base) })
	npm, err := npmtest.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(npm.Close)
	if err := npm.Publish(
		npmtest.Package{Name: "notes", Version: "1.0.0",
			Manifest: map[string]any{"mcpName": "io.github.acme/notes"}}); err != nil {
		t.Fatal(err)
	}
	document := serverDocument(npm)
	registry, log := servertest.ServeLog(t, nil)
	if _, err := (&client.Client{Base: registry.URL}).Publish(t.Context(), document, ""); err != nil {
		t.Fatal(err)
	}
	built.Into(t, filepath.Join(base, "puppet"), "e2e/puppet")
	writeFiles(t, base, map[string]string{
		"server.json":   string(document),
		"authority.pem": string(npm.Authority()),
		"project/hallmark.toml": "manifest_version = 1\n[providers.mcp.calculator]\ncommand = \"../puppet\"\n" +
			"arguments = [\"../surface.json\"]\n",
		"surface.json": puppetSurface,
	})
	run := exec.Command(program, filepath.Join(base, "server.json"), filepath.Join(base, "project"), "calculator",
		registry.URL, log.Key.VerifierKey)
	run.Env = append(npm.Environ(filepath.Join(base, "authority.pem")), "HALLMARK_HOME="+filepath.Join(base, "kept"),
		"HOME="+base,
		"PATH="+os.Getenv("PATH"), "SYSTEMROOT="+os.Getenv("SYSTEMROOT"))
	var out, problems bytes.Buffer
	run.Stdout, run.Stderr = &out, &problems
	if err := run.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, out.Bytes(), problems.Bytes())
	}
	for _, want := range []string{
		"^verify: npm:notes@1.0.0 [a-z_-]+ match$",
		"^pin: calculator shows tool:add  Adds two numbers\\.$",
		`^run: {.*"id":2,.*"result":`,
		"^run: exit code 0$",
		"^monitor: log.example.com: 1 entries, 1 records, 0 anomalies$",
	} {
		if !regexp.MustCompile("(?m)" + want).Match(out.Bytes()) {
			t.Errorf("no %q in\n%s%s", want, out.Bytes(), problems.Bytes())
		}
	}
}

// puppetSurface is what the puppet shows.
const puppetSurface = `{"tools/list": {"tools": [{"name": "add", "description": "Adds two numbers.", "inputSchema": ` +
	`{"type": "object"}}]}}`

// serverDocument is the server.json of the package notes, with its hash.
func serverDocument(npm *npmtest.Server) []byte {
	return fmt.Appendf(nil, `{"$schema":"https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
"name":"io.github.acme/notes","description":"Notes","version":"1.0.0",
"packages":[{"registryType":"npm","identifier":"notes","version":"1.0.0","transport":{"type":"stdio"}}],
"file_hashes":{"npm:notes@1.0.0":%q}}`, digest.FromBytes(npm.Tarball("notes", "1.0.0")))
}

// buildOutside builds testdata/outside in a module of its own, from the modules that this one has.
func buildOutside(t *testing.T) string {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	ours, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	// With all that this module requires, go reads no go.mod but those that building this module has read, and so
	// asks nobody.
	_, rest, _ := bytes.Cut(ours, []byte("\n")) // but its name
	files := map[string]string{
		"go.mod": fmt.Sprintf("module example.com/outside\n%s\nrequire %s v0.0.0\n\nreplace %s => %q\n",
			rest, modulePath, modulePath, filepath.ToSlash(here)),
	}
	for from, to := range map[string]string{"go.sum": "go.sum", "testdata/outside/main.go": "main.go"} {
		data, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		files[to] = string(data)
	}
	writeFiles(t, dir, files)
	program := filepath.Join(dir, "outside.exe")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir, build.Env = dir, append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=mod", "GOPROXY=off",
		"GOSUMDB=off", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// writeFiles writes files below dir.
func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// makeWritable undoes the read-only modes of a store, so that the directory can be removed.
func makeWritable(dir string) {
	filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			os.Chmod(path, 0o700)
		}
		return nil
	})
}
