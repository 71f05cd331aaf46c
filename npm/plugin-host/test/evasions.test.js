// Each evasion of the scanner's corpus, and each that was found for tier 1, runs in tiers 2 and 3 as if it had been
// admitted, and is stopped there. Of hallmark's scripts of modules internal/plugins has the test.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ours, scanned } from '../testdata/corpora.js';
import { dir } from '../testdata/sandbox.js';

const runner = fileURLToPath(new URL('../testdata/evasion.js', import.meta.url));
const together = 12; // in one host, each with a mark and a secret of its own

/** prepare writes an evasion as a plugin, and says by what it would be known. */
function prepare(t, path) {
  const room = dir(t);
  const mark = join(room, 'mark'), secret = `the text of the secret ${basename(room)}`;
  writeFileSync(join(room, 'secret'), secret);
  const code = readFileSync(path, 'utf8').replaceAll('@MARK@', mark).replaceAll('@SECRET@', join(room, 'secret'));
  mkdirSync(join(room, 'plugin/dist'), { recursive: true });
  const entry = join(room, 'plugin/dist', `index${extname(path)}`), script = join(room, 'script.json');
  writeFileSync(entry, code);
  writeFileSync(script, JSON.stringify({ format: 1, requires: [], code: `(function (exports, require, module) {${code}\n})` }));
  return { path, mark, secret, entry, script };
}

const files = [...ours, ...scanned]; // ours first: those that wait longest do it while others run

describe(`${files.length} evasions`, { concurrency: 3 }, () => { // some only wait
  for (const tier of ['3', '2']) {
    const runs = files.filter((f) => tier === '3' || extname(f) === '.js');
    for (let at = 0; at < runs.length; at += together) {
      const some = runs.slice(at, at + together);
      test(`tier ${tier}: ${some.map((f) => basename(f)).join(' ')}`, async (t) => {
        const evasions = some.map((path) => prepare(t, path));
        const pairs = evasions.flatMap((e) => [e.entry, e.script]);
        const out = await new Promise((resolve) => {
          execFile(process.execPath, [runner, tier, ...pairs], { timeout: 60_000, maxBuffer: 64 << 20 }, (e, stdout, stderr) => resolve(`${stdout}${stderr}`));
        });
        assert.match(out, /the host lives/);
        const through = evasions.filter((e) => existsSync(e.mark) || out.includes(e.secret));
        assert.deepEqual(through.map((e) => e.path), [], out);
      });
    }
  }
});
