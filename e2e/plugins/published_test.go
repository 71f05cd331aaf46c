package plugins

import (
	"archive/zip"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/built"
	"github.com/hallmark-mcp/hallmark/e2e/world"
)

// publishedCode is the code of a plugin as a compiler of TypeScript leaves it: CommonJS, declarations and maps, beside
// which the packages that it needs lie whole.
var publishedCode = map[string]string{
	"index.js": `"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.createPlugin = createPlugin;
const zod_1 = require("zod");
const shared_1 = require("./shared");
async function createPlugin(server) {
    server.registerTool("probe", { inputSchema: { host: zod_1.z.string() } }, shared_1.probe);
}
//# sourceMappingURL=index.js.map
`,
	"shared.js": `"use strict";
var __importDefault = (this && this.__importDefault) || function (mod) {
    return (mod && mod.__esModule) ? mod : { "default": mod };
};
Object.defineProperty(exports, "__esModule", { value: true });
exports.probe = probe;
const node_net_1 = __importDefault(require("node:net"));
const node_child_process_1 = require("node:child_process");
async function probe({ host }) {
    node_net_1.default.connect(80, host).destroy();
    return { content: [{ type: "text", text: String((0, node_child_process_1.execFileSync)("uname")) }] };
}
//# sourceMappingURL=shared.js.map
`,
	// one that needs no permission
	"quiet.js": `"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.probe = async ({ host }) => ({ content: [{ type: "text", text: host }] });
`,
	"types.js":        "\"use strict\";\nObject.defineProperty(exports, \"__esModule\", { value: true });\n",
	"index.d.ts":      "export declare function createPlugin(server: unknown): Promise<void>;\n",
	"shared.d.ts":     "export declare function probe(args: { host: string }): Promise<unknown>;\n",
	"types.d.ts":      "export interface Probe { host: string }\n",
	"index.js.map":    `{"version":3,"file":"index.js","sources":["../src/index.ts"],"names":[],"mappings":""}`,
	"shared.js.map":   `{"version":3,"file":"shared.js","sources":["../src/shared.ts"],"names":[],"mappings":""}`,
	"types.js.map":    `{"version":3,"file":"types.js","sources":["../src/types.ts"],"names":[],"mappings":""}`,
	"index.d.ts.map":  `{"version":3,"file":"index.d.ts","sources":["../src/index.ts"],"names":[],"mappings":""}`,
	"shared.d.ts.map": `{"version":3,"file":"shared.d.ts","sources":["../src/shared.ts"],"names":[],"mappings":""}`,
	"types.d.ts.map":  `{"version":3,"file":"types.d.ts","sources":["../src/types.ts"],"names":[],"mappings":""}`,
}

