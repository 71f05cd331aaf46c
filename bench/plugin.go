package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// guideProgram is the pseudo-code of the plugin guide, as a program of Node.
const guideProgram = `const fs = require('fs'), path = require('path'), { createHash } = require('crypto');
const dist = process.argv[2] + '/dist';
const walk = (dir) => fs.readdirSync(dir, { withFileTypes: true }).filter((e) => !e.name.startsWith('.'))
  .flatMap((e) => e.isDirectory() ? walk(dir + '/' + e.name) : [path.posix.relative(dist, dir + '/' + e.name)]);
const hasher = createHash('sha256');
for (const p of walk(dist).sort()) { hasher.update(p + '\n'); hasher.update(fs.readFileSync(dist + '/' + p)); }
console.log('sha256:' + hasher.digest('hex'));
`

// benchPlugin measures P3, hashing a plugin, and P3b, verifying it with its imports: of scripts that were never
// seen, that were seen before, and of which one was not. The references are the guide's pseudo-code in
// Node, and one parse of the scripts by esbuild; all are processes.
func benchPlugin(ctx context.Context, o options, t *table) error {
	dir, err := os.MkdirTemp("", "hallmark-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &pluginBench{ctx: ctx, dir: dir, hallmark: filepath.Join(dir, "hallmark"), parse: filepath.Join(dir, "parse"),
		guide: filepath.Join(dir, "guide.js"), plugin: filepath.Join(dir, "p"), seconds: map[string][]float64{}}
	if err := buildAll(map[string]string{b.hallmark: "cmd/hallmark", b.parse: "bench/parse"}); err != nil {
		return err
	}
	if err := writePlugin(b.plugin, o.pluginFiles, o.pluginBytes); err != nil {
		return err
	}
	if err := os.WriteFile(b.guide, []byte(guideProgram), 0o600); err != nil {
		return err
	}
	for range o.rounds {
		if err := b.round(); err != nil {
			return err
		}
	}
	ms := func(name string) string { return fmt.Sprintf("%.0f ms", median(b.seconds[name])*1000) }
	faster := func(ours, reference string) string {
		return fmt.Sprintf("%.2f×", median(b.seconds[reference])/median(b.seconds[ours]))
	}
	t.add(fmt.Sprintf("P3 plugin hash, %d files", o.pluginFiles), ms("hash"), ms("node"),
		faster("hash", "node"), "≥ 5×")
	t.add("P3b plugin verify, scripts never seen; one parse", ms("cold"), ms("parse"),
		fmt.Sprintf("%.2f× its time", median(b.seconds["cold"])/median(b.seconds["parse"])), "≤ 1.3×")
	t.add("P3b plugin verify, scripts seen before; Node's hash", ms("warm"), ms("node"), faster("warm", "node"), "≥ 3×")
	t.add("P3b plugin verify, one script changed; Node's hash", ms("changed"), ms("node"), faster("changed", "node"),
		"–")
	return nil
}

// pluginBench has the programs and the plugin of P3, and how long each took.
type pluginBench struct {
	ctx                                 context.Context
	dir, hallmark, parse, guide, plugin string
	changes                             int
	seconds                             map[string][]float64
}

// round runs each program once.
func (b *pluginBench) round() error {
	const fresh, used = "fresh", "used"
	if err := os.RemoveAll(filepath.Join(b.dir, fresh)); err != nil {
		return err
	}
	if err := b.changeScript(); err != nil {
		return err
	}
	verify := []string{b.hallmark, "plugin", "verify", "--json", b.plugin}
	for _, step := range []struct {
		name, home string
		argv       []string
	}{
		{"", used, []string{b.hallmark, "plugin", "hash", b.plugin, "--write"}},
		{"changed", used, verify}, // but of the first round, when nothing was seen
		{"hash", used, []string{b.hallmark, "plugin", "hash", b.plugin}},
		{"cold", fresh, verify},
		{"parse", used, []string{b.parse, filepath.Join(b.plugin, "dist")}},
		{"warm", used, verify},
		{"node", used, []string{"node", b.guide, b.plugin}},
	} {
		cmd := exec.CommandContext(b.ctx, step.argv[0], step.argv[1:]...)
		cmd.Env = append(os.Environ(), "HALLMARK_HOME="+filepath.Join(b.dir, step.home))
		began := time.Now()
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s: %w\n%s", strings.Join(step.argv, " "), err, out)
		}
		if b.changes > 1 || step.name != "changed" {
			b.seconds[step.name] = append(b.seconds[step.name], time.Since(began).Seconds())
		}
	}
	return nil
}

// changeScript makes one script another one.
func (b *pluginBench) changeScript() error {
	b.changes++
	script := filepath.Join(b.plugin, "dist", "m1.js")
	code, err := os.ReadFile(script)
	if err != nil {
		return err
	}
	return os.WriteFile(script, fmt.Appendf(code, "// %d\n", b.changes), 0o644)
}

// writePlugin writes modules of ordinary code that require each other.
func writePlugin(dir string, files, bytes int) error {
	const body = `
class Item%d {
  constructor(name, options = {}) { this.name = name; this.options = { depth: 3, ...options }; }
  *walk(list) {
    for (const [key, value] of Object.entries(list ?? {})) {
      if (value && typeof value === 'object') yield* this.walk(value); else yield [key, String(value)];
    }
  }
  async send(message) {
    try { return await this.options.send?.({ name: this.name, message, at: Date.now() }); }
    catch (error) { throw new Error("item: " + error.message); }
  }
}
exports.Item%d = Item%d;
`
	if err := os.MkdirAll(filepath.Join(dir, "dist"), 0o755); err != nil {
		return err
	}
	for i := range files {
		var b strings.Builder
		fmt.Fprintf(&b, "'use strict';\nconst path = require('path');\nconst next = require('./m%d.js');\n",
			(i+1)%files)
		for n := 0; b.Len() < bytes/files-len(body)/2; n++ {
			fmt.Fprintf(&b, body, n, n, n)
		}
		if err := os.WriteFile(filepath.Join(dir, "dist", fmt.Sprintf("m%d.js", i)), []byte(b.String()), 0o644); err !=
			nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "mcp-plugin.json"),
		[]byte(`{"manifestVersion": "2", "name": "bench", "version": "1.0.0", "entry": "dist/m0.js"}`), 0o644)
}
