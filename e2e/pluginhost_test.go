//go:build unix

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/plugin"
)

// TestPluginHost has the example's host load a plugin that was checked, refuse those that
// were tampered with, and stop at run time what the check could only warn of.
func TestPluginHost(t *testing.T) {
	node := nodeProgram(t)
	hallmark := build(t, "hallmark")
	host, err := filepath.Abs("../examples/plugin-host/host.mjs")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, entry, code string
		after             string // appended to the entry after hashing
		want              string // in the output
	}{
		{name: "a script", entry: "index.js", code: `exports.createPlugin = async () => 'ready ' + require('path').sep`,
			want: "loaded p@1.0.0: ready /"},
		{name: "a module", entry: "index.mjs",
			code: `import { sep } from 'node:path'; export const createPlugin = async () => 'ready ' + sep`,
			want: "loaded p@1.0.0: ready /"},
		{name: "tampered with", entry: "index.js", code: `exports.createPlugin = async () => 'ready'`,
			after: "\nevil()", want: "integrityError"},
		{name: "without permission", entry: "index.js", code: `exports.createPlugin = async () => require('fs')`,
			want: "policyError: dist/index.js:1: permission absent: node:fs: "},
		{name: "computed require", entry: "index.js",
			code: `const n = ['f', 's'].join(''); exports.createPlugin = async () => require(n)`,
			want: "policyError: node:fs needs a permission"},
		{name: "computed import", entry: "index.mjs",
			code: `const n = ['f', 's'].join(''); export const createPlugin = async () => import(n)`,
			want: "policyError: node:fs needs a permission"},
		{name: "computed require of a module's inside", entry: "index.js",
			code: `const n = ['_http', 'client'].join('_'); exports.createPlugin = async () => require(n)`,
			want: "policyError: node:http needs a permission"},
		{name: "computed import of a package", entry: "index.mjs",
			code: `const n = ['ax', 'ios'].join(''); export const createPlugin = async () => import(n)`,
			want: "Cannot find package 'axios'"},
		{name: "computed path", entry: "index.js",
			code: `exports.createPlugin = async () => require(process.cwd() + '/outside.js')`,
			want: "outside.js is not part of the plugin"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			put := func(name, text string) {
				path := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			run := func(program string, args ...string) (string, error) {
				cmd := exec.CommandContext(t.Context(), program, args...)
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), "HALLMARK="+hallmark, "HALLMARK_HOME="+filepath.Join(dir, "home"))
				out, err := cmd.CombinedOutput()
				return string(out), err
			}
			put("p/mcp-plugin.json",
				`{"manifestVersion": "2", "name": "p", "version": "1.0.0", "entry": "dist/`+c.entry+`"}`)
			put("outside.js", "")
			put("p/dist/"+c.entry, c.code)
			if out, err := run(hallmark, "plugin", "hash", "p", "--write"); err != nil {
				t.Fatal(err, out)
			}
			put("p/dist/"+c.entry, c.code+c.after)
			out, err := run(node, host, "p")
			if !strings.Contains(out, c.want) || (err == nil) != strings.HasPrefix(c.want, "loaded") {
				t.Errorf("got %v, %s\nwant %s", err, out, c.want)
			}
		})
	}
}

// The allowlist of the documentation is one.
func TestExampleAllowlist(t *testing.T) {
	data, err := os.ReadFile("../docs/allowlist-deps.json")
	if err != nil {
		t.Fatal(err)
	}
	a, err := plugin.ParseAllowlist(data)
	if err != nil || !a.Allows("axios", "1.7.9") || a.Allows("axios", "1.7.8") || !a.Allows("ws", "8.0.0") ||
		a.Allows("left-pad", "1.0.0") {
		t.Error(a, err)
	}
}
