package plugins

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/plugin"
)

// scriptOf makes the script of files below dist/, whatever a verdict would say.
func scriptOf(t *testing.T, entry string, files map[string]string) (*Script, error) {
	t.Helper()
	s := &Source{Bundle: &plugin.Bundle{Contents: map[string][]byte{}}}
	for name, text := range files {
		s.Bundle.Contents[name] = []byte(text)
	}
	return s.makeScript(&plugin.Manifest{Name: "p", Version: "1.0.0", Entry: "dist/" + entry})
}

// A script holds nothing that hands out objects of the host: no import() and no import.meta.
func TestScriptWithoutImports(t *testing.T) {
	files := map[string]string{
		"index.mjs": "#!/usr/bin/env node\nimport fs from 'node:fs'; import { b } from './b.js'; import v from 'v/sub'; import j from './j.json' with { type: 'json' };\n" +
			"export const createPlugin = async (n) => [await import('./b.js'), await import(n), await import(`${n}`, n), import.meta.url, import.meta, fs, b, v, j];",
		"b.js":                          "exports.b = 1; exports.c = (n) => import(n); exports.d = (n) => require(n);",
		"j.json":                        `{"j": "from json"}`,
		"node_modules/v/package.json":   `{"exports": {"./*": {"import": "./lib/*.mjs", "require": "./lib/*.cjs"}}}`,
		"node_modules/v/lib/sub.mjs":    "import h from 'h'; export default 'from a module' + h",
		"node_modules/v/lib/sub.cjs":    "module.exports = 'from a script'",
		"node_modules/h/package.json":   `{"main": "lib"}`,
		"node_modules/h/lib/index.js":   "module.exports = 'by main'",
		"node_modules/unused/broken.js": "(",
	}
	s, err := scriptOf(t, "index.mjs", files)
	if err != nil {
		t.Fatal(err)
	}
	for _, never := range []string{"import(", "import.meta", "import (", "from a script"} {
		if strings.Contains(s.Code, never) {
			i := strings.Index(s.Code, never)
			t.Errorf("the script holds %q: %s", never, s.Code[max(0, i-200):min(len(s.Code), i+100)])
		}
	}
	for _, owed := range []string{"from json", "from a module", "by main"} {
		if !strings.Contains(s.Code, owed) {
			t.Errorf("the script lacks %q", owed)
		}
	}
	if strings.Join(s.Requires, " ") != "node:fs" {
		t.Errorf("requires %q", s.Requires)
	}
	again, err := scriptOf(t, "index.mjs", files)
	if err != nil || again.Code != s.Code {
		t.Errorf("another script of the same files: %v", err)
	}
}

// Whatever stands in import(), it is rewritten or refused.
func TestScriptRewritesImports(t *testing.T) {
	for _, code := range []string{
		"import(n)", "import(n, o)", "import(n, o())", "import(n, {with: {type: 'json'}})", "import(n, {with: {[n]: 'x'}})", "import('node:fs', n)",
		"import('node:fs', {with: n()})", "import(a ? 'node:fs' : n, o)", "import(import(n, o), import(n))", "import(`${import(n)}`)", "await import(n)",
		"import(n).then(f).catch(f)", "import('./' + n)", "import.defer(n)", "import.source(n)", "class A { x = import(n, 1); static { import(n, o) } }",
		"import(\\u{6e}, o)", "im\\u0070ort(n)", "import /* a */ (n, // b\n o)", "false && import(n, o)", "import.meta", "import.meta.url", "import.meta[n]", "new.target, import.meta.resolve(n)",
	} {
		s, err := scriptOf(t, "index.mjs", map[string]string{"index.mjs": "export const f = async (n, o, a) => { " + code + " };"})
		if err == nil && (strings.Contains(s.Code, "import(") || strings.Contains(s.Code, "import.")) {
			t.Errorf("%s: %s", code, s.Code)
		}
	}
	s, err := scriptOf(t, "index.js", map[string]string{"index.js": "exports.text = 'call import(x) and import.meta'"})
	if err != nil || !strings.Contains(s.Code, "import(x)") {
		t.Errorf("a text: %v", err)
	}
}

// Nothing is read from the disk, whatever an import says.
func TestScriptReadsNoDisk(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(dir, "outside.js")
	if err := os.WriteFile(outside, []byte("module.exports = 'from the disk'"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	name := filepath.ToSlash(outside)
	for _, code := range []string{
		"import x from './outside.js'; export { x }", "import x from '" + name + "'; export { x }",
		"import x from 'file://" + name + "'; export { x }", "module.exports = require('./outside')",
		"module.exports = require('./' + process.argv[2])", "module.exports = require('../' + process.argv[2] + '.js')",
		"module.exports = (n) => import(`" + dir + "/${n}.js`)", "import x from '#outside'; export { x }",
		"import x from 'data:text/javascript,1'; export { x }", "new Worker(new URL('./outside.js', import.meta.url))",
		"import x from './a.node'; export { x }", "/// <reference path='./outside.js' />\nexport {}",
	} {
		s, err := scriptOf(t, "index.js", map[string]string{"index.js": code, "a.node": "\x7fELF"})
		if err == nil && strings.Contains(s.Code, "from the disk") {
			t.Errorf("%s: read from the disk", code)
		}
	}
}

// Each evasion of the scanner, made a script as if it had been admitted, is stopped by tier 2.
func TestEvasionsAsScripts(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node")
	}
	runner, err := filepath.Abs("../../npm/plugin-host/testdata/evasion.js")
	if err != nil {
		t.Fatal(err)
	}
	corpus := "../jsscan/testdata/evasions"
	const secret = "the text of the secret file"
	dir := t.TempDir()
	secretFile := filepath.Join(dir, "secret")
	if err := os.WriteFile(secretFile, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{runner, "2"}
	marks := map[string]string{} // by evasion
	err = filepath.WalkDir(corpus, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		code, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		own := filepath.Join(dir, strconv.Itoa(len(marks)))
		marks[path] = filepath.Join(own, "mark")
		entry := "index" + filepath.Ext(path)
		text := strings.NewReplacer("@MARK@", filepath.ToSlash(marks[path]), "@SECRET@",
			filepath.ToSlash(secretFile)).Replace(string(code))
		s, err := scriptOf(t, entry, map[string]string{entry: text})
		if err != nil {
			t.Logf("%s is no script: %v", path, err)
			return nil
		}
		data, err := json.Marshal(s)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(own, 0o700); err != nil {
			return err
		}
		script := filepath.Join(own, "script.json")
		args = append(args, filepath.Join(own, "dist", entry), script)
		return os.WriteFile(script, data, 0o600)
	})
	if err != nil || len(args) < 200 {
		t.Fatalf("%d arguments: %v", len(args), err)
	}
	out, err := exec.CommandContext(t.Context(), node, args...).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "the host lives") {
		t.Errorf("%v: %s", err, out)
	}
	if strings.Contains(string(out), secret) {
		t.Errorf("one read the secret: %s", out)
	}
	for path, mark := range marks {
		if _, err := os.Stat(mark); err == nil {
			t.Errorf("%s got out", path)
		}
	}
}
