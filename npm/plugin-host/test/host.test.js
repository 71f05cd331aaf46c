// Loading: order, checks, dependencies, errors, what is forwarded.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync, writeFileSync, appendFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import * as api from '../src/index.js';
import { hash, plugin, room, write } from '../testdata/helpers.js';

const { PluginHost } = api;

const tool = (name, body = `({ content: [{ type: 'text', text: 'from ${name}' }] })`) =>
  `exports.createPlugin = async (server) => { server.registerTool('${name}', { description: 'd', inputSchema: { type: 'object' } }, async () => ${body}); };`;

// server keeps what reaches it.
function server(refuse = () => false) {
  const tools = new Map();
  return {
    tools,
    registerTool(name, config, handler) {
      if (tools.has(name) || refuse(name)) throw new Error(`Tool ${name} is already registered`);
      tools.set(name, { config, handler });
      return { remove: () => tools.delete(name) };
    },
  };
}

function host(t, options = {}) {
  const warnings = [];
  const h = new PluginHost({ tier: 1, warn: (w) => warnings.push(w), ...options });
  t.after(() => h.close());
  return Object.assign(h, { warnings });
}

test('plugins are loaded in the order of their dependencies, and told of', async (t) => {
  const dir = room(t);
  const a = plugin(dir, 'a', { 'index.js': tool('a1') }, { dependencies: ['z'], capabilities: { tools: ['a1'] } });
  const z = plugin(dir, 'z', { 'index.mjs': tool('z1').replace('exports.createPlugin', 'export const createPlugin') }, { capabilities: { tools: ['z1'] } });
  const h = host(t), s = server();
  const summary = await h.load([a, z], s);
  assert.deepEqual(summary.failed, []);
  assert.deepEqual(summary.loaded, [
    { name: 'z', version: '1.0.0', path: z, tier: 1, tools: ['z1'], resources: [], prompts: [] },
    { name: 'a', version: '1.0.0', path: a, tier: 1, tools: ['a1'], resources: [], prompts: [] },
  ]);
  assert.equal(summary.stats.toolsRegistered, 2);
  assert.ok(summary.timings.totalMs >= summary.timings.verifyMs && summary.timings.verifyMs > 0);
  assert.deepEqual([...s.tools.keys()], ['z1', 'a1']);
  assert.equal((await s.tools.get('a1').handler({})).content[0].text, 'from a1');
  assert.deepEqual(h.warnings, []);
  // One that is loaded later finds those that are.
  const b = plugin(dir, 'b', { 'index.js': tool('b1') }, { dependencies: ['a'] });
  assert.equal((await h.load(b, s)).loaded[0].name, 'b');
  assert.match((await h.load(a)).failed[0].error.message, /is there already/);
});

test('what depends on a plugin that fails is skipped, and its code does not run', async (t) => {
  const dir = room(t);
  const ran = join(dir, 'ran');
  const marks = `require('fs').writeFileSync(${JSON.stringify(ran)}, '');` + tool('x');
  const files = { permissions: { fsWrite: true } };
  const bad = plugin(dir, 'bad', { 'index.js': marks }, files);
  appendFileSync(join(bad, 'dist/index.js'), '\n');
  const needs = plugin(dir, 'needs', { 'index.js': marks }, { ...files, dependencies: ['bad'] });
  const further = plugin(dir, 'further', { 'index.js': marks }, { ...files, dependencies: ['needs'] });
  const lost = plugin(dir, 'lost', { 'index.js': marks }, { ...files, dependencies: ['nowhere'] });
  const throws = plugin(dir, 'throws', { 'index.js': 'exports.createPlugin = () => { throw new Error("no luck") }' });
  const last = plugin(dir, 'last', { 'index.js': marks }, { ...files, dependencies: ['throws'] });
  const summary = await host(t).load([bad, needs, further, lost, throws, last], server());
  assert.deepEqual(summary.loaded, []);
  assert.deepEqual(summary.failed.map((f) => [f.name, f.error.name, f.error.exitCode]),
    [['bad', 'integrityError', 3], ['throws', 'operationError', 1]]);
  assert.match(summary.failed[1].error.message, /no luck/);
  assert.deepEqual(Object.fromEntries(summary.skipped.map((s) => [s.name, s.reason])), {
    needs: 'it depends on bad, which was not loaded', further: 'it depends on needs, which was skipped',
    lost: 'it depends on nowhere, which is missing', last: 'it depends on throws, which was not loaded',
  });
  assert.equal(existsSync(ran), false);
});

