// Ordinary plugins, checked by hallmark, give the same in each tier that can run them.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { PluginHost } from '../src/index.js';
import { plugin, room } from '../testdata/helpers.js';

const all = [1, 2, 3];

async function load(t, dir, tier, options = {}) {
  const said = [];
  const host = new PluginHost({ tier, warn: (m) => said.push(m), ...options });
  t.after(() => host.close());
  const summary = await host.load([dir]);
  const [failed] = summary.failed;
  return { host, failed: failed?.error, session: summary.loaded[0] && host.session(summary.loaded[0].name), said };
}

const outcome = (p) => p.then((r) => r, (e) => ({ failed: e.name }));

// seen is what a client sees of a session: lists, and the answers to calls.
async function seen(session, calls) {
  const out = { tools: session.tools.map(({ name, title, description, annotations }) => ({ name, title, description, annotations })), resources: session.resources, prompts: session.prompts, answers: [] };
  for (const [method, ...args] of calls) out.answers.push(await outcome(session[method](...args)));
  return JSON.parse(JSON.stringify(out));
}

const plugins = {
  'common-js': {
    files: { 'index.js': `const path = require('node:path'); const { EventEmitter } = require('events'); const helper = require('./helper');
      exports.createPlugin = async function (server) {
        server.registerTool('join', { title: 'Join', description: 'Joins', inputSchema: { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] }, annotations: { readOnlyHint: true } },
          async ({ a }) => ({ content: [{ type: 'text', text: path.join('/x', a, '..', 'b') + helper.mark }] }));
        server.tool('plain', 'Says something', async () => { const e = new EventEmitter(); let n = 0; e.on('x', (v) => { n += v; }); e.emit('x', 2); return { content: [{ type: 'text', text: 'n ' + n }] }; });
        server.tool('fails', async () => { throw new TypeError('it failed'); });
        server.registerResource('readme', 'notes://readme', { title: 'Readme', mimeType: 'text/plain' }, async (uri) => ({ contents: [{ uri: uri.href, text: 'read ' + uri.hostname }] }));
        server.registerPrompt('ask', { title: 'Ask', description: 'Asks' }, async () => ({ messages: [{ role: 'user', content: { type: 'text', text: 'why' } }] }));
      };`, 'helper.js': `exports.mark = '!';` },
    capabilities: { tools: ['join', 'plain', 'fails'], resources: ['readme'], prompts: ['ask'] },
    calls: [['callTool', 'join', { a: 'c' }], ['callTool', 'plain', {}], ['callTool', 'fails', {}], ['callTool', 'nothing', {}], ['readResource', 'notes://readme'], ['readResource', 'notes://other'], ['getPrompt', 'ask', {}]],
  },
  'es-module': {
    files: { 'index.mjs': `import { setTimeout as wait } from 'node:timers/promises'; import helper, { twice } from './lib/helper.mjs';
      export async function createPlugin(server) {
        const late = await import('./lib/late.mjs');
        server.registerTool('timers', { description: 'Waits' }, async () => { const order = []; setTimeout(() => order.push('timeout'), 5); queueMicrotask(() => order.push('microtask')); const t = setInterval(() => order.push('never'), 1e6); clearInterval(t); await wait(20); return { content: [{ type: 'text', text: order.join() + late.word }] }; });
        server.registerTool('text', { description: 'Text' }, () => ({ content: [{ type: 'text', text: [twice(helper), new TextDecoder().decode(new TextEncoder().encode('é€😀')), new URL('../b?x=1#y', 'http://u:p@h.example:81/a/c').href, new URLSearchParams({ q: 'a b' }).toString(), atob(btoa('hi')), structuredClone({ a: [1, new Date(0)] }).a[1].toISOString(), typeof crypto.randomUUID()].join(' ') }] }));
        server.registerTool('error', { description: 'Errors' }, async () => { class Own extends Error { constructor(m) { super(m); this.name = 'Own'; } } try { throw new Own('x'); } catch (e) { return { isError: true, content: [{ type: 'text', text: String(e) + (e instanceof Own) }] }; } });
      }`, 'lib/helper.mjs': `export default 'h'; export const twice = (s) => s + s;`, 'lib/late.mjs': `export const word = ' late';` },
    capabilities: { tools: ['timers', 'text', 'error'] },
    calls: [['callTool', 'timers', {}], ['callTool', 'text', {}], ['callTool', 'error', {}]],
  },
};

