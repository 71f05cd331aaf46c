// Packages that plugins do not bundle: the host's SDK, and external ones at their declared versions.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { PluginHost } from '../src/index.js';
import { hallmark, plugin, room, sdk, write } from '../testdata/helpers.js';

const flags = { PLUGIN_ALLOW_RUNTIME_DEPS: true };
const declared = (...names) => ({
  dependenciesPolicy: 'external-allowed', externalDependencies: names.map((name) => ({ name, version: '1.2.3' })),
});

function host(t, options) {
  const h = new PluginHost({ tier: 1, warn: () => {}, flags, hallmark, ...options });
  t.after(() => h.close());
  return h;
}

// install puts packages beside a plugin, as 'hallmark plugin install' does.
function install(dir, version = '1.2.3') {
  write(join(dir, 'node_modules'), {
    'both/package.json': { name: 'both', version, exports: { '.': { import: './m.mjs', require: './c.cjs' }, './sub': './sub.cjs', './fs': './fs.cjs' } },
    'both/m.mjs': `import inner from 'inner'; export default 'both as a module, ' + inner;`,
    'both/c.cjs': `module.exports = 'both as a script, ' + require('inner');`,
    'both/sub.cjs': `module.exports = 'sub of both';`,
    'both/fs.cjs': `module.exports = require('f' + 's');`,
    'inner/package.json': { name: 'inner', version: '0.1.0', main: 'index.js' },
    'inner/index.js': `module.exports = 'inner';`,
    '@scope/old/package.json': { name: '@scope/old', version },
    '@scope/old/index.js': `module.exports = 'old';`,
    '@scope/old/lib/deep.js': `module.exports = 'deep';`,
  });
}

const script = `exports.createPlugin = (s) => { s.registerTool('t', {}, () => [require('both'), require('both/sub'), require('@scope/old'), require('@scope/old/lib/deep')]);
  s.registerTool('where', {}, () => require.resolve('both')) }`;
const modules = `import both from 'both'; import sub from 'both/sub'; import old from '@scope/old'; import deep from '@scope/old/lib/deep.js';
  export const createPlugin = (s) => { s.registerTool('t', {}, () => [both, sub, old, deep]) }`;

test('external packages are those beside the plugin, by require and by import', async (t) => {
  const dir = room(t);
  const r = plugin(dir, 'r', { 'index.js': script }, declared('both', '@scope/old'));
  const m = plugin(dir, 'm', { 'index.mjs': modules }, declared('both', '@scope/old'));
  install(r);
  install(m);
  const h = host(t);
  const summary = await h.load([r, m]);
  assert.deepEqual(summary.failed, []);
  assert.deepEqual(await h.session('r').callTool('t'), ['both as a script, inner', 'sub of both', 'old', 'deep']);
  assert.deepEqual(await h.session('m').callTool('t'), ['both as a module, inner', 'sub of both', 'old', 'deep']);
  assert.equal(await h.session('r').callTool('where'), join(r, 'node_modules/both/c.cjs'));
});

test('external packages for which the lock vouches come from the private copy', async (t) => {
  const dir = room(t);
  const r = plugin(dir, 'r', { 'index.js': script }, declared('both', '@scope/old'));
  const m = plugin(dir, 'm', { 'index.mjs': modules }, declared('both', '@scope/old'));
  const near = `exports.createPlugin = (s) => { s.registerTool('t', { inputSchema: { type: 'object' } }, (args) => require(args.name)) }`;
  const n = plugin(dir, 'n', { 'index.js': near }, declared('both'));
  const none = plugin(dir, 'none', { 'index.js': script }, declared('both', '@scope/old'));
  for (const p of [r, m, n, none]) install(p);
  for (const p of [r, m, n]) execFileSync(hallmark, ['plugin', 'lock', p, '--allow-runtime-deps'], { stdio: 'pipe' });
  const h = host(t);
  const { failed, warnings } = await h.load([r, m, n, none]);
  assert.deepEqual(failed, []);
  assert.deepEqual(warnings.map((w) => [w.name, w.path]), [['none', none]]);
  assert.match(warnings[0].message, /no lock says what is in there: run 'hallmark plugin install ".*\/none" --allow-runtime-deps'/);
  assert.deepEqual(await h.session('r').callTool('t'), ['both as a script, inner', 'sub of both', 'old', 'deep']);
  assert.deepEqual(await h.session('m').callTool('t'), ['both as a module, inner', 'sub of both', 'old', 'deep']);
  assert.match(await h.session('r').callTool('where'), /hallmark-plugins-.*both.c\.cjs$/);
  assert.equal(await h.session('n').callTool('t', { name: 'both/sub' }), 'sub of both');
  for (const name of ['inner', '../node_modules/inner/index.js', '@scope/old']) {
    await assert.rejects(h.session('n').callTool('t', { name }), { name: 'policyError' });
  }
});

