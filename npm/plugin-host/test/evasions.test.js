// Each evasion of the scanner's corpus, and each that was found for tier 1, runs in tier 3 as if it had been
// admitted, and is stopped there.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ours, scanned } from '../testdata/corpora.js';
import { sdk } from '../testdata/helpers.js';
import { dir } from '../testdata/sandbox.js';

const plain = fileURLToPath(new URL('../testdata/plain.js', import.meta.url));
const runner = fileURLToPath(new URL('../testdata/evasion.js', import.meta.url));
const together = 12; // in one host, each with a mark and a secret of its own

/** prepare writes an evasion as a plugin, and says by what it would be known. */
function prepare(t, path) {
  const room = dir(t);
  const mark = join(room, 'mark'), secret = `the text of the secret ${basename(room)}`;
  writeFileSync(join(room, 'secret'), secret);
  const code = readFileSync(path, 'utf8').replaceAll('@MARK@', mark).replaceAll('@SECRET@', join(room, 'secret'));
  mkdirSync(join(room, 'plugin/dist'), { recursive: true });
  const entry = join(room, 'plugin/dist', `index${extname(path)}`);
  writeFileSync(entry, code);
  return { path, mark, secret, entry };
}

const files = [...ours, ...scanned]; // ours first: those that wait longest do it while others run

describe(`${files.length} evasions`, { concurrency: 3 }, () => { // some only wait
  for (let at = 0; at < files.length; at += together) {
    const some = files.slice(at, at + together);
    test(some.map((f) => basename(f)).join(' '), async (t) => {
      const evasions = some.map((path) => prepare(t, path));
      const out = await new Promise((resolve) => {
        execFile(process.execPath, [runner, ...evasions.map((e) => e.entry)], { timeout: 60_000, maxBuffer: 64 << 20 }, (e, stdout, stderr) => resolve(`${stdout}${stderr}`));
      });
      assert.match(out, /the host lives/);
      const through = evasions.filter((e) => existsSync(e.mark) || out.includes(e.secret));
      assert.deepEqual(through.map((e) => e.path), [], out);
    });
  }
});

const major = Number(process.versions.node.split('.')[0]);
const works = (path) => !(Number(/^\/\/ node: (\d+)/.exec(readFileSync(path, 'utf8'))?.[1]) > major) && (sdk !== undefined || !basename(path).startsWith('sdk-'));

describe('evasions get through where nobody stops them', { concurrency: 3 }, () => {
  for (const path of ours.filter(works)) {
    test(basename(path), async (t) => {
      const { entry, mark, secret } = prepare(t, path);
      if (sdk) {
        mkdirSync(join(dirname(entry), 'node_modules/@modelcontextprotocol'), { recursive: true });
        symlinkSync(sdk, join(dirname(entry), 'node_modules/@modelcontextprotocol/sdk'));
      }
      const out = await new Promise((resolve) => {
        const child = execFile(process.execPath, [plain, entry], { timeout: 60_000, cwd: dirname(entry) }, (e, stdout, stderr) => resolve(`${stdout}${stderr}`));
        child.stdin.end();
      });
      assert.ok(existsSync(mark) || out.includes(secret), out);
    });
  }
});