for (const [name, { files, capabilities, calls }] of Object.entries(plugins)) {
  test(`${name}: the same in each tier`, async (t) => {
    const dir = plugin(room(t), name, files, { capabilities });
    const results = [];
    for (const tier of all) {
      const { session, failed, said } = await load(t, dir, tier);
      assert.equal(failed, undefined, `tier ${tier}: ${failed}`);
      assert.deepEqual(said, [], `tier ${tier}`);
      results.push(await seen(session, calls));
    }
    assert.ok(results[0].answers.length === calls.length);
    assert.equal(results[0].answers.filter((a) => a.content || a.contents || a.messages).length > 0, true);
    // Tier 1 hands on what a handler threw; the others what they were told of it.
    for (const r of results) r.answers = r.answers.map((a) => (a.failed ? { failed: true } : a));
    assert.deepEqual(results[1], results[0]);
    assert.deepEqual(results[2], results[0]);
  });
}

describe('schemas of zod', () => {
  let packages;
  before(() => {
    packages = mkdtempSync(join(tmpdir(), 'plugin-zod-'));
    writeFileSync(join(packages, 'package.json'), '{"private":true}');
    execFileSync('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', 'zod3@npm:zod@3.25.76', 'zod4@npm:zod@4.1.12', 'zod46@npm:zod@4'], { cwd: packages, stdio: 'pipe' });
  });
  after(() => rmSync(packages, { recursive: true, force: true }));

  for (const version of ['zod3', 'zod4', 'zod46']) {
    test(`${version}: shapes and objects are listed, and check arguments`, async (t) => {
      const parent = room(t);
      const dir = plugin(parent, 'shapes', { 'index.mjs': `import { z } from 'zod';
        export function createPlugin(server) {
          const shape = { n: z.number().int().min(1), s: z.string().max(5).optional().describe('a text'), e: z.enum(['a', 'b']).default('a'), o: z.object({ q: z.array(z.boolean()) }).nullable() };
          server.registerTool('shape', { description: 'Shape', inputSchema: shape }, async (args) => ({ content: [{ type: 'text', text: JSON.stringify(args) }] }));
          server.tool('old', 'Old', { a: z.string().transform((s) => s.length), u: z.union([z.literal('x'), z.number()]).optional() }, async (args) => ({ content: [{ type: 'text', text: JSON.stringify(args) }] }));
          server.registerPrompt('p', { argsSchema: { who: z.string().describe('whom'), how: z.string().optional() } }, async ({ who }) => ({ messages: [{ role: 'user', content: { type: 'text', text: who } }] }));
        }` }, { capabilities: { tools: ['shape', 'old'], prompts: ['p'] } });
      cpSync(join(packages, 'node_modules', version), join(dir, 'dist/node_modules/zod'), { recursive: true, filter: (f) => !/\.(ts|cts|mts|map)$|\/src(\/|$)/.test(f) });
      (await import('../testdata/helpers.js')).hash(dir);
      for (const tier of [2, 3]) {
        const { session, failed } = await load(t, dir, tier);
        assert.equal(failed, undefined, `tier ${tier}: ${failed}`);
        const { inputSchema: shape } = session.tools.find((x) => x.name === 'shape');
        assert.equal(shape.type, 'object');
        assert.deepEqual(shape.required, ['n', 'o']);
        assert.equal(shape.properties.n.type, 'integer');
        assert.equal(shape.properties.n.minimum, 1);
        assert.equal(shape.properties.s.maxLength, 5);
        assert.equal(shape.properties.s.description, 'a text');
        assert.deepEqual(shape.properties.e, { ...shape.properties.e, type: 'string', enum: ['a', 'b'], default: 'a' });
        assert.deepEqual(session.prompts[0].arguments, [{ name: 'who', description: 'whom', required: true }, { name: 'how', required: false }]);
        const text = async (name, args) => (await session.callTool(name, args)).content[0].text;
        assert.equal(await text('shape', { n: 2, o: null, more: 1 }), '{"n":2,"e":"a","o":null}');
        assert.equal(await text('old', { a: 'four', u: 'x' }), '{"a":4,"u":"x"}');
        await assert.rejects(session.callTool('shape', { n: 0, o: { q: [1] } }), (e) => e.name === 'validationError' && /n:.*o\.q\.0:/.test(e.message));
        assert.equal((await session.getPrompt('p', { who: 'me' })).messages[0].content.text, 'me');
        await assert.rejects(session.getPrompt('p', {}), { name: 'validationError' });
      }
    });
  }
});