test('another version than the declared one is refused, with the command that installs it', async (t) => {
  const dir = room(t);
  const p = plugin(dir, 'p', { 'index.js': script }, declared('both', '@scope/old'));
  let { failed } = await host(t).load(p);
  assert.equal(failed[0]?.error.name, 'policyError');
  assert.match(failed[0].error.message, /both@1\.2\.3 is not installed: run 'hallmark plugin install ".*\/p" --allow-runtime-deps'/);
  install(p, '1.2.4');
  ({ failed } = await host(t).load(p));
  assert.equal(failed[0]?.error.name, 'policyError');
  assert.match(failed[0].error.message, /both@1\.2\.3 is declared, and 1\.2\.4 is installed/);
  assert.match(failed[0].error.hint, /^hallmark plugin install ".*\/p" --allow-runtime-deps$/);
});

test('an optional package may be absent', async (t) => {
  const dir = room(t);
  const code = `let o; try { o = require('maybe') } catch (e) { o = e.code } exports.createPlugin = (s) => { s.registerTool('t', {}, () => o) }`;
  const p = plugin(dir, 'p', { 'index.js': code }, { dependenciesPolicy: 'external-allowed', externalDependencies: [{ name: 'maybe', version: '1.2.3', optional: true }] });
  const h = host(t);
  assert.deepEqual((await h.load(p)).failed, []);
  assert.equal(await h.session('p').callTool('t'), 'MODULE_NOT_FOUND');
});

test('external packages run under the rules of their plugin, and reach no further than it', async (t) => {
  const dir = room(t);
  const code = (what) => `exports.createPlugin = (s) => { s.registerTool('t', {}, () => typeof require('${what}').readFileSync) }`;
  const without = plugin(dir, 'without', { 'index.js': code('both/fs') }, declared('both'));
  const reads = plugin(dir, 'reads', { 'index.js': code('both/fs') }, { ...declared('both'), permissions: { fsRead: true } });
  install(without);
  install(reads);
  const h = host(t);
  assert.deepEqual((await h.load([without, reads])).failed, []);
  await assert.rejects(h.session('without').callTool('t'), { name: 'policyError' });
  assert.equal(await h.session('reads').callTool('t'), 'function');
  // What lies there and is not declared is not the plugin's.
  const sneaks = plugin(dir, 'sneaks', { 'index.js': `exports.createPlugin = (s) => { s.registerTool('t', { inputSchema: { type: 'object' } }, (args) => require(args.name)) }` }, declared('both'));
  install(sneaks);
  await h.load(sneaks);
  await assert.rejects(h.session('sneaks').callTool('t', { name: 'inner' }), /Cannot find module|not part of the plugin/);
});

test('what the host does not permit is not resolved', async (t) => {
  const dir = room(t);
  const p = plugin(dir, 'p', { 'index.js': script }, declared('both', '@scope/old'));
  install(p);
  const { failed } = await host(t, { flags: {} }).load(p);
  assert.equal(failed[0]?.error.name, 'policyError');
  assert.match(failed[0].error.message, /PLUGIN_ALLOW_RUNTIME_DEPS/);
});

