//go:build unix

package plugins

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/sample"
	"github.com/hallmark-mcp/hallmark/e2e/world"
	"github.com/hallmark-mcp/hallmark/plugin"
)

// pluginHosts installs what hosts of plugins and their tests need of npm, with the host of the example
// and the package that it uses, and returns the directory and the programs node to try: a new one, which starts in a
// third of the time, and the machine's. 'make hosts' tries one between them too.
func pluginHosts(t *testing.T) (dir string, nodes []string) {
	t.Helper()
	node, dir := world.InstallNode(t, "@modelcontextprotocol/sdk@1", "typescript@5")
	if runtime.GOOS == "linux" && runtime.GOARCH == "amd64" {
		nodes = append(nodes, world.InstallNodeVersion(t, "26"))
		if sample.Whole() {
			nodes = append(nodes, world.InstallNodeVersion(t, "24"))
		}
	}
	nodes = append(nodes, node)
	own, err := filepath.Abs("../../npm/plugin-host")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(own, filepath.Join(dir, "node_modules/hallmark-plugin-host")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "host"), os.DirFS("../../examples/plugin-host")); err != nil {
		t.Fatal(err)
	}
	return dir, nodes
}

// ofEachNode are the tests of the package that a second Node repeats every day: what its permission model holds, and
// what its hooks see of what is loaded, which older versions have otherwise. TestPluginHost and TestSpecifiersAsNode ask
// each Node besides, and 'make hosts' repeats all tests.
var ofEachNode = []string{"evasions.test.js", "host.test.js", "imports.test.js", "process.test.js"}

// testPackage runs the tests of the package for hosts, none of which may be skipped, with some of the evasions and
// of the ways out of a process. A second Node has a seed of its own, and repeats those of [ofEachNode].
func testPackage(t *testing.T, hallmark, node, dir string, second bool) {
	tests, err := filepath.Glob("../../npm/plugin-host/test/*.test.js")
	if err != nil || len(tests) == 0 {
		t.Fatal(tests, err)
	}
	env := append(os.Environ(), "HALLMARK="+hallmark,
		"PLUGIN_HOST_SDK="+filepath.Join(dir, "node_modules/@modelcontextprotocol/sdk"),
		"PLUGIN_HOST_TSC="+filepath.Join(dir, "node_modules/typescript/bin/tsc"))
	if !sample.Whole() {
		seed := sample.Rand(t).Uint32()
		if second {
			seed++
		}
		env = append(env, "PLUGIN_HOST_SAMPLE=8", fmt.Sprint("HALLMARK_SEED=", seed))
	}
	if second && !sample.Whole() {
		tests = slices.DeleteFunc(tests, func(path string) bool { return !slices.Contains(ofEachNode, filepath.Base(path)) })
	}
	for _, path := range tests {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), node, "--test", "--test-reporter=tap", path)
			cmd.Env = env
			out, err := cmd.CombinedOutput()
			if err != nil || !regexp.MustCompile(`(?m)^# pass [1-9]`).Match(out) ||
				!regexp.MustCompile(`(?m)^# skipped 0$`).Match(out) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// nodeVersion is what a program node says that it is.
func nodeVersion(t *testing.T, node string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), node, "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// TestPluginHostPackage runs the tests of the package for hosts. A second Node repeats what may differ by version. It
// tries some of the evasions, and 'make hosts' all of them in each Node.
func TestPluginHostPackage(t *testing.T) {
	t.Parallel()
	hallmark := world.Build(t, "hallmark")
	hosts, nodes := pluginHosts(t)
	for i, node := range nodes {
		t.Run(nodeVersion(t, node), func(t *testing.T) {
			t.Parallel()
			testPackage(t, hallmark, node, hosts, i > 0)
		})
	}
}

// TestPluginHost has the example's host load a plugin that was checked, refuse those that were tampered with, and
// stop at run time what the check could only warn of.
func TestPluginHost(t *testing.T) {
	t.Parallel()
	hallmark := world.Build(t, "hallmark")
	hosts, nodes := pluginHosts(t)
	for _, node := range nodes {
		t.Run(nodeVersion(t, node), func(t *testing.T) {
			t.Parallel()
			host := filepath.Join(hosts, "host/host.mjs")
			for _, c := range hostedPlugins {
				t.Run(c.name, func(t *testing.T) { c.host(t, hallmark, node, host) })
			}
			t.Run("two plugins", func(t *testing.T) { hostTwo(t, hallmark, node, host) })
		})
	}
}

type hostedPlugin struct {
	name, entry, code string
	after             string // appended to the entry after hashing
	want              string // in the output
}

