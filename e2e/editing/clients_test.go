//go:build unix

package editing

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/built"
	"github.com/hallmark-mcp/hallmark/e2e/world"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// The official clients that drive the editing server, each with its version.
const (
	typescriptSDK = "@modelcontextprotocol/sdk@1.32.2"
	inspectorCLI  = "@modelcontextprotocol/inspector-cli@0.15.0" // the last one for the Node that is everywhere
	pythonSDK     = "mcp==2.3.0"
)

// TestHashfileTypeScript drives hashfile-mcp with the official TypeScript SDK's client, in
// each protocol version that it speaks. It needs the network, for npm.
func TestHashfileTypeScript(t *testing.T) {
	t.Parallel()
	node, dir := world.InstallNode(t, typescriptSDK)
	checkClient(t, dir, node, "hashfile_client.mjs")
}

// TestHashfileInspector drives hashfile-mcp with the command line of the official Inspector. It
// needs the network, for npm.
func TestHashfileInspector(t *testing.T) {
	t.Parallel()
	node, dir := world.InstallNode(t, inspectorCLI)
	checkClient(t, dir, node, "hashfile_inspector.mjs")
}

// TestHashfilePython drives hashfile-mcp with the official Python SDK's client, in each protocol
// version that it speaks. It needs the network, for uv.
func TestHashfilePython(t *testing.T) {
	t.Parallel()
	world.NeedsPython(t)
	dir := t.TempDir()
	python := filepath.Join(dir, "venv", "bin", "python")
	for _, args := range [][]string{{"venv", "--quiet", filepath.Join(dir, "venv")},
		{"pip", "install", "--quiet", "--only-binary", ":all:", "--python", python, pythonSDK}} {
		if out, err := exec.CommandContext(t.Context(), "uv", args...).CombinedOutput(); err != nil {
			world.Lack(t, err, out)
		}
	}
	checkClient(t, dir, python, "hashfile_client.py")
}

// checkClient runs the script of a client, in the directory where the client is installed, against a server.
func checkClient(t *testing.T, dir, program, script string) {
	t.Helper()
	server := filepath.Join(dir, "hashfile-mcp")
	built.Into(t, server, "cmd/hashfile-mcp")
	script, err := filepath.Abs(script)
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(dir, "root")
	for _, name := range []string{"a", "b"} {
		if err := os.MkdirAll(filepath.Join(root, name), 0o700); err != nil {
			t.Fatal(err)
		}
		world.Write(t, filepath.Join(root, name, "f"), "one\ntwo\n")
	}
	cmd := exec.CommandContext(t.Context(), program, script, root, server, "--root", root)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HALLMARK_HOME="+filepath.Join(dir, "home"))
	out, err := cmd.CombinedOutput()
	if err != nil || !regexp.MustCompile(`(?m)^[1-9][0-9]* (versions|tools) ok\s*\z`).Match(out) {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestHashfileDocument reads the server's own server.json.
func TestHashfileDocument(t *testing.T) {
	data, err := os.ReadFile("../../cmd/hashfile-mcp/server.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := serverjson.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, issue := range doc.Validate() {
		if issue.Severity == serverjson.SeverityError {
			t.Error(issue)
		}
	}
}
