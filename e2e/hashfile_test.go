//go:build unix

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/built"
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
	node, dir := installNode(t, typescriptSDK)
	checkClient(t, dir, node, "hashfile_client.mjs")
}

// TestHashfileInspector drives hashfile-mcp with the command line of the official Inspector. It
// needs the network, for npm.
func TestHashfileInspector(t *testing.T) {
	node, dir := installNode(t, inspectorCLI)
	checkClient(t, dir, node, "hashfile_inspector.mjs")
}

// TestHashfilePython drives hashfile-mcp with the official Python SDK's client, in each protocol
// version that it speaks. It needs the network, for uv.
func TestHashfilePython(t *testing.T) {
	needsPython(t)
	dir := t.TempDir()
	python := filepath.Join(dir, "venv", "bin", "python")
	for _, args := range [][]string{{"venv", "--quiet", filepath.Join(dir, "venv")},
		{"pip", "install", "--quiet", "--only-binary", ":all:", "--python", python, pythonSDK}} {
		if out, err := exec.CommandContext(t.Context(), "uv", args...).CombinedOutput(); err != nil {
			lackClient(t, err, out)
		}
	}
	checkClient(t, dir, python, "hashfile_client.py")
}

// lackClient ends a test whose client cannot be had, which CI=true demands.
func lackClient(t *testing.T, err error, out []byte) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Skipf("%v", err)
}

// installNode installs packages of npm in a new directory, and returns the program node and the directory.
func installNode(t *testing.T, names ...string) (node, dir string) {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		lackClient(t, err, nil)
	}
	dir = t.TempDir()
	args := []string{"install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", "--prefix", dir}
	install := exec.CommandContext(t.Context(), "npm", append(args, names...)...)
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		lackClient(t, err, out)
	}
	return node, dir
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
		write(t, filepath.Join(root, name, "f"), "one\ntwo\n")
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
	data, err := os.ReadFile("../cmd/hashfile-mcp/server.json")
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