test('a tier says what it cannot give, and which can, before anything runs', async (t) => {
  const parent = room(t);
  const cases = {
    'needs-files': [`require('node:fs')`, { permissions: { fsRead: true } }, /permissions\.fsRead.*tier 3/],
    'needs-exec': [`require('node:child_process')`, { permissions: { exec: true } }, /permissions\.exec.*tier 3/],
    'needs-os': [`require('os')`, {}, /node:os.*tier 3/],
    'needs-crypto': [`require('node:crypto')`, {}, /node:crypto.*tier 3/],
    'needs-sdk': [`require('@modelcontextprotocol/sdk/types.js')`, {}, /@modelcontextprotocol\/sdk.*tiers 1 and 3/],
  };
  for (const [name, [code, manifest, expected]] of Object.entries(cases)) {
    const dir = plugin(parent, name, { 'index.js': `globalThis.ran = true; ${code}; exports.createPlugin = () => {};` }, manifest);
    const { failed } = await load(t, dir, 2);
    assert.equal(failed?.name, 'policyError', name);
    assert.match(failed.message, expected);
  }
  const waits = plugin(parent, 'waits', { 'index.mjs': `await 1; export const createPlugin = () => {};` });
  const { failed } = await load(t, waits, 2);
  assert.match(`${failed.message} ${failed.hint}`, /Top-level await.*tier 3/s);
  assert.equal((await load(t, waits, 3)).failed, undefined);
  assert.equal(globalThis.ran, undefined);
});

test('tier 3 gives the SDK and external packages from where the host has them', async (t) => {
  const parent = room(t);
  const { write } = await import('../testdata/helpers.js');
  const { open } = await import('../src/tier3.js');
  write(parent, {
    'host/node_modules/@modelcontextprotocol/sdk/package.json': { name: '@modelcontextprotocol/sdk', version: '1.0.0', main: 'index.js' },
    'host/node_modules/@modelcontextprotocol/sdk/index.js': `exports.word = require('dep').word;`,
    'host/node_modules/dep/index.js': `exports.word = 'from the SDK';`,
    'other/left/index.js': `exports.word = 'from left';`, 'other/secret.js': `exports.word = 'secret';`,
    'plugin/dist/index.mjs': `import sdk from '@modelcontextprotocol/sdk'; import left from 'left'; export function createPlugin(s) {
      s.tool('t', async () => { let r = 'refused'; try { r = (await import(${JSON.stringify(join(parent, 'other/secret.js'))})).word; } catch {} return { content: [{ type: 'text', text: [sdk.word, left.word, r].join() }] }; }); }`,
  });
  const session = await open({
    name: 'p', version: '1.0.0', root: join(parent, 'plugin'), entry: 'dist/index.mjs', manifest: {}, sdk: join(parent, 'host/node_modules/@modelcontextprotocol/sdk'),
    externals: new Map([['left', join(parent, 'other/left')]]), limits: {},
    rules: { network: false, fsRead: false, fsWrite: false, exec: false, native: false, packages: ['left'] },
  });
  t.after(() => session.close());
  assert.equal((await session.callTool('t')).content[0].text, 'from the SDK,from left,refused');
});