test('two plugins are offered by a real server', { skip: !sdk && 'PLUGIN_HOST_SDK is not set' }, async (t) => {
  const dir = room(t);
  const from = (path) => import(`${sdk}/dist/esm/${path}`);
  const { McpServer } = await from('server/mcp.js');
  const { Client } = await from('client/index.js');
  const { InMemoryTransport } = await from('inMemory.js');
  const server = new McpServer({ name: 'host', version: '1.0.0' });
  const one = plugin(dir, 'one', { 'index.mjs': `
    import { ErrorCode } from '@modelcontextprotocol/sdk/types.js';
    export const createPlugin = (s) => {
      s.registerTool('code', { description: 'a code' }, async () => ({ content: [{ type: 'text', text: String(ErrorCode.InvalidParams) }] }));
      s.registerResource('note', 'note://one', { title: 'One' }, async (uri) => ({ contents: [{ uri: uri.href, text: 'a note' }] }));
    };` });
  const two = plugin(dir, 'two', { 'index.js': `
    const { ErrorCode } = require('@modelcontextprotocol/sdk/types.js');
    exports.createPlugin = async (s) => {
      s.tool('ask', 'asks', async () => ({ content: [{ type: 'text', text: 'asked ' + ErrorCode.InvalidParams }] }));
      s.registerPrompt('greet', { description: 'greets' }, async () => ({ messages: [{ role: 'user', content: { type: 'text', text: 'hello' } }] }));
    };` }, { dependencies: ['one'] });
  const h = host(t, { sdk });
  const summary = await h.load([two, one], server);
  assert.deepEqual(summary.failed, []);
  assert.deepEqual(summary.stats, { plugins: 2, pluginsLoaded: 2, pluginsSkipped: 0, pluginsFailed: 0, toolsRegistered: 2, resourcesRegistered: 1, promptsRegistered: 1 });
  const client = new Client({ name: 'client', version: '1.0.0' });
  const [a, b] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(a), client.connect(b)]);
  t.after(() => client.close());
  assert.deepEqual((await client.listTools()).tools.map((x) => x.name), ['code', 'ask']);
  assert.equal((await client.callTool({ name: 'code' })).content[0].text, '-32602');
  assert.equal((await client.callTool({ name: 'ask' })).content[0].text, 'asked -32602');
  assert.equal((await client.readResource({ uri: 'note://one' })).contents[0].text, 'a note');
  assert.equal((await client.getPrompt({ name: 'greet' })).messages[0].content.text, 'hello');
});

test('schemas of zod, in its versions, are listed, judged and enforced', { skip: !sdk && 'PLUGIN_HOST_SDK is not set' }, async (t) => {
  const dir = room(t);
  const { createRequire } = await import('node:module');
  const { dirname } = await import('node:path');
  const { cpSync } = await import('node:fs');
  const zod = dirname(createRequire(join(sdk, 'package.json')).resolve('zod'));
  for (const [name, entry] of [['three', 'zod/v3'], ['four', 'zod/v4']]) {
    const code = `const z = require('${entry}');
      exports.createPlugin = (s) => { s.registerTool('add', { inputSchema: { a: z.number(), b: z.number().optional() } }, ({ a, b }) => ({ content: [{ type: 'text', text: String(a + (b ?? 1)) }] })) }`;
    const p = plugin(dir, name, { 'index.js': code, 'placeholder.js': '' }, { capabilities: { tools: ['add'] } });
    cpSync(zod, join(p, 'dist/node_modules/zod'), { recursive: true, filter: (path) => !/\.d\.c?ts$|[/\\]src[/\\]/.test(path) });
    const { hash } = await import('../testdata/helpers.js');
    hash(p);
    const h = host(t, { sdk, flags: { STRICT_TOOLS: true, STRICT_CAPABILITIES: true } });
    const summary = await h.load(p);
    assert.deepEqual(summary.failed, [], name);
    const { inputSchema } = h.session(name).tools[0];
    assert.deepEqual([inputSchema.type, Object.keys(inputSchema.properties), inputSchema.required], ['object', ['a', 'b'], ['a']]);
    assert.equal((await h.session(name).callTool('add', { a: 2 })).content[0].text, '3');
    await assert.rejects(h.session(name).callTool('add', { a: 'x' }), { name: 'validationError' });
  }
});

test('what another tier offers is forwarded as it lists it', { skip: !sdk && 'PLUGIN_HOST_SDK is not set' }, async (t) => {
  const { forward } = await import('../src/forward.js');
  const from = (path) => import(`${sdk}/dist/esm/${path}`);
  const { McpServer } = await from('server/mcp.js');
  const { Client } = await from('client/index.js');
  const { InMemoryTransport } = await from('inMemory.js');
  const inputSchema = { type: 'object', properties: { a: { type: 'integer', minimum: 1 } }, required: ['a'] };
  const session = {
    tools: [{ name: 'a-tool', description: 'd', inputSchema, annotations: { readOnlyHint: true } }],
    resources: [{ name: 'r', uri: 'r://one', mimeType: 'text/plain' }],
    prompts: [{ name: 'p', arguments: [{ name: 'x', description: 'dx', required: true }, { name: 'y', required: false }] }, { name: 'q' }],
    callTool: async (name, args) => ({ content: [{ type: 'text', text: JSON.stringify([name, args]) }] }),
    readResource: async (uri) => ({ contents: [{ uri, text: 'read' }] }),
    getPrompt: async (name, args) => ({ messages: [{ role: 'user', content: { type: 'text', text: JSON.stringify([name, args]) } }] }),
  };
  const server = new McpServer({ name: 'host', version: '1.0.0' });
  await forward(server, session, sdk);
  const client = new Client({ name: 'client', version: '1.0.0' });
  const [a, b] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(a), client.connect(b)]);
  t.after(() => client.close());
  const [tool] = (await client.listTools()).tools;
  assert.deepEqual([tool.inputSchema.type, tool.inputSchema.properties, tool.inputSchema.required], [inputSchema.type, inputSchema.properties, inputSchema.required]);
  assert.deepEqual(tool.annotations, { readOnlyHint: true });
  assert.equal((await client.callTool({ name: 'a-tool', arguments: { a: 2 } })).content[0].text, '["a-tool",{"a":2}]');
  assert.equal((await client.readResource({ uri: 'r://one' })).contents[0].text, 'read');
  assert.deepEqual(JSON.parse(JSON.stringify((await client.listPrompts()).prompts[0].arguments)), [{ name: 'x', description: 'dx', required: true }, { name: 'y', required: false }]);
  assert.equal((await client.getPrompt({ name: 'p', arguments: { x: '1' } })).messages[0].content.text, '["p",{"x":"1"}]');
  assert.equal((await client.getPrompt({ name: 'q' })).messages[0].content.text, '["q",{}]');
  // All or nothing: the second of the same name takes the first's back.
  const other = new McpServer({ name: 'host', version: '1.0.0' });
  await assert.rejects(forward(other, { ...session, tools: [...session.tools, ...session.tools] }, sdk), /already registered/);
  await forward(other, session, sdk);
});