test('a cycle of dependencies is named', async (t) => {
  const dir = room(t);
  const a = plugin(dir, 'a', { 'index.js': tool('a') }, { dependencies: ['b'] });
  const b = plugin(dir, 'b', { 'index.js': tool('b') }, { dependencies: ['a'] });
  const { failed } = await host(t).load([a, b]);
  assert.equal(failed.length, 2);
  assert.ok(failed[0].error instanceof api.ValidationError);
  assert.match(failed[0].error.message, /dependency cycle: a -> b -> a/);
});

test('errors are typed, and name what was found', async (t) => {
  const dir = room(t);
  const rows = [
    ['hash', plugin(dir, 'hash', { 'index.js': tool('a') }), (p) => appendFileSync(join(p, 'dist/index.js'), '//'), {}, api.IntegrityError, /dist/],
    ['permission', plugin(dir, 'permission', { 'index.js': 'require("fs")' }), () => {}, {}, api.PolicyError, /fsRead or fsWrite/],
    ['signature', plugin(dir, 'signature', { 'index.js': tool('a') }), () => {}, { REQUIRE_SIGNATURES: true }, api.SignatureError, /signature/],
    ['manifest', plugin(dir, 'manifest', { 'index.js': tool('a') }), (p) => {
      const m = JSON.parse(readFileSync(join(p, 'mcp-plugin.json'))); m.version = 'x'; write(p, { 'mcp-plugin.json': m });
    }, {}, api.ValidationError, /version/],
    ['nothing', join(dir, 'nothing'), () => {}, {}, api.OperationError, /no such file/],
  ];
  for (const [name, path, spoil, flags, type, message] of rows) {
    spoil(path);
    const { failed } = await host(t, { flags }).load([path]);
    assert.ok(failed[0].error instanceof type, `${name}: ${failed[0].error}`);
    assert.ok(failed[0].error instanceof api.PluginError);
    assert.match(failed[0].error.message, message);
    if (type !== api.OperationError && type !== api.ValidationError) assert.ok(failed[0].error.findings.length > 0, name);
  }
});

test('the program hallmark is needed', async (t) => {
  const dir = room(t);
  const p = plugin(dir, 'p', { 'index.js': tool('a') });
  const { failed } = await host(t, { hallmark: join(dir, 'no-hallmark') }).load(p);
  assert.match(failed[0].error.message, /is not there/);
  assert.match(failed[0].error.hint, /install hallmark/);
});

test('options and flags that are not known are refused', () => {
  assert.throws(() => new PluginHost({ teir: 2 }), /unknown option teir/);
  assert.throws(() => new PluginHost({ flags: { STRICT: true } }), /unknown flag STRICT/);
  assert.throws(() => new PluginHost({ env: { STRICT_TOOLS: 'maybe' } }), /neither true/);
  assert.throws(() => new PluginHost({ tier: 4 }), /tier is 4/);
  assert.throws(() => new PluginHost({ limits: { heapBytes: 0 } }), /heapBytes is no positive number/);
});

test('declared and registered capabilities: a warning, or an error before anything is offered', async (t) => {
  const dir = room(t);
  const p = plugin(dir, 'p', { 'index.js': tool('other') }, { capabilities: { tools: ['promised'] } });
  const lax = host(t), s = server();
  assert.equal((await lax.load(p, s)).loaded.length, 1);
  assert.deepEqual(lax.warnings, ['plugin p: tool promised is declared, and was not registered', 'plugin p: tool other was registered, and is not declared']);
  for (const flags of [{ STRICT_CAPABILITIES: true }]) {
    const s = server();
    const { failed } = await host(t, { flags }).load(p, s);
    assert.equal(failed[0]?.error.name, 'policyError');
    assert.match(failed[0].error.message, /promised/);
    assert.equal(s.tools.size, 0);
  }
  const q = plugin(dir, 'q', { 'index.js': `exports.createPlugin = (s) => { s.registerTool('no name', {}, () => {}) }` });
  const strict = server();
  const { failed } = await host(t, { env: { ...process.env, STRICT_TOOLS: 'yes' } }).load(q, strict);
  assert.match(failed[0]?.error.message ?? '', /A-Za-z0-9/);
  assert.equal(strict.tools.size, 0);
  const good = plugin(dir, 'good', { 'index.js': tool('g') }, { capabilities: { tools: ['g'] } });
  const both = await host(t, { flags: { STRICT_CAPABILITIES: true, STRICT_TOOLS: true } }).load(good, strict);
  assert.deepEqual(both.failed, []);
  assert.deepEqual([...strict.tools.keys()], ['g']);
});

