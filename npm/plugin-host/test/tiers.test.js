// Ordinary plugins, checked by hallmark, give the same in each tier that can run them.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { generateKeyPairSync, sign } from 'node:crypto';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { PluginHost } from '../src/index.js';
import { hallmark, plugin, room, write } from '../testdata/helpers.js';

const all = [1, 2, 3]; // 2 is 3 with frozen intrinsics

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
      assert.deepEqual(said.filter((m) => !/tier 2 was asked for/.test(m)), [], `tier ${tier}`);
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

// Node before 20.19 asks for the nearest package.json of each .js, and fails at the first that it may not read.
test('tier 3: a package.json ends what Node looks for above a plugin', async (t) => {
  const dir = plugin(room(t), 'nearest', { 'index.js': `const { readFileSync } = require('node:fs');
    exports.createPlugin = (server) => server.tool('nearest', {}, async () => ({ content: [{ type: 'text', text: readFileSync(__dirname + '/../../package.json', 'utf8') }] }));` },
  { capabilities: { tools: ['nearest'] }, permissions: { fsRead: true } });
  const { session, failed } = await load(t, dir, 3);
  assert.equal(failed, undefined, String(failed));
  assert.equal((await session.callTool('nearest', {})).content[0].text, '{}');
});

test('a module that Node reads as CommonJS: the hint says what its author does', async (t) => {
  const dir = plugin(room(t), 'old', { 'index.js': `throw new SyntaxError('Cannot use import statement outside a module');` });
  for (const tier of [1, 3]) assert.match((await load(t, dir, tier)).failed.hint, /"type": "module"/);
});

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
      for (const tier of all) {
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

test('a plugin runs in the process of its host if a trusted key signed all that runs, else in one of its own', async (t) => {
  const parent = room(t);
  const run = (...args) => execFileSync(hallmark, args, { stdio: 'pipe' });
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  write(parent, { 'k.pem': privateKey.export({ type: 'pkcs8', format: 'pem' }), 'k.pub': publicKey.export({ type: 'spki', format: 'pem' }) });
  const code = `exports.createPlugin = (s) => { s.tool('t', () => ({ content: [] })); };`;
  const make = (name, more) => plugin(parent, name, { 'index.js': code }, { capabilities: { tools: ['t'] }, ...more });
  const external = { dependenciesPolicy: 'external-allowed', externalDependencies: [{ name: 'left', version: '1.0.0' }] };
  const plugins = {
    unsigned: make('unsigned'), whole: make('whole'), hash: make('hash'), sandbox: make('sandbox', { dependenciesPolicy: 'sandbox-required' }),
    'hash-and-package': make('hash-and-package', external), 'whole-and-package': make('whole-and-package', external),
  };
  for (const [name, dir] of Object.entries(plugins)) {
    if (name.endsWith('package')) write(dir, { 'node_modules/left/package.json': { name: 'left', version: '1.0.0' }, 'node_modules/left/index.js': '' });
    if (name.startsWith('hash')) { // as the guide signs
      const manifest = JSON.parse(readFileSync(join(dir, 'mcp-plugin.json'), 'utf8'));
      const signature = sign(null, Buffer.from(manifest.dist.hash), privateKey).toString('base64');
      write(dir, { 'mcp-plugin.json': { ...manifest, signatures: [{ alg: 'ed25519', signature, keyId: 'acme' }] } });
    } else if (name !== 'unsigned') {
      run('plugin', 'sign', dir, '--key', join(parent, 'k.pem'), '--id', 'acme');
    }
  }
  const asked = [];
  const options = { warn: () => {}, flags: { PLUGIN_ALLOW_RUNTIME_DEPS: true } };
  const tiersOf = async (more) => {
    const host = new PluginHost({ ...options, ...more });
    t.after(() => host.close());
    const { loaded, failed } = await host.load(Object.values(plugins));
    assert.deepEqual(failed, []);
    return Object.fromEntries(loaded.map((p) => [p.name, p.tier]));
  };
  const three = Object.fromEntries(Object.keys(plugins).map((name) => [name, 3]));
  assert.deepEqual(await tiersOf(), three); // nobody trusts the key yet
  run('trust', 'add', join(parent, 'k.pub'), '--id', 'acme');
  assert.deepEqual(await tiersOf(), { ...three, whole: 1, hash: 1, 'whole-and-package': 1 });
  const choose = (p) => { asked.push([p.name, p.trusted]); return 3; };
  assert.deepEqual(await tiersOf({ tier: choose }), three);
  assert.deepEqual(asked.sort(), [['hash', true], ['hash-and-package', false], ['sandbox', true], ['unsigned', false], ['whole', true], ['whole-and-package', true]]);
  run('trust', 'revoke', 'acme', '--reason', 'lost');
  const host = new PluginHost(options);
  t.after(() => host.close());
  const { loaded, failed } = await host.load(Object.values(plugins));
  assert.deepEqual(loaded.map((p) => [p.name, p.tier]), [['unsigned', 3]]);
  assert.ok(failed.every((f) => f.error.name === 'signatureError'));
});

test('who asks for tier 2 is told that it is tier 3', async (t) => {
  const dir = plugin(room(t), 'p', { 'index.js': `exports.createPlugin = (s) => { s.tool('t', () => ({ content: [{ type: 'text', text: require('os').EOL + Object.isFrozen(Array.prototype) }] })); };` }, { capabilities: { tools: ['t'] } });
  const { host, session, said } = await load(t, dir, 2);
  assert.deepEqual(said, ['plugin p: tier 2 was asked for, and is tier 3 with the objects of the language frozen']);
  assert.equal((await session.callTool('t')).content[0].text, '\ntrue');
  assert.equal((await host.load([])).loaded.length, 0);
});

test('registrations are there in each tier, as calls of a server', async (t) => {
  const dir = plugin(room(t), 'p', { 'index.js': `exports.createPlugin = (s) => {
    s.registerTool('t', { description: 'd', inputSchema: { type: 'object' } }, (args) => ({ content: [{ type: 'text', text: JSON.stringify(args) }] }));
    s.registerResource('r', 'r://one', { mimeType: 'text/plain' }, (uri) => ({ contents: [{ uri: uri.href, text: 'r' }] }));
    s.registerPrompt('p', { description: 'dp' }, () => ({ messages: [] })); s.registerTool('gone', {}, () => {}).remove(); };` });
  for (const tier of all) {
    const { session } = await load(t, dir, tier);
    assert.deepEqual(session.captured.map(({ kind, method, name }) => [kind, method, name]), [['tool', 'registerTool', 't'], ['resource', 'registerResource', 'r'], ['prompt', 'registerPrompt', 'p']]);
    const [tool, resource, prompt] = session.captured.map((c) => c.args);
    assert.equal(tool[0].description, 'd');
    assert.equal((await tool[1]({ a: 1 })).content[0].text, '{"a":1}');
    assert.equal(resource[0], 'r://one');
    assert.equal((await resource[2](new URL('r://one'))).contents[0].text, 'r');
    assert.deepEqual(await prompt[1]({}), { messages: [] });
  }
});

test('a directory that the host does not give is named, with the option that gives it', async (t) => {
  const parent = room(t);
  write(parent, { 'data/file': 'text' });
  const dir = plugin(parent, 'p', { 'index.js': `const fs = require('fs'); exports.createPlugin = (s) => {
    s.tool('r', () => ({ content: [{ type: 'text', text: fs.readFileSync(${JSON.stringify(join(parent, 'data/file'))}, 'utf8') }] }));
    s.tool('w', async () => { await fs.promises.writeFile(${JSON.stringify(join(parent, 'data/file'))}, 'x'); return { content: [] }; }); };` }, { permissions: { fsRead: true, fsWrite: true } });
  const { session } = await load(t, dir, 3);
  await assert.rejects(session.callTool('r'), /no access to .*data.file: .*fsRead, and the host to list its directory in the option readable/);
  await assert.rejects(session.callTool('w'), /no access to .*data.file: .*fsWrite, and the host to list its directory in the option writable/);
  const given = await load(t, dir, 3, { readable: [join(parent, 'data')] });
  assert.equal((await given.session.callTool('r')).content[0].text, 'text');
});

test('tier 3 gives the SDK and external packages from where the host has them', async (t) => {
  const parent = room(t);
  const { open } = await import('../src/tier3.js');
  write(parent, {
    'host/node_modules/@modelcontextprotocol/sdk/package.json': { name: '@modelcontextprotocol/sdk', version: '1.0.0', main: 'index.js', dependencies: { dep: '1' } },
    'host/node_modules/dep/package.json': { name: 'dep' }, 'host/node_modules/private/package.json': { name: 'private' }, 'host/node_modules/private/index.js': `exports.word = 'private';`,
    'host/node_modules/@modelcontextprotocol/sdk/index.js': `exports.word = require('dep').word;`,
    'host/node_modules/dep/index.js': `exports.word = 'from the SDK';`,
    'other/left/index.js': `exports.word = 'from left';`, 'other/secret.js': `exports.word = 'secret';`,
    'plugin/dist/index.mjs': `import sdk from '@modelcontextprotocol/sdk'; import left from 'left'; export function createPlugin(s) {
      s.tool('t', async () => { const r = []; for (const path of ${JSON.stringify([join(parent, 'other/secret.js'), join(parent, 'host/node_modules/private/index.js')])}) { try { r.push((await import(path)).word); } catch { r.push('refused'); } } return { content: [{ type: 'text', text: [sdk.word, left.word, ...r].join() }] }; }); }`,
  });
  const session = await open({
    name: 'p', version: '1.0.0', root: join(parent, 'plugin'), entry: 'dist/index.mjs', manifest: {}, sdk: join(parent, 'host/node_modules/@modelcontextprotocol/sdk'),
    externals: new Map([['left', join(parent, 'other/left')]]), limits: {},
    rules: { network: false, fsRead: false, fsWrite: false, exec: false, native: false, packages: ['left'] },
  });
  t.after(() => session.close());
  assert.equal((await session.callTool('t')).content[0].text, 'from the SDK,from left,refused,refused');
});

test('what an external package says that it depends on is read in its own node_modules only', async (t) => {
  const parent = room(t);
  const { open } = await import('../src/tier3.js');
  const app = join(parent, 'app'), modules = join(app, 'plugins/p/node_modules');
  write(app, {
    'package.json': { name: 'app' }, '.env': 'the secret', 'node_modules/private/package.json': { name: 'private' }, 'node_modules/private/key': 'the secret',
    'plugins/p/node_modules/left/package.json': { name: 'left', dependencies: { '../../..': '1', '../../../..': '1', private: '1', linked: '1', near: '1' } },
    'plugins/p/node_modules/left/index.js': `exports.word = require('near').word;`, 'plugins/p/node_modules/near/package.json': { name: 'near' }, 'plugins/p/node_modules/near/index.js': `exports.word = 'near';`,
    'plugin/dist/index.js': `const fs = require('fs'); exports.createPlugin = (s) => { s.tool('t', () => { const r = [require('left').word];
      for (const path of ${JSON.stringify([join(app, '.env'), join(app, 'node_modules/private/key'), join(modules, 'linked/key')])}) { try { r.push(fs.readFileSync(path, 'utf8')); } catch { r.push('refused'); } }
      return { content: [{ type: 'text', text: r.join() }] }; }); };`,
  });
  symlinkSync(join(app, 'node_modules/private'), join(modules, 'linked'));
  const session = await open({
    name: 'p', version: '1.0.0', root: join(app, 'plugin'), entry: 'dist/index.js', manifest: {}, externals: new Map([['left', join(modules, 'left')]]), limits: {},
    rules: { network: false, fsRead: false, fsWrite: false, exec: false, native: false, packages: ['left'] },
  });
  t.after(() => session.close());
  assert.equal((await session.callTool('t')).content[0].text, 'near,refused,refused,refused');
});

test('what a plugin uses is told', async (t) => {
  const dir = plugin(room(t), 'used', { 'index.js': `exports.createPlugin = (s) => { s.tool('t', () => ({ content: [] })); };` }, { capabilities: { tools: ['t'] } });
  const one = await load(t, dir, 1);
  assert.ok((await one.session.usage()).heapBytes > 1 << 20);
  const three = await load(t, dir, 3);
  const used = await three.session.usage();
  if (process.platform === 'linux') assert.ok(used.rssBytes > 10 << 20 && used.cpuMillis > 0);
});

test('a plugin in tier 3 has the variables that its host gives, and with exec finds programs', async (t) => {
  const parent = room(t);
  const code = `exports.createPlugin = (s) => { s.tool('t', () => ({ content: [{ type: 'text', text: JSON.stringify([process.env.TOKEN ?? null, process.env.PATH ?? null, process.env.HOME ?? null]) }] })); };`;
  const plugins = [plugin(parent, 'one', { 'index.js': code }, { permissions: { exec: true } }), plugin(parent, 'two', { 'index.js': code })];
  const host = new PluginHost({ tier: 3, warn: () => {}, variables: ({ name }) => (name === 'one' ? { TOKEN: 'for one' } : undefined) });
  t.after(() => host.close());
  assert.deepEqual((await host.load(plugins)).failed, []);
  const env = async (name) => JSON.parse((await host.session(name).callTool('t')).content[0].text);
  assert.deepEqual(await env('one'), ['for one', process.env.PATH, null]);
  assert.deepEqual(await env('two'), [null, null, null]);
});

test('limits are numbers', async (t) => {
  const { limitsOf } = await import('../src/isolate/peer.js');
  assert.throws(() => limitsOf({ heapBytes: -1 }), { name: 'validationError' });
  assert.throws(() => limitsOf({ heapBytes: '1' }), { name: 'validationError' });
  assert.throws(() => limitsOf({ heapbytes: 1 }), /unknown limit heapbytes/);
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
  assert.deepEqual(loaded.map((p) => [p.name, p.tier]), [['needs', 3], ['plain', 1]]);
  assert.deepEqual(asked.sort(), ['needs', 'plain']);

  const wrong = new PluginHost({ tier: (p) => (p.manifest.dependenciesPolicy === 'sandbox-required' ? 1 : 7), warn: () => {} });
  t.after(() => wrong.close());
  assert.deepEqual((await wrong.load([needs, plain])).failed.map((f) => f.error.name).sort(), ['policyError', 'validationError']);
});

test('a native addon needs tier 3 and PLUGIN_ALLOW_NATIVE', async (t) => {
  const dir = plugin(room(t), 'native', { 'index.js': `exports.createPlugin = (s) => { s.tool('t', () => { require('./a.node'); return { content: [] }; }); };`, 'a.node': 'no addon' }, { capabilities: { tools: ['t'] } });
  for (const tier of all) assert.equal((await load(t, dir, tier, { flags: {} })).failed?.name, 'policyError', `tier ${tier}`);
  assert.equal((await load(t, dir, 1, { flags: { PLUGIN_ALLOW_NATIVE: true, SANDBOX_AVAILABLE: true } })).failed?.name, 'policyError');
  const { session, failed } = await load(t, dir, 3, { flags: { PLUGIN_ALLOW_NATIVE: true } });
  assert.equal(failed, undefined);
  await assert.rejects(session.callTool('t'), (e) => !/ACCESS|restricted|permission/i.test(e.message) && /a\.node|ELF|dlopen|image|short/i.test(e.message));
});
