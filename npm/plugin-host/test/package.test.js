// The package itself: its types, what is published, and what it exports.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const own = dirname(dirname(fileURLToPath(import.meta.url)));
const tsc = process.env.PLUGIN_HOST_TSC;

test('types are those of the code', { skip: !tsc && 'PLUGIN_HOST_TSC is not set' }, () => {
  try {
    execFileSync(process.execPath, [tsc, '--noEmit', '--strict', '--target', 'es2022', '--module', 'nodenext', join(own, 'testdata/use.ts')], { stdio: 'pipe' });
  } catch (e) {
    assert.fail(`${e.stdout}${e.stderr}`);
  }
});

test('all that is exported has a type, and the other way round', async () => {
  const declared = [...readFileSync(join(own, 'index.d.ts'), 'utf8').matchAll(/^export (?:class|function) (\w+)/gm)].map((m) => m[1]);
  assert.deepEqual(Object.keys(await import('../src/index.js')).sort(), [...new Set([...declared])].sort());
});

test('what is published is the package and nothing else', () => {
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  const [{ files }] = JSON.parse(execFileSync(npm, ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: own, stdio: 'pipe', shell: process.platform === 'win32' }));
  const paths = files.map((f) => f.path).sort();
  assert.deepEqual(paths.filter((p) => !/^(src|scripts)\//.test(p)), ['LICENSE', 'README.md', 'index.d.ts', 'package.json']);
  const sources = readdirSync(join(own, 'src'), { recursive: true, withFileTypes: true }).filter((e) => e.isFile());
  assert.equal(paths.filter((p) => p.startsWith('src/')).length, sources.length);
  const { dependencies = {}, peerDependencies = {} } = JSON.parse(readFileSync(join(own, 'package.json'), 'utf8'));
  assert.deepEqual([dependencies, peerDependencies], [{}, {}]);
});
