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

// Size of the plugin of P3: that of plugins which are published with their packages.
const (
	pluginFiles = 608
	pluginBytes = 3_600_000
)

// benchPlugin measures P3: verifying a plugin, its imports included, against hashing it
// in Node, each as a process.
func benchPlugin(ctx context.Context, o options, t *table) error {
	if !o.wants("P3") {
		return nil
	}
	dir, err := os.MkdirTemp("", "hallmark-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	hallmark, guide, plugin := filepath.Join(dir, "hallmark"), filepath.Join(dir, "guide.js"), filepath.Join(dir, "p")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", hallmark, "./cmd/hallmark")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	if err := writePlugin(plugin); err != nil {
		return err
	}
	if err := os.WriteFile(guide, []byte(guideProgram), 0o600); err != nil {
		return err
	}
	timed := func(argv ...string) (float64, error) {
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Env = append(os.Environ(), "HALLMARK_HOME="+filepath.Join(dir, "home"))
		began := time.Now()
		out, err := cmd.CombinedOutput()
		if err != nil {
			return 0, fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, out)
		}
		return time.Since(began).Seconds(), nil
	}
	if _, err := timed(hallmark, "plugin", "hash", plugin, "--write"); err != nil {
		return err
	}
	var verify, validate, node []float64
	for range o.rounds {
		for _, m := range []struct {
			into *[]float64
			argv []string
		}{
			{&verify, []string{hallmark, "plugin", "verify", "--json", plugin}},
			{&validate, []string{hallmark, "plugin", "validate", "--json", plugin}},
			{&node, []string{"node", guide, plugin}},
		} {
			seconds, err := timed(m.argv...)
			if err != nil {
				return err
			}
			*m.into = append(*m.into, seconds)
		}
	}
	ms := func(s float64) string { return fmt.Sprintf("%.0f ms", s*1000) }
	ratio := func(ours float64) string { return fmt.Sprintf("%.2f×", median(node)/ours) }
	t.add(fmt.Sprintf("P3 plugin verify, %d files", pluginFiles), ms(median(verify)), ms(median(node)),
		ratio(median(verify)), "≥ 5×")
	t.add("P3 without imports: plugin validate", ms(median(validate)), ms(median(node)), ratio(median(validate)), "–")
	return nil
}

// writePlugin writes modules of ordinary code that require each other.
func writePlugin(dir string) error {
	const body = `
class Item%d {
  constructor(name, options = {}) { this.name = name; this.options = { depth: 3, ...options }; }
  *walk(list) { for (const [key, value] of Object.entries(list ?? {})) { if (value && typeof value === 'object') yield* this.walk(value); else yield [key, String(value)]; } }
  async send(message) { try { return await this.options.send?.({ name: this.name, message, at: Date.now() }); } catch (error) { throw new Error("item: " + error.message); } }
}
exports.Item%d = Item%d;
`
	if err := os.MkdirAll(filepath.Join(dir, "dist"), 0o755); err != nil {
		return err
	}
	for i := range pluginFiles {
		var b strings.Builder
		fmt.Fprintf(&b, "'use strict';\nconst path = require('path');\nconst next = require('./m%d.js');\n",
			(i+1)%pluginFiles)
		for n := 0; b.Len() < pluginBytes/pluginFiles-len(body)/2; n++ {
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