var hostedPlugins = []hostedPlugin{
	{name: "a script", entry: "index.js",
		code: `exports.createPlugin = async (s) => s.registerTool('ready' + require('path').sep.length, {}, () => {})`,
		want: "loaded p@1.0.0: ready1 (tier 3)"},
	{name: "a module", entry: "index.mjs",
		code: `import { sep } from 'node:path';
			export const createPlugin = async (s) => s.registerTool('ready' + sep.length, {}, () => {})`,
		want: "loaded p@1.0.0: ready1 (tier 3)"},
	{name: "tampered with", entry: "index.js", code: `exports.createPlugin = async () => 'ready'`,
		after: "\nevil()", want: "integrityError"},
	{name: "without permission", entry: "index.js", code: `exports.createPlugin = async () => require('fs')`,
		want: "the permission fsRead or fsWrite is not declared"},
	{name: "computed require", entry: "index.js",
		code: `const n = Buffer.from('6673', 'hex').toString();
			exports.createPlugin = async () => require(n).readFileSync('/etc/hostname')`,
		want: "no access to /etc/hostname"},
	{name: "computed import", entry: "index.mjs",
		code: `const n = Buffer.from('6673', 'hex').toString();
			export const createPlugin = async () => (await import(n)).readFileSync('/etc/hostname')`,
		want: "no access to /etc/hostname"},
	{name: "computed require of a module's inside", entry: "index.js",
		code: `const n = Buffer.from('5f687474705f636c69656e74', 'hex').toString();
			exports.createPlugin = async () => new (require(n).ClientRequest)('http://127.0.0.1:9')`,
		want: "needs a permission"},
	{name: "computed import of a package", entry: "index.mjs",
		code: `const n = Buffer.from('6178696f73', 'hex').toString(); export const createPlugin = async () => import(n)`,
		want: "Cannot find package 'axios'"},
	{name: "computed path", entry: "index.js",
		code: `const n = Buffer.from('2f6574632f686f737473', 'hex').toString(); exports.createPlugin = async () => require(n)`,
		want: "no access to /etc/hosts"},
}

// put writes files below a directory, by their paths.
func put(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		world.Write(t, path, text)
	}
}

// hallmarkEnv is the environment of a host whose state lies below dir.
func hallmarkEnv(dir, hallmark string) []string {
	return append(os.Environ(), "HALLMARK="+hallmark, "HALLMARK_HOME="+filepath.Join(dir, "home"))
}

func (c hostedPlugin) host(t *testing.T, hallmark, node, host string) {
	dir := t.TempDir()
	put(t, dir, map[string]string{
		"p/mcp-plugin.json": `{"manifestVersion": "2", "name": "p", "version": "1.0.0", "entry": "dist/` + c.entry + `"}`,
		"outside.js":        "", "p/dist/" + c.entry: c.code,
	})
	run := func(program string, args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Dir = dir
		cmd.Env = hallmarkEnv(dir, hallmark)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run(hallmark, "plugin", "hash", "p", "--write"); err != nil {
		t.Fatal(err, out)
	}
	put(t, dir, map[string]string{"p/dist/" + c.entry: c.code + c.after})
	out, err := run(node, host, "p")
	if !strings.Contains(out, c.want) || (err == nil) != strings.HasPrefix(c.want, "loaded") {
		t.Errorf("got %v, %s\nwant %s", err, out, c.want)
	}
}

// hostTwo has a client see the tools of two plugins, one of which depends on the other.
func hostTwo(t *testing.T, hallmark, node, host string) {
	dir := t.TempDir()
	for name, more := range map[string]string{"first": `, "dependencies": ["second"]`, "second": ""} {
		put(t, dir, map[string]string{
			name + "/mcp-plugin.json": fmt.Sprintf(
				`{"manifestVersion": "2", "name": %q, "version": "1.0.0", "entry": "dist/index.js"%s}`, name, more),
			name + "/dist/index.js": `const { ErrorCode } = require('@modelcontextprotocol/sdk/types.js');
				exports.createPlugin = (s) => s.registerTool('` + name + `', {}, () => ({ content: [{ type: 'text',
					text: '` + name + `: ' + ErrorCode.InvalidParams }] }))`,
		})
		cmd := exec.CommandContext(t.Context(), hallmark, "plugin", "hash", name, "--write")
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	cmd := exec.CommandContext(t.Context(), node, host, "first", "second")
	cmd.Dir = dir
	cmd.Env = hallmarkEnv(dir, hallmark)
	cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":` +
		`{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"first","arguments":{}}}
`)
	out, err := cmd.Output()
	for _, want := range []string{`"name":"first"`, `"name":"second"`, `"first: -32602"`} {
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("got %v, %s\nwant %s", err, out, want)
		}
	}
}

// The allowlist of the documentation is one.
func TestExampleAllowlist(t *testing.T) {
	data, err := os.ReadFile("../../docs/allowlist-deps.json")
	if err != nil {
		t.Fatal(err)
	}
	a, err := plugin.ParseAllowlist(data)
	if err != nil || !a.Allows("axios", "1.7.9") || a.Allows("axios", "1.7.8") || !a.Allows("ws", "8.0.0") ||
		a.Allows("left-pad", "1.0.0") {
		t.Error(a, err)
	}
}
