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

// foundInBundle is one row of the table.
type foundInBundle struct{ name, bundler, what, why string }

// foundInBundles are what is found in bundles of them besides ordinary imports, by the beginning of its text. Why says
// what the package does there; or why it is found although it does nothing of the kind: no, …
var foundInBundles = []foundInBundle{
	{"ajv", "all", "new Function(", "makes a function of the code of a schema"},
	{"zod", "all", "new F(", "makes functions of the code of a schema"},
	{"yargs", "esbuild", "require3, handed on", "gives require to what it is used by"},
	{"yargs", "esbuild", "path", "requires what it is given"},
	{"yargs", "rollup", "require$1, handed on", "gives require to what it is used by"},
	{"yargs", "rollup", "path", "requires what it is given"},
	{"express", "all", "Function(", "function-bind makes functions of a text with their arguments"},
	{"express", "all", "new Function(", "depd makes functions of a text with their arguments"},
	{"express", "esbuild", "mod", "requires the engine of a view"},
	{"express", "esbuild", "value, handed on", "get-intrinsic has eval and Function in a table that is read by names"},
	{"express", "rollup", "eval, handed on", "get-intrinsic has eval and Function in a table that is read by names"},
	{"axios", "all", "process, handed on", "asks a function of an object that other code has what kind process is"},
	{"axios", "all", "_global, handed on", "has the global object as utils.global"},
	{"axios", "all", "Function(", "function-bind makes functions of a text with their arguments"},
	{"axios", "all", "fetch", "has an adapter that calls fetch"},
	{"axios", "esbuild", "value, handed on", "get-intrinsic has eval and Function in a table that is read by names"},
	{"axios", "rollup", "eval, handed on", "get-intrinsic has eval and Function in a table that is read by names"},
	{"axios", "webpack", "value, handed on", "get-intrinsic has eval and Function in a table that is read by names"},
	{"lodash", "all", "root, handed on", "gives the global object to functions that it exports"},
	{"lodash", "all", "Function", "makes a function of the text of a template"},
	{"node-fetch", "webpack", `"./" + __webpack_require__.u(`, "webpack loads a chunk by its number"},
	{"node-fetch", "webpack", "cachedModule.exports, handed on", "other chunks get modules by numbers, node:process too"},
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
		case slices.ContainsFunc(foundInBundles, func(row foundInBundle) bool { return row.name == name }):
			withRows = append(withRows, p)
		default:
			without = append(without, p)
		}
	}
	return slices.Concat(some, sample.Of(t, withRows, 1), sample.Of(t, without, 2))
}

// TestBundles scans bundles of packages: what is found is in the table, with why, and nothing else. It tries some of
// the packages, and 'make bundles' all. It needs the network, for npm.
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
	used := map[int]bool{}
	for _, bundler := range []string{"esbuild", "rollup", "webpack"} {
		cmd := exec.CommandContext(t.Context(), node, append([]string{"bundles.mjs", bundler}, names...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", bundler, err, out)
		}
		for _, name := range names {
			scanBundle(t, filepath.Join(dir, "out"), name, bundler, used)
		}
	}
	for i, known := range foundInBundles {
		if !used[i] && slices.Contains(names, known.name) {
			t.Errorf("%s, %s: %s is not found any more", known.name, known.bundler, known.what)
		}
	}
}

// scanBundle scans one bundle, and enters the rows of the table that are found in it.
func scanBundle(t *testing.T, dir, name, bundler string, used map[int]bool) {
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
	for _, imp := range found {
		if !imp.Computed && imp.Kind != plugin.Global {
			continue
		}
		known := false
		for i, row := range foundInBundles {
			if row.name == name && (row.bundler == bundler || row.bundler == "all") &&
				strings.HasPrefix(imp.Specifier, row.what) {
				known, used[i] = true, true
			}
		}
		if !known {
			t.Errorf("%s: line %d: %s %s", file, imp.Line, imp.Kind, imp.Specifier)
		}
	}
}