test('a tool with a JSON Schema is offered by a real server in each tier', { skip: !sdk && 'PLUGIN_HOST_SDK is not set' }, async (t) => {
  const dir = room(t);
  const from = (path) => import(`${sdk}/dist/esm/${path}`);
  const { McpServer } = await from('server/mcp.js');
  const { Client } = await from('client/index.js');
  const { InMemoryTransport } = await from('inMemory.js');
  const code = `exports.createPlugin = (s) => { s.registerTool('t', { inputSchema: { type: 'object', properties: { x: { type: 'string' } } } },
    async (args) => ({ content: [{ type: 'text', text: 'got ' + args.x }] })) }`;
  const p = plugin(dir, 'p', { 'index.js': code });
  for (const tier of [1, 2, 3]) {
    const h = host(t, { flags: {}, tier, sdk });
    const server = new McpServer({ name: 'h', version: '1' }), client = new Client({ name: 'c', version: '1' });
    assert.deepEqual((await h.load(p, server)).failed, []);
    const [one, other] = InMemoryTransport.createLinkedPair();
    await Promise.all([server.connect(one), client.connect(other)]);
    assert.deepEqual((await client.listTools()).tools[0].inputSchema.properties, { x: { type: 'string' } });
    assert.equal((await client.callTool({ name: 't', arguments: { x: 'y' } })).content[0].text, 'got y');
    await client.close();
    await h.close();
  }
});

test('plugins are offered beside the tools of the host, unloaded, and loaded in another version, while clients are connected', { skip: !sdk && 'PLUGIN_HOST_SDK is not set' }, async (t) => {
  const dir = room(t);
  const from = (path) => import(`${sdk}/dist/esm/${path}`);
  const { McpServer } = await from('server/mcp.js');
  const { Client } = await from('client/index.js');
  const { InMemoryTransport } = await from('inMemory.js');
  const version = (word) => plugin(join(dir, word), 'p', { 'index.js': `exports.createPlugin = (s) => {
    s.registerTool('say', { description: 'says', inputSchema: {} }, async () => ({ content: [{ type: 'text', text: '${word}' }] }));
    s.registerTool('fail', {}, async () => { throw new Error('it failed') }); }` });
  const [one, two] = [version('one'), version('two')];
  const user = plugin(dir, 'user', { 'index.js': `exports.createPlugin = (s) => { s.tool('use', async () => ({ content: [] })) }` }, { dependencies: ['p'] });
  for (const tier of [1, 2, 3]) {
    const h = host(t, { tier, sdk, flags: {} });
    const server = new McpServer({ name: 'host', version: '1' }), client = new Client({ name: 'c', version: '1' });
    server.tool('own', 'of the host', async () => ({ content: [{ type: 'text', text: 'own' }] }));
    assert.deepEqual((await h.load([one, user], server)).failed, [], `tier ${tier}`);
    const [a, b] = InMemoryTransport.createLinkedPair();
    await Promise.all([server.connect(a), client.connect(b)]);
    const listed = async () => (await client.listTools()).tools.map((x) => x.name);
    const said = async (name) => { const r = await client.callTool({ name, arguments: {} }); return [r.content[0]?.text, r.isError === true]; };
    assert.deepEqual(await listed(), ['own', 'say', 'fail', 'use']);
    assert.deepEqual([await said('own'), await said('say')], [['own', false], ['one', false]]);
    const [why, failed] = await said('fail');
    assert.ok(failed && why.includes('it failed'), why);
    const again = await h.load([two], server);
    assert.match(again.failed[0].error.message, /is there already/);
    await assert.rejects(h.unload('p'), /user depends on p: unload user first/);
    await h.unload('user');
    await h.unload('p');
    assert.deepEqual(await listed(), ['own']);
    assert.equal(h.session('p'), undefined);
    assert.deepEqual((await h.load([two], server)).failed, [], `tier ${tier}`);
    assert.deepEqual([await listed(), await said('say')], [['own', 'say', 'fail'], ['two', false]]);
    await assert.rejects(h.unload('nothing'), { name: 'validationError' });
    await client.close();
    await h.close();
  }
});

