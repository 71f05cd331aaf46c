// The scripts run hallmark: $HALLMARK, or one in PATH. HALLMARK must name it for these tests.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { findHallmark, positionals } from '../scripts/hallmark.js';

const hallmark = findHallmark();
const dir = mkdtempSync(join(tmpdir(), 'hallmark-scripts-'));
after(() => rmSync(dir, { recursive: true, force: true }));

/** Runs a script in dir. */
function run(script, args, env = {}) {
  const path = resolve(fileURLToPath(new URL('.', import.meta.url)), '..', 'scripts', `${script}.js`);
  const ended = spawnSync(process.execPath, [path, ...args], {
    cwd: dir,
    encoding: 'utf8',
    env: { ...process.env, HALLMARK: hallmark, HALLMARK_HOME: join(dir, 'home'), ...env },
  });
  return { code: ended.status, out: ended.stdout, err: ended.stderr };
}

function plugin(name, code) {
  mkdirSync(join(dir, name, 'dist'), { recursive: true });
  writeFileSync(join(dir, name, 'mcp-plugin.json'),
    JSON.stringify({ manifestVersion: '2', name: name.split('/').at(-1), version: '1.0.0', entry: 'dist/index.js' }));
  writeFileSync(join(dir, name, 'dist', 'index.js'), code);
}

const needsHallmark = { skip: hallmark === undefined && process.env.CI !== 'true' && 'no hallmark in HALLMARK or PATH' };

test('validate-plugin computes, prints, embeds and verifies dist.hash', needsHallmark, () => {
  plugin('plugins/good', 'exports.createPlugin = async () => {}');
  assert.equal(run('validate-plugin', ['plugins/good']).code, 3, 'no dist.hash');
  const written = run('validate-plugin', ['plugins/good', '--write']);
  assert.equal(written.code, 0, written.err);
  const hash = JSON.parse(readFileSync(join(dir, 'plugins/good/mcp-plugin.json'), 'utf8')).dist.hash;
  assert.equal(written.out, `${hash}\n`);
  const valid = run('validate-plugin', ['plugins/good']);
  assert.deepEqual([valid.code, valid.out], [0, `${hash}\n`], valid.err);
  assert.equal(JSON.parse(run('validate-plugin', ['--json', 'plugins/good']).out).computed, hash);

  writeFileSync(join(dir, 'plugins/good/dist/index.js'), 'changed');
  const changed = run('validate-plugin', ['plugins/good']);
  assert.equal(changed.code, 3);
  assert.match(changed.err, /integrityError/);
  assert.notEqual(changed.out, `${hash}\n`, 'the right value is printed');

  const od = run('validate-plugin', ['plugins/good', '--write', '--profile', 'od']);
  assert.equal(od.code, 0, od.err);
  assert.equal(JSON.parse(readFileSync(join(dir, 'plugins/good/mcp-plugin.json'), 'utf8'))['x-hash-profile'], 'od');
});

test('quality-gate-packaging scans plugins, or what is named', needsHallmark, () => {
  plugin('plugins/bundled', '1');
  assert.equal(run('validate-plugin', ['plugins/bundled', '--write']).code, 0);
  plugin('elsewhere/unbundled', "require('lodash')");
  assert.equal(run('validate-plugin', ['elsewhere/unbundled', '--write']).code, 0);

  const all = run('quality-gate-packaging', []);
  assert.equal(all.code, 0, all.err);
  assert.match(all.out, /plugins\/bundled/);
  const strict = run('quality-gate-packaging', ['--strict']);
  assert.equal(strict.code, 5, 'nothing is signed');
  const named = run('quality-gate-packaging', ['elsewhere', '--json']);
  assert.equal(named.code, 4);
  assert.equal(JSON.parse(named.out).plugins[0].error_type, 'policyError');
  assert.equal(run('quality-gate-packaging', ['--allowlist', 'nowhere.json']).code, 2);
  mkdirSync(join(dir, 'empty'));
  assert.equal(run('quality-gate-packaging', ['empty']).code, 2, 'nothing to check is not ok');
});

test('the scripts say how they are used', () => {
  for (const script of ['validate-plugin', 'quality-gate-packaging', 'cli']) {
    const help = run(script, ['--help']);
    assert.deepEqual([help.code, help.err], [0, '']);
    assert.match(help.out, /^Usage: /);
  }
  assert.equal(run('validate-plugin', []).code, 2);
  assert.equal(run('validate-plugin', ['a', 'b']).code, 2);
  assert.equal(run('cli', []).code, 2);
  assert.match(run('cli', ['validate-plugin', '--help']).out, /^Usage: validate-plugin /);
  assert.match(run('cli', ['quality-gate-packaging', '--help']).out, /^Usage: quality-gate-packaging /);
});

test('without hallmark the scripts say how to get it, and are never ok', () => {
  for (const env of [{ HALLMARK: '', PATH: '' }, { HALLMARK: join(dir, 'no-such-program') }]) {
    for (const script of ['validate-plugin', 'quality-gate-packaging']) {
      const ended = run(script, ['plugins'], env);
      assert.equal(ended.code, 1);
      assert.match(ended.err, /go install .*Nothing was checked/s);
    }
  }
});

test('hallmark is not taken from the checkout', { skip: process.platform === 'win32' }, () => {
  const bin = join(dir, 'node_modules', '.bin');
  const own = join(dir, 'own');
  for (const at of [bin, own]) {
    mkdirSync(at, { recursive: true });
    writeFileSync(join(at, 'hallmark'), '#!/bin/sh\nexit 0\n');
    chmodSync(join(at, 'hallmark'), 0o755);
  }
  assert.equal(findHallmark({ PATH: ['.', '', 'own', bin].join(delimiter) }), undefined);
  assert.equal(findHallmark({ PATH: [bin, own].join(delimiter) }), join(own, 'hallmark'));
  assert.equal(findHallmark({ PATH: own, HALLMARK: '/elsewhere/hallmark' }), '/elsewhere/hallmark');
  mkdirSync(join(dir, 'folder', 'hallmark'), { recursive: true });
  assert.equal(findHallmark({ PATH: join(dir, 'folder') }), undefined);
});

test('a program that a signal ended is no success', { skip: process.platform === 'win32' }, () => {
  const path = join(dir, 'killed');
  writeFileSync(path, '#!/bin/sh\nkill -KILL $$\n');
  chmodSync(path, 0o755);
  assert.equal(run('quality-gate-packaging', [], { HALLMARK: path }).code, 128 + 9);
});

test('values of flags are no plugins', () => {
  assert.deepEqual(positionals(['--allowlist', 'a.json', '--json', 'p', '--', '-q'], ['--allowlist']), ['p', '-q']);
  assert.deepEqual(positionals(['--allowlist=a.json'], ['--allowlist']), []);
});
