//go:build unix

package plugins

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/e2e/world"
)

// TestPluginExternals needs the network. Real packages of npm, with what they depend on, are installed
// beside a plugin at exactly the versions of its manifest, run from there and from a host's copy, and are
// revalidated without a network; an install that is killed leaves nothing that a host would load.
func TestPluginExternals(t *testing.T) {
	t.Parallel()
	node := nodeProgram(t)
	hallmark := world.Build(t, "hallmark")
	dir := t.TempDir()
	t.Cleanup(func() { // a store is read-only
		exec.Command("chmod", "-R", "u+w", dir).Run()
	})
	if err := os.MkdirAll(filepath.Join(dir, "p", "dist"), 0o700); err != nil {
		t.Fatal(err)
	}
	world.Write(t, filepath.Join(dir, "p", "mcp-plugin.json"), `{"manifestVersion": "2", "name": "p", "version": "1.0.0",
		"entry": "dist/index.js", "dependenciesPolicy": "external-allowlist",
		"externalDependencies": [
			{"name": "debug", "version": "4.3.6"},
			{"name": "is-odd", "version": "3.0.1", "integrity": "sha512-CQpnWPrDwmP1+SMHXZhtLtJv90yiyVfluGsX5iNCVkrhQtU3TQHsUWPG9wkdk9Lgd5yNpAg9jQEo90CBaXgWMA=="},
			{"name": "fsevents", "version": "2.3.3", "optional": true},
			{"name": "hallmark-test-no-such-package-here", "version": "1.0.0", "optional": true}]}`)
	world.Write(t, filepath.Join(dir, "p", "dist", "index.js"),
		`exports.x = require('is-odd')(7) && typeof require('debug')('a')`)
	world.Write(t, filepath.Join(dir, "allow.json"),
		`["debug", "is-odd", "fsevents", "hallmark-test-no-such-package-here"]`)
	command := func(args ...string) (*exec.Cmd, *bytes.Buffer) {
		out := new(bytes.Buffer)
		c := exec.CommandContext(t.Context(), hallmark, append([]string{"plugin"}, args...)...)
		c.Dir, c.Stdout, c.Stderr = dir, out, out
		c.Env = append(os.Environ(), "HALLMARK_HOME="+filepath.Join(dir, "home"), "PLUGIN_ALLOW_RUNTIME_DEPS=1")
		c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		return c, out
	}
	run := func(want int, args ...string) string {
		t.Helper()
		c, out := command(args...)
		if err := c.Run(); c.ProcessState == nil || c.ProcessState.ExitCode() != want {
			t.Fatalf("plugin %v: %v, want exit code %d\n%s", args, err, want, out)
		}
		return out.String()
	}
	install := []string{"install", "p", "--allowlist", "allow.json"}
	run(0, "hash", "p", "--write")
	run(4, "install", "p", "--allowlist", "allow.json", "--allow-runtime-deps=false")

	placed := filepath.Join(dir, "plugins", "p@1.0.0")
	killed := 0
	for after := 20 * time.Millisecond; after < 2*time.Second; after = after * 3 / 2 {
		c, out := command(install...)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- c.Wait() }()
		select {
		case err := <-ended:
			if err != nil {
				t.Fatal(err, out)
			}
		case <-time.After(after):
			syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
			<-ended
			killed++
		}
		if _, err := os.Lstat(placed); err == nil { // all of it, or nothing
			run(0, "revalidate", "--allowlist", "allow.json")
			break
		}
	}
	if killed == 0 {
		t.Error("no install was killed")
	}
	out := run(0, install...)
	for _, entry := range []string{"plugins", filepath.Join("home", "cache", "store", "staging")} {
		left, err := os.ReadDir(filepath.Join(dir, entry))
		for _, e := range left {
			if name := e.Name(); name != "p@1.0.0" && name != ".hallmark.lock" {
				t.Errorf("%s is left in %s", name, entry)
			}
		}
		if err != nil {
			t.Error(err)
		}
	}
	if !strings.Contains(out, "already") && !strings.Contains(out, "npm:hallmark-test-no-such-package-here@1.0.0, which is optional") {
		t.Errorf("nothing says what was left out:\n%s", out)
	}
	run(0, "revalidate", "--allowlist", "allow.json")
	run(0, "verify", placed, "--allowlist", "allow.json", "--copy-to", "copy")
	for _, at := range []string{placed, filepath.Join(dir, "copy")} {
		// is-odd 3 depends on is-number 6, debug on ms
		script := `const at = process.argv[1], v = n => require(at + '/node_modules/' + n + '/package.json').version;
			console.log(require(at + '/dist').x, v('debug'), v('is-odd'), v('is-number').split('.')[0], v('ms').split('.')[0])`
		out, err := exec.CommandContext(t.Context(), node, "-e", script, at).CombinedOutput()
		if err != nil || string(out) != "function 4.3.6 3.0.1 6 2\n" {
			t.Errorf("in %s: %v\n%s", at, err, out)
		}
	}
}