test('a plugin answers for its own resources only', { skip: !sdk && 'PLUGIN_HOST_SDK is not set' }, async (t) => {
  const dir = room(t);
  const from = (path) => import(`${sdk}/dist/esm/${path}`);
  const { McpServer, ResourceTemplate } = await from('server/mcp.js');
  const { Client } = await from('client/index.js');
  const { InMemoryTransport } = await from('inMemory.js');
  const read = (word) => `(uri) => ({ contents: [{ uri: String(uri), text: '${word}' }] })`;
  const make = (name, body) => plugin(dir, name, { 'index.js': `exports.createPlugin = (s) => { ${body} }` });
  const greedy = make('greedy', `for (const [n, match] of [['all', () => ({ x: 1 })], ['throws', () => { throw new Error('no'); }]])
    s.registerResource(n, { uriTemplate: { template: n + '://{x}', match, toString() { return n + '://{x}'; } } }, {}, ${read('greedy')});`);
  const notes = make('notes', `s.registerResource('one', 'note://one', {}, ${read('one')});
    s.registerResource('day', { uriTemplate: { template: 'day://{year}/{month}', match: (u) => { const m = /^day:..(\\d+).(\\d+)$/.exec(u); return m && { year: m[1], month: m[2] }; }, toString() { return 'day://{year}/{month}'; } } }, {},
      (uri, { year, month }) => ({ contents: [{ uri: String(uri), text: month + ' of ' + year }] }));`);
  const within = make('y-within', `s.registerResource('w', 'day://2026/11', {}, ${read('within')});`);
  const wider = make('x-wider', `s.registerResource('x', { uriTemplate: { template: 'day://{+x}', match: () => ({}), toString() { return 'day://{+x}'; } } }, {}, ${read('wider')});`);
  const around = make('z-around', `s.registerResource('a', { uriTemplate: { template: 'note://{x}', match: () => ({}), toString() { return 'note://{x}'; } } }, {}, ${read('around')});`);
  for (const tier of [1, 3]) {
    const h = host(t, { tier, sdk, flags: {} });
    const server = new McpServer({ name: 'host', version: '1' }), client = new Client({ name: 'c', version: '1' });
    server.resource('own', new ResourceTemplate('own://{x}', { list: undefined }), async (uri) => { if (uri.href.endsWith('bad')) throw new Error('the host failed'); return { contents: [{ uri: uri.href, text: 'own' }] }; });
    const summary = await h.load([greedy, notes, wider, within, around], server);
    assert.deepEqual(summary.loaded.map((p) => p.name), ['greedy', 'notes'], `tier ${tier}`);
    assert.equal(summary.failed.length, 3);
    for (const { error } of summary.failed) assert.match(error.message, /of another plugin are for the same URIs/);
    const [a, b] = InMemoryTransport.createLinkedPair();
    await Promise.all([server.connect(a), client.connect(b)]);
    const text = async (uri) => client.readResource({ uri }).then((r) => r.contents[0].text, (e) => e.message);
    assert.deepEqual([await text('note://one'), await text('day://2026/11'), await text('own://a'), await text('all://a')], ['one', '11 of 2026', 'own', 'greedy']);
    assert.match(await text('own://bad'), /the host failed/);
    assert.match(await text('other://a'), /not found/);
    assert.match(await text('day://2026/11/1'), /not found/);
    assert.equal(await text('throws://a'), 'greedy'); // by its other one, which says that it matches
    assert.equal(await text('day://2026/12'), '12 of 2026');
    assert.deepEqual((await client.listResourceTemplates()).resourceTemplates.map((r) => r.uriTemplate), ['own://{x}', 'all://{x}', 'throws://{x}', 'day://{year}/{month}']);
    await client.close();
    await h.close();
  }
});
