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

// typescriptSDK is the client that TestHashfileTypeScript installs.
const typescriptSDK = "@modelcontextprotocol/sdk@1.32.2"

// TestHashfileTypeScript drives hashfile-mcp with the official TypeScript SDK's client, in
// each protocol version that it speaks. It needs the network, for npm.
func TestHashfileTypeScript(t *testing.T) {
	dir := t.TempDir()
	node := installPackage(t, dir, typescriptSDK)
	server := filepath.Join(dir, "hashfile-mcp")
	built.Into(t, server, "cmd/hashfile-mcp")
	script, err := filepath.Abs("hashfile_client.mjs")
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
	cmd := exec.CommandContext(t.Context(), node, script, root, server, "--root", root)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HALLMARK_HOME="+filepath.Join(dir, "home"))
	out, err := cmd.CombinedOutput()
	if err != nil || !regexp.MustCompile(`(?m)^[1-9][0-9]* versions ok\s*\z`).Match(out) {
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