// TestPublishedPlugins needs the network. A plugin as host projects publish them is valid, verified and installed:
// hundreds of files with a package of npm among them, hashed in the order of ICU, with members in its manifest that
// the guide does not name. Node computes its hash here.
func TestPublishedPlugins(t *testing.T) {
	t.Parallel()
	node := nodeProgram(t)
	hallmark := world.Build(t, "hallmark")
	dir := t.TempDir()
	if err := built.Modules(t, dir, "zod@4.1.8"); err != nil {
		t.Fatal(err)
	}
	vendored := map[string]string{}
	modules := os.DirFS(filepath.Join(dir, "node_modules"))
	if err := fs.WalkDir(modules, "zod", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(modules, path)
		vendored["node_modules/"+path] = string(data)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	// run answers with the document that a command prints.
	run := func(arg ...string) (doc struct {
		OK       bool   `json:"ok"`
		Error    string `json:"error"`
		Hash     string `json:"hash"`
		Computed string `json:"computed"`
		Profile  string `json:"profile"`
		Name     string `json:"name"`
		Plugins  []struct {
			OK      bool   `json:"ok"`
			Profile string `json:"profile"`
		} `json:"plugins"`
		Further  map[string]json.RawMessage `json:"further_members"`
		Findings []struct {
			Warning  bool
			Evidence struct{ Subject, Scheme, Outcome, Actual, Reason string }
		} `json:"findings"`
	}) {
		cmd := exec.CommandContext(t.Context(), hallmark, arg...)
		cmd.Env = append(os.Environ(), "HALLMARK_HOME="+filepath.Join(dir, "home"))
		cmd.Dir = dir
		out, err := cmd.Output()
		if _, refused := err.(*exec.ExitError); err != nil && !refused {
			t.Fatal(err)
		}
		if err := json.Unmarshal(out, &doc); err != nil {
			t.Fatalf("%q: %v\n%s", arg, err, out)
		}
		return doc
	}
	for _, c := range []struct {
		name, shared string
		members      map[string]any
	}{
		{"proxmox", "shared.js", map[string]any{"id": "com.example.hosts.proxmox", "type": "tool-module",
			"permissions": map[string]any{"network": true, "exec": true}, "capabilities": map[string]any{"tools": []any{"probe"}}}},
		{"prompts", "quiet.js", map[string]any{"id": "com.example.hosts.prompts", "type": "prompts",
			"build":        map[string]any{"tool": "tsc", "target": "es2022"},
			"capabilities": map[string]any{"tools": []any{map[string]any{"name": "probe", "title": "Probe"}}}}},
		{"named", "quiet.js", map[string]any{"id": "com.example.hosts.named", "x-hash-profile": "od"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := maps.Clone(vendored)
			for path, text := range publishedCode {
				files[path] = text
			}
			files["shared.js"] = publishedCode[c.shared]
			delete(files, "quiet.js")
			line, err := json.Marshal(files)
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), node, "dist_as_node.js")
			cmd.Stdin = strings.NewReader(string(line) + "\n")
			out, err := cmd.Output()
			var hashes map[string]string
			if err != nil || json.Unmarshal(out, &hashes) != nil || hashes["od"] == hashes["guide"] {
				t.Fatalf("%v: %q", err, out)
			}
			size := 0
			for _, text := range files {
				size += len(text)
			}
			manifest := map[string]any{"manifestVersion": "2", "name": c.name, "version": "1.0.0", "entry": "dist/index.js",
				"dependenciesPolicy": "bundled-only",
				"dist": map[string]any{"hash": hashes["od"], "fileCount": len(files), "totalBytes": size,
					"coverage": "partial"}}
			maps.Copy(manifest, c.members)
			text, err := json.MarshalIndent(manifest, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			file, err := os.Create(filepath.Join(dir, c.name+".zip"))
			if err != nil {
				t.Fatal(err)
			}
			w := zip.NewWriter(file)
			put := func(path, text string) {
				entry, err := w.Create(path)
				if err == nil {
					_, err = entry.Write([]byte(text))
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			put("mcp-plugin.json", string(text))
			for _, path := range slices.Sorted(maps.Keys(files)) {
				put("dist/"+path, files[path])
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if err := file.Close(); err != nil {
				t.Fatal(err)
			}
			archive := c.name + ".zip"
			validated := run("plugin", "validate", "--json", archive)
			if !validated.OK || validated.Computed != hashes["od"] || validated.Profile != "od" {
				t.Errorf("validate: %+v", validated)
			}
			if hashed := run("plugin", "hash", "--json", archive); hashed.Hash != hashes["od"] || hashed.Profile != "od" {
				t.Errorf("hash: %+v", hashed)
			}
			verified := run("plugin", "verify", "--json", archive)
			if !verified.OK || verified.Profile != "od" || string(verified.Further["/id"]) !=
				`"com.example.hosts.`+c.name+`"` {
				t.Errorf("verify: %s, %s, %s", verified.Error, verified.Profile, verified.Further)
			}
			for _, f := range verified.Findings {
				if f.Warning {
					t.Logf("warning: %+v", f.Evidence)
				}
			}
			if gated := run("plugin", "gate", "--json", archive); !gated.OK || gated.Plugins[0].Profile != "od" {
				t.Errorf("gate: %+v", gated)
			}
			if installed := run("plugin", "install", "--json", archive); !installed.OK || installed.Profile != "od" {
				t.Errorf("install: %s", installed.Error)
			}
		})
	}
	if again := run("plugin", "revalidate", "--json"); !again.OK || len(again.Plugins) != 3 {
		t.Errorf("revalidate: %s", again.Error)
	}
}
