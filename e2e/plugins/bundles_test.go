//go:build unix

package plugins

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/sample"
	"github.com/hallmark-mcp/hallmark/e2e/world"
	"github.com/hallmark-mcp/hallmark/internal/jsscan"
	"github.com/hallmark-mcp/hallmark/internal/nodecore"
	"github.com/hallmark-mcp/hallmark/plugin"
)

// bundlers are the programs that bundle, with their plugins.
var bundlers = []string{"esbuild@0.28.2", "rollup@4.68.7", "webpack@5.112.2", "@rollup/plugin-node-resolve@16.0.3",
	"@rollup/plugin-commonjs@29.0.3", "@rollup/plugin-json@6.1.0"}

// bundled are packages that many bundle.
var bundled = []string{"ajv@8.20.0", "axios@1.21.1", "chalk@5.6.2", "commander@14.0.3", "debug@4.4.3",
	"dotenv@18.0.10", "express@5.3.0", "fast-glob@3.3.3", "js-yaml@5.5.0", "lodash@4.18.1", "minimatch@11.0.9",
	"node-fetch@3.3.2", "rxjs@7.8.2", "semver@7.8.6", "uuid@14.0.3", "winston@3.19.0", "ws@8.23.0", "yargs@18.2.0",
	"zod@4.6.7", "nanoid@6.0.2", "yaml@2.9.1", "ms@2.1.3",
	"mime-types@3.0.2"}

// computedInBundles are the packages whose bundles do something that is known only when it runs, with what. In those of
// the others nothing is found but ordinary imports.
var computedInBundles = []struct{ name, bundlers, why string }{
	{"ajv", "esbuild rollup webpack", "makes a function of the code of a schema"},
	{"zod", "esbuild rollup webpack", "makes functions of the code of a schema, and instances by their constructor"},
	{"yargs", "esbuild rollup webpack", "requires what it is given, and replaces how stacks are written"},
	{"express", "esbuild rollup webpack", "makes functions of texts (function-bind, depd), has eval in a table (get-intrinsic)"},
	{"axios", "esbuild rollup webpack", "makes functions of texts (function-bind), hands the global object on"},
	{"lodash", "esbuild rollup webpack", "makes a function of the text of a template, hands the global object on"},
	{"node-fetch", "esbuild rollup webpack", "hands the global object on; has instances made by their constructor"},
	{"winston", "esbuild rollup webpack", "replaces how stacks are written, and reads a member of process that is not documented"},
	{"yaml", "esbuild rollup webpack", "makes collections by the constructor of another"},
	{"chalk", "esbuild", "a function without a receiver of its own hands it on; the bundle is not strict"},
	{"commander", "webpack", "node:process is the exports of a module of the bundle's own"},
}

// chooseBundled gives the packages that are bundled: all, or five. Three have rows in the table, as only they show that
// something is not found any more: axios and yargs, in which each kind is found, and one more. In the other two nothing
// is found.
func chooseBundled(t *testing.T) []string {
	if sample.Whole() {
		return bundled
	}
	var some, withRows, without []string
	for _, p := range bundled {
		switch name := p[:strings.LastIndex(p, "@")]; {
		case name == "axios", name == "yargs":
			some = append(some, p)
		case len(bundlersOf(name)) > 0:
			withRows = append(withRows, p)
		default:
			without = append(without, p)
		}
	}
	return slices.Concat(some, sample.Of(t, withRows, 1), sample.Of(t, without, 2))
}

// bundlersOf returns the bundlers by which bundles of a package do what is known only when it runs.
func bundlersOf(name string) []string {
	for _, row := range computedInBundles {
		if row.name == name {
			return strings.Fields(row.bundlers)
		}
	}
	return nil
}

// TestBundles scans bundles of packages: none imports what is no package and no module of Node, so that none is refused,
// and those of the table, and no others, do something that is known only when it runs. It tries some of the packages, and
// 'make bundles' all. It needs the network, for npm.
func TestBundles(t *testing.T) {
	t.Parallel()
	packages := chooseBundled(t)
	node, dir := world.InstallNode(t, append(append([]string{}, bundlers...), packages...)...)
	script, err := os.ReadFile("bundles.mjs")
	if err != nil {
		t.Fatal(err)
	}
	world.Write(t, filepath.Join(dir, "bundles.mjs"), string(script))
	var names []string
	for _, p := range packages {
		names = append(names, p[:strings.LastIndex(p, "@")])
	}
	computed := 0
	for _, bundler := range []string{"esbuild", "rollup", "webpack"} {
		cmd := exec.CommandContext(t.Context(), node, append([]string{"bundles.mjs", bundler}, names...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", bundler, err, out)
		}
		for _, name := range names {
			if scanBundle(t, filepath.Join(dir, "out"), name, bundler) {
				computed++
			}
		}
	}
	t.Logf("%d of %d bundles do something that is known only when it runs", computed, 3*len(names))
}

// scanBundle scans one bundle, and reports whether it does something that is known only when it runs.
func scanBundle(t *testing.T, dir, name, bundler string) bool {
	t.Helper()
	file := regexp.MustCompile(`\W`).ReplaceAllString(name, "_") + "." + bundler + ".js"
	code, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	found, err := jsscan.File(file, code)
	if err != nil {
		t.Errorf("%s: %v", file, err)
	}
	var computed []string
	for _, imp := range found {
		switch {
		case imp.Kind == plugin.Native, imp.Kind == plugin.Builtin && needsPermission(imp.Specifier):
			t.Errorf("%s: line %d: %s %s", file, imp.Line, imp.Kind, imp.Specifier)
		case imp.Computed:
			computed = append(computed, imp.Specifier)
		}
	}
	if want := slices.Contains(bundlersOf(name), bundler); len(computed) > 0 != want {
		t.Errorf("%s: computed %q, expected: %v", file, computed, want)
	}
	return len(computed) > 0
}

func needsPermission(builtin string) bool {
	found := nodecore.OfBuiltin(builtin)
	return len(found) == 0 || slices.ContainsFunc(found, func(a nodecore.Access) bool { return a.Need != "" })
}