test('what a plugin uses is told', async (t) => {
  const dir = plugin(room(t), 'used', { 'index.js': `exports.createPlugin = (s) => { s.tool('t', () => ({ content: [] })); };` }, { capabilities: { tools: ['t'] } });
  const two = await load(t, dir, 2);
  await two.session.callTool('t');
  assert.ok((await two.session.usage()).heapBytes > 1 << 20);
  const three = await load(t, dir, 3);
  const used = await three.session.usage();
  if (process.platform === 'linux') assert.ok(used.rssBytes > 10 << 20 && used.cpuMillis > 0);
});

test('limits are numbers', async (t) => {
  const { limitsOf } = await import('../src/isolate/peer.js');
  assert.throws(() => limitsOf({ heapBytes: -1 }), { name: 'validationError' });
  assert.throws(() => limitsOf({ heapBytes: '1' }), { name: 'validationError' });
  assert.equal(limitsOf({ heapBytes: undefined }).heapBytes, 256 << 20);
});

test('a sandbox is available where the plugin gets one', async (t) => {
  const parent = room(t);
  const needs = plugin(parent, 'needs', { 'index.js': `exports.createPlugin = (s) => { s.tool('t', () => ({ content: [] })); };` }, { dependenciesPolicy: 'sandbox-required', capabilities: { tools: ['t'] } });
  const one = await load(t, needs, 1, { flags: { SANDBOX_AVAILABLE: true } });
  assert.equal(one.failed?.name, 'policyError');
  for (const tier of [2, 3]) assert.equal((await load(t, needs, tier)).failed, undefined);

  const asked = [];
  const choose = (p) => { asked.push(p.name); return p.manifest.dependenciesPolicy === 'sandbox-required' ? 2 : 1; };
  const plain = plugin(parent, 'plain', { 'index.js': `exports.createPlugin = (s) => { s.tool('u', () => ({ content: [] })); };` }, { capabilities: { tools: ['u'] } });
  const host = new PluginHost({ tier: choose, warn: () => {} });
  t.after(() => host.close());
  const { loaded, failed } = await host.load([needs, plain]);
  assert.deepEqual(failed, []);
  assert.deepEqual(loaded.map((p) => [p.name, p.tier]), [['needs', 2], ['plain', 1]]);
  assert.deepEqual(asked.sort(), ['needs', 'plain']);

  const wrong = new PluginHost({ tier: (p) => (p.manifest.dependenciesPolicy === 'sandbox-required' ? 1 : 7), warn: () => {} });
  t.after(() => wrong.close());
  assert.deepEqual((await wrong.load([needs, plain])).failed.map((f) => f.error.name).sort(), ['policyError', 'validationError']);
});

test('a native addon needs tier 3 and PLUGIN_ALLOW_NATIVE', async (t) => {
  const dir = plugin(room(t), 'native', { 'index.js': `exports.createPlugin = (s) => { s.tool('t', () => { require('./a.node'); return { content: [] }; }); };`, 'a.node': 'no addon' }, { capabilities: { tools: ['t'] } });
  for (const tier of all) assert.equal((await load(t, dir, tier, { flags: {} })).failed?.name, 'policyError', `tier ${tier}`);
  for (const tier of [1, 2]) assert.equal((await load(t, dir, tier, { flags: { PLUGIN_ALLOW_NATIVE: true, SANDBOX_AVAILABLE: true } })).failed?.name, 'policyError', `tier ${tier}`);
  const { session, failed } = await load(t, dir, 3, { flags: { PLUGIN_ALLOW_NATIVE: true } });
  assert.equal(failed, undefined);
  await assert.rejects(session.callTool('t'), (e) => !/ACCESS|restricted|permission/i.test(e.message) && /a\.node|ELF|dlopen|image|short/i.test(e.message));
});
