package plugins

import (
	"encoding/json"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/sample"
	"github.com/hallmark-mcp/hallmark/e2e/world"
	"github.com/hallmark-mcp/hallmark/plugin"
)

// nodeVersions are the lines of Node that are supported, and what comes before and after them.
var nodeVersions = []string{"18", "20", "22", "24", "25", "26"}

// builtinsProgram prints all names of modules and bindings that a Node knows. Experimental modules and the names of
// bindings are in no list that it gives out; they stand in the source of its loader.
const builtinsProgram = `
process.on('warning', () => {});
const { builtinModules, isBuiltin } = require('module');
const sources = process.binding('natives');
const ids = Object.keys(sources).filter((id) => !id.startsWith('internal/') && !/^configs?$/.test(id));
const realm = sources['internal/bootstrap/realm'];
const list = (name) => {
  const found = realm.match(new RegExp('const ' + name + ' = new (?:Safe)?Set\\(\\[([^\\]]*)\\]'));
  return found === null ? null : [...found[1].matchAll(/'([^']+)'/g)].map((m) => m[1]);
};
// Node 26 has [id, with the scheme only, option] instead.
const policies = [...realm.matchAll(/^  \['([^']+)', (true|false), (null|'[^']*')\],$/gm)].map((m) => m.slice(1));
const scheme = list('schemelessBlockList') ?? policies.filter((p) => p[1] === 'true').map((p) => p[0]);
const experimental = list('experimentalModuleList') ?? policies.filter((p) => p[2] !== 'null').map((p) => p[0]);
if (scheme.length === 0) throw new Error('nothing tells which modules need the scheme');
const known = (name) => { try { return typeof process.binding(name) === 'object'; } catch { return false; } };
console.log(JSON.stringify({
  version: process.version, modules: [...builtinModules, ...ids],
  scheme: scheme.filter((id) => !isBuiltin(id)),
  experimental,
  bindings: [list('processBindingAllowList') ?? list('internalBindingAllowlist'),
    list('runtimeDeprecatedList'), list('legacyWrapperList')].flat(),
  open: process.argv.slice(1).filter(known),
}));`

// coreTable returns the names of a table of docs/plugin-host.md, which nodecore.TestCoreDocs holds to the code, and
// whether each exists with "node:" only.
func coreTable(t *testing.T, head string) map[string]bool {
	t.Helper()
	data, err := os.ReadFile("../../docs/plugin-host.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(data), "\n| "+head+" | permission | why |\n|---|---|---|\n")
	if !ok {
		t.Fatalf("docs/plugin-host.md has no table of %s", head)
	}
	out := map[string]bool{}
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		for _, name := range strings.Fields(strings.ReplaceAll(strings.Split(line, "|")[1], "`", "")) {
			name, scheme := strings.CutPrefix(name, "node:")
			out[name] = scheme
		}
	}
	return out
}

// Whatever a Node calls its own has a row in the tables, under each of its names. It tries the oldest version and the
// newest, as Node gains modules and loses bindings: with one of them absent, some names are in no sample. 'make hosts'
// tries all.
func TestCoreOfNodeVersions(t *testing.T) {
	t.Parallel()
	if testing.Short() || runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("downloads Node for Linux")
	}
	inTable, bindingsInTable := coreTable(t, "core modules"), coreTable(t, "names of `process.binding`")
	modules, bindings := map[string]bool{}, map[string]bool{}
	versions := nodeVersions
	if !sample.Whole() {
		versions = []string{nodeVersions[0], nodeVersions[len(nodeVersions)-1]}
	}
	for _, version := range versions {
		node := world.InstallNodeVersion(t, version)
		args := []string{"-e", builtinsProgram}
		for name := range bindingsInTable {
			args = append(args, name)
		}
		for name := range inTable {
			args = append(args, name)
		}
		out, err := exec.CommandContext(t.Context(), node, args...).Output()
		if err != nil {
			t.Fatalf("Node %s: %v", version, err)
		}
		var of struct {
			Version                                       string
			Modules, Scheme, Experimental, Bindings, Open []string
		}
		if err := json.Unmarshal(out, &of); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(of.Version, "v"+version+".") || len(of.Modules) < 60 || len(of.Bindings) < 20 ||
			!slices.Contains(of.Modules, "fs") || !slices.Contains(of.Bindings, "spawn_sync") {
			t.Fatalf("Node %s answered %s", version, out)
		}
		for _, name := range of.Modules {
			name = strings.TrimPrefix(name, "node:")
			modules[name] = true
			only, ok := inTable[name]
			if scheme := slices.Contains(of.Scheme, name); !ok {
				t.Errorf("Node %s has the module %s, which the table does not know", version, name)
			} else if !plugin.IsCore("node:"+name) || only == plugin.IsCore(name) || !scheme && only {
				t.Errorf("Node %s has the module %s without the scheme: %v; the table says %v", version, name, !scheme, !only)
			}
		}
		for _, name := range slices.Concat(of.Bindings, of.Open) {
			bindings[name] = true
			if _, ok := bindingsInTable[name]; !ok {
				t.Errorf("Node %s has the binding %s, which the table does not know", version, name)
			}
		}
	}
	if len(versions) < len(nodeVersions) {
		return
	}
	// What no Node has is not a row, but for what is announced.
	for name := range inTable {
		if !modules[name] && !slices.Contains([]string{"ffi"}, name) {
			t.Errorf("no Node has the module %s", name)
		}
	}
	for name := range bindingsInTable {
		if !bindings[name] {
			t.Errorf("no Node has the binding %s", name)
		}
	}
}
