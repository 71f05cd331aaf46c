package plugins

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/hallmark-mcp/hallmark/e2e/built"
	"github.com/hallmark-mcp/hallmark/e2e/world"
)

// realPackages are packages of npm, and what their code imports that is not theirs: as
// they are published, and as a bundle for Node.
var realPackages = []struct {
	name, version   string
	external, cores string // as they are published
	bundled         string // core modules of the bundle
	optional        string // packages that it tries to load and does without
}{
	{"axios", "1.7.9", "follow-redirects form-data proxy-from-env", "http https", "fs http https", "supports-color"},
	{"chalk", "5.3.0", "", "", "", ""},
	{"debug", "4.3.7", "ms supports-color", "", "", "supports-color"},
	{"express", "4.21.2",
		"accepts array-flatten body-parser content-disposition content-type cookie cookie-signature depd encodeurl " +
			"escape-html etag " +
			"finalhandler fresh http-errors merge-descriptors methods on-finished parseurl path-to-regexp proxy-addr " +
			"qs range-parser safe-buffer send " +
			"serve-static setprototypeof statuses type-is utils-merge vary", "fs http net", "fs http net", ""},
	{"lodash", "4.17.21", "", "", "", ""},
	{"semver", "7.6.3", "", "", "", ""},
	{"signal-exit", "4.1.0", "", "", "", ""},
	{"uuid", "9.0.1", "", "", "", ""},
	{"ws", "8.18.0", "bufferutil utf-8-validate", "http https net tls", "http https net tls",
		"bufferutil utf-8-validate"},
	{"yaml", "2.6.0", "", "", "", ""},
	{"zod", "3.23.8", "benchmark", "", "", ""},
}

// TestRealImports needs the network. The imports of real packages are found, of each as
// it is published and as esbuild bundles it.
func TestRealImports(t *testing.T) {
	t.Parallel()
	nodeProgram(t)
	hallmark := world.Build(t, "hallmark")
	dir := t.TempDir()
	var packages []string
	for _, p := range realPackages {
		packages = append(packages, p.name+"@"+p.version)
	}
	if err := built.Modules(t, dir, packages...); err != nil {
		t.Fatal(err)
	}
	run := func(arg ...string) []byte {
		cmd := exec.CommandContext(t.Context(), hallmark, arg...)
		cmd.Env = append(os.Environ(), "HALLMARK_HOME="+filepath.Join(dir, "home"))
		out, err := cmd.Output()
		if _, refused := err.(*exec.ExitError); err != nil && !refused {
			t.Fatal(err)
		}
		return out
	}
	var plugins []string
	add := func(name, entry string) string {
		at := filepath.Join(dir, "plugins", name)
		if err := os.MkdirAll(filepath.Join(at, "dist"), 0o755); err != nil {
			t.Fatal(err)
		}
		manifest := `{"manifestVersion": "2", "name": "` + strings.ToLower(name) +
			`", "version": "1.0.0", "entry": "dist/` + entry + `"}`
		if err := os.WriteFile(filepath.Join(at, "mcp-plugin.json"), []byte(manifest), 0o600); err != nil {
			t.Fatal(err)
		}
		plugins = append(plugins, at)
		return filepath.Join(at, "dist")
	}
	for _, p := range realPackages {
		from := filepath.Join(dir, "node_modules", p.name)
		to := add(p.name, "entry.js")
		if err := os.CopyFS(filepath.Join(to, "package"), os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, "entry.js"), []byte("require('./package')"), 0o600); err != nil {
			t.Fatal(err)
		}
		r := api.Build(api.BuildOptions{
			Stdin:    &api.StdinOptions{Contents: `module.exports = require("` + p.name + `")`, ResolveDir: dir},
			Bundle:   true,
			Platform: api.PlatformNode,
			Format:   api.FormatCommonJS,
			Outfile:  filepath.Join(add(p.name+"-bundled", "index.js"), "index.js"),
			Write:    true,
			LogLevel: api.LogLevelSilent,
		})
		if len(r.Errors) > 0 {
			t.Fatal(p.name, r.Errors[0].Text)
		}
	}
	for _, at := range plugins {
		run("plugin", "hash", at, "--write")
	}
	var gated struct {
		Plugins []struct {
			Name     string `json:"name"`
			Findings []struct {
				Evidence struct{ Subject, Scheme, Outcome, Actual, Reason string }
			} `json:"findings"`
		} `json:"plugins"`
	}
	if err := json.Unmarshal(run(append([]string{"plugin", "gate", "--json"}, plugins...)...), &gated); err != nil {
		t.Fatal(err)
	}
	found := map[string][2]string{} // by plugin: packages, core modules
	for _, p := range gated.Plugins {
		packages, cores := map[string]bool{}, map[string]bool{}
		for _, finding := range p.Findings {
			switch f := finding.Evidence; {
			case f.Scheme == "import" && f.Outcome != "match":
				// computed, which the packages that load views or files are; one that code does without is named
				if f.Outcome == "unverifiable" && !strings.HasPrefix(f.Reason, "the package is optional") {
					t.Logf("%s: %s: %s %s", p.Name, f.Subject, f.Actual, f.Reason)
					continue
				}
				packages[f.Actual] = true
			case f.Scheme == "permission" && strings.HasPrefix(f.Actual, "node:"):
				cores[strings.TrimPrefix(f.Actual, "node:")] = true
			}
		}
		words := func(m map[string]bool) string { return strings.Join(slices.Sorted(maps.Keys(m)), " ") }
		found[p.Name] = [2]string{words(packages), words(cores)}
	}
	for _, p := range realPackages {
		if got := found[p.name]; got != [2]string{p.external, p.cores} {
			t.Errorf("%s: imports %q, want %q", p.name, got, [2]string{p.external, p.cores})
		}
		if got := found[p.name+"-bundled"]; got != [2]string{p.optional, p.bundled} {
			t.Errorf("%s, bundled: imports %q, want %q", p.name, got, [2]string{p.optional, p.bundled})
		}
	}
}
