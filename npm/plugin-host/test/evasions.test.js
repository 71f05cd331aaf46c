// Each evasion of the scanner's corpus, and each that was found for tier 1, runs in tiers 2 and 3 as if it had been
// admitted, and is stopped there. Of hallmark's scripts of modules internal/plugins has the test.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { dir } from '../testdata/sandbox.js';

const runner = fileURLToPath(new URL('../testdata/evasion.js', import.meta.url));
const corpora = [new URL('../../../internal/jsscan/testdata/evasions/', import.meta.url), new URL('../testdata/evasions/', import.meta.url)].map(fileURLToPath);
const secret = 'the text of the secret file';

for (const tier of ['2', '3']) {
  describe(`tier ${tier}`, { concurrency: 2 }, () => {
    for (const corpus of corpora) {
      const files = readdirSync(corpus, { recursive: true }).filter((f) => /\.m?js$/.test(f));
      assert.ok(files.length > 10, corpus);
      for (const file of files) {
        if (tier === '2' && extname(file) === '.mjs') continue;
        test(file, async (t) => {
          const room = dir(t);
          const mark = join(room, 'mark');
          writeFileSync(join(room, 'secret'), secret);
          const code = readFileSync(join(corpus, file), 'utf8').replaceAll('@MARK@', mark).replaceAll('@SECRET@', join(room, 'secret'));
          mkdirSync(join(room, 'plugin/dist'), { recursive: true });
          const entry = join(room, 'plugin/dist', `index${extname(file)}`);
          writeFileSync(entry, code);
          const script = join(room, 'script.json');
          writeFileSync(script, JSON.stringify({ format: 1, requires: [], code: `(function (exports, require, module) {${code}\n})` }));
          const out = await new Promise((resolve) => {
            execFile(process.execPath, [runner, tier, entry, script], { timeout: 30_000 }, (e, stdout, stderr) => resolve(`${stdout}${stderr}`));
          });
          assert.match(out, /the host lives/);
          assert.equal(existsSync(mark), false);
          assert.ok(!out.includes(secret), out);
        });
      }
    }
  });
}