test('a plugin is offered whole, or not at all', async (t) => {
  const dir = room(t);
  const p = plugin(dir, 'p', { 'index.js': `exports.createPlugin = (s) => { for (const n of ['one', 'two', 'taken']) s.registerTool(n, {}, () => n) }` });
  const s = server((name) => name === 'taken');
  const { failed } = await host(t).load(p, s);
  assert.match(failed[0].error.message, /taken is already registered/);
  assert.equal(s.tools.size, 0);
  const late = plugin(dir, 'late', { 'index.js': `exports.createPlugin = (s) => { setTimeout(() => { try { s.registerTool('late', {}, () => 1) } catch (e) { globalThis.lateError = e } }, 1) }` });
  await host(t).load(late, s);
  await new Promise((done) => setTimeout(done, 20));
  assert.match(globalThis.lateError.message, /after createPlugin/);
  assert.equal(s.tools.size, 0);
});

test('what is loaded is what was checked, and close removes it', async (t) => {
  const dir = room(t);
  const p = plugin(dir, 'p', { 'index.js': `exports.createPlugin = (s) => { s.registerTool('where', {}, () => __filename + require('./late.js')) }`, 'late.js': 'module.exports = " checked"' });
  const h = host(t), s = server();
  await h.load(p, s);
  writeFileSync(join(p, 'dist/late.js'), 'module.exports = " swapped"');
  const where = s.tools.get('where').handler();
  assert.match(where, / checked$/);
  const copy = where.split(' ')[0];
  assert.ok(!copy.startsWith(p) && existsSync(copy));
  await h.close();
  assert.equal(existsSync(copy), false);
  assert.deepEqual(readdirSync(tmpdir()).filter((n) => copy.includes(n) && n.startsWith('hallmark-plugins-')), []);
  await assert.rejects(h.load(p), /closed/);
});

test('revalidate goes by the flags that the host has now', async (t) => {
  const dir = room(t);
  const { execFileSync } = await import('node:child_process');
  const { hallmark } = await import('../testdata/helpers.js');
  plugin(dir, 'p', { 'index.js': tool('a') });
  execFileSync(hallmark, ['plugin', 'install', join(dir, 'p'), '--dir', join(dir, 'plugins')], { stdio: 'pipe' });
  const found = await host(t).revalidate(join(dir, 'plugins'));
  assert.deepEqual(found, [{ path: join(dir, 'plugins/p@1.0.0'), name: 'p', version: '1.0.0' }]);
  // A strictness that only loading can check does not refuse here.
  await host(t, { flags: { STRICT_CAPABILITIES: true } }).revalidate(join(dir, 'plugins'));
  await assert.rejects(host(t, { flags: { REQUIRE_SIGNATURES: true } }).revalidate(join(dir, 'plugins')), api.SignatureError);
  appendFileSync(join(dir, 'plugins/p@1.0.0/dist/index.js'), '//');
  await assert.rejects(host(t).revalidate(join(dir, 'plugins')), api.IntegrityError);
});

test('a plugin that takes too long to start fails', async (t) => {
  const dir = room(t);
  const p = plugin(dir, 'p', { 'index.js': `exports.createPlugin = () => new Promise((done) => setTimeout(done, 2000))` });
  const { failed } = await host(t, { limits: { startMillis: 50 } }).load(p);
  assert.match(failed[0].error.message, /within 50 ms/);
});

test('a session calls what was registered, in either way of registering', async (t) => {
  const dir = room(t);
  const p = plugin(dir, 'p', { 'index.js': `exports.createPlugin = (s) => {
    s.tool('old', 'the old way', { type: 'object' }, () => ({ content: [] }));
    s.registerResource('note', 'note://one', { title: 'One' }, (uri) => ({ contents: [{ uri: uri.href, text: 'n' }] }));
    s.prompt('ask', 'asks', () => ({ messages: [] }));
    s.registerTool('gone', {}, () => {}).remove();
  }` });
  const h = host(t);
  const summary = await h.load(p);
  assert.deepEqual(summary.failed, []);
  assert.deepEqual([summary.loaded[0].tools, summary.loaded[0].resources, summary.loaded[0].prompts], [['old'], ['note'], ['ask']]);
  const s = h.session('p');
  assert.equal(s.tools[0].description, 'the old way');
  assert.deepEqual(await s.readResource('note://one'), { contents: [{ uri: 'note://one', text: 'n' }] });
  assert.deepEqual(await s.getPrompt('ask'), { messages: [] });
  await assert.rejects(s.callTool('none'), /has no tool "none"/);
});
