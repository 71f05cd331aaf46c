// Tier 1: what a plugin requires and imports is held to its manifest, by the file that does.
import assert from 'node:assert/strict';
import { builtinModules, createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { PluginHost } from '../src/index.js';
import { refuseModule } from '../src/rules.js';
import { plugin, room, write } from '../testdata/helpers.js';

function host(t, options) {
  const h = new PluginHost({ tier: 1, warn: () => {}, ...options });
  t.after(() => h.close());
  return h;
}

const call = async (h, name, args = {}) => h.session(name).callTool('t', args);

const script = (body) => `exports.createPlugin = (s) => { s.registerTool('t', { inputSchema: { type: 'object' } }, async (args) => ${body}) }`;
const modules = (body) => script(body).replace('exports.createPlugin =', 'export const createPlugin =');

test('each plugin is under its own rules, in scripts and in modules', async (t) => {
  const dir = room(t);
  const ways = {
    m: ['index.mjs', modules('typeof (await import(args.name)).default')],
    i: ['index.js', script('typeof (await import(args.name)).default')],
    r: ['index.js', script('typeof require(args.name)')],
    c: ['index.mjs', `import { createRequire } from 'node:module'; const require = createRequire(import.meta.url); ${modules('typeof require(args.name)')}`],
  };
  const all = { network: true, fsRead: true, fsWrite: true, exec: true };
  const plugins = [];
  for (const [name, permissions] of [['first', {}], ['second', all], ['third', { network: true }]]) {
    for (const [way, [file, code]] of Object.entries(ways)) plugins.push(plugin(dir, `${name}-${way}`, { [file]: code, 'own.js': '' }, { permissions }));
  }
  write(dir, { 'outside.js': '', 'package.json': '{"name": "outside"}' });
  const h = host(t);
  assert.deepEqual((await h.load(plugins)).failed, []);
  for (const way of Object.keys(ways)) {
    for (const name of ['fs', 'node:fs', 'fs/promises', 'child_process', 'http']) {
      await assert.rejects(call(h, `first-${way}`, { name }), { name: 'policyError', message: /needs a permission that the manifest does not declare/ }, `first-${way} ${name}`);
      assert.ok(['object', 'function'].includes(await call(h, `second-${way}`, { name })));
    }
    await assert.rejects(call(h, `third-${way}`, { name: 'fs' }), { name: 'policyError', message: /permissions\.fsRead or permissions\.fsWrite/ });
    assert.equal(await call(h, `third-${way}`, { name: 'net' }), 'object');
    assert.equal(await call(h, `first-${way}`, { name: './own.js' }), 'object');
    for (const name of [join(dir, 'second-m/dist/index.mjs'), join(dir, 'outside.js')]) {
      await assert.rejects(call(h, `first-${way}`, { name }), { name: 'policyError', message: /is not part of the plugin/ });
    }
    await assert.rejects(call(h, `third-${way}`, { name: 'left-pad' }), /left-pad/);
  }
  await assert.rejects(call(h, 'first-m', { name: 'data:text/javascript,export default 1' }), { name: 'policyError' });
  // The host is under no rule, before and after.
  assert.equal(typeof createRequire(import.meta.url)('fs').readFileSync, 'function');
  assert.equal(typeof (await import('node:child_process')).spawn, 'function');
  await import(`file://${join(dir, 'outside.js')}`);
});

test('every module of this Node is known, with what it needs', () => {
  const all = { network: true, fsRead: true, fsWrite: true, exec: true };
  for (const name of builtinModules) {
    const plain = name.replace(/^node:/, '');
    assert.equal(refuseModule(all, plain), '', name);
    if (/^(fs|net|tls|_tls|http|_http|dns|dgram|child|worker|cluster|inspector|repl|sqlite|test|wasi|trace|v8)/.test(plain)) assert.match(refuseModule({}, plain), /permissions\./, name);
  }
  assert.match(refuseModule(all, 'of-a-later-node'), /is not known/);
});

test('a file of a closed plugin is still judged', async (t) => {
  const p = plugin(room(t), 'p', { 'index.js': `exports.createPlugin = () => { globalThis.leftBehind = () => require(Buffer.from('6673', 'hex').toString()) }` });
  const h = host(t);
  assert.deepEqual((await h.load(p)).failed, []);
  await h.close();
  assert.throws(() => globalThis.leftBehind(), { name: 'policyError' });
});
