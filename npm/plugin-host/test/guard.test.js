// What plugins do when they run: tier 1 keeps each to its own rules.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import fs, { existsSync, readFileSync, symlinkSync, mkdirSync } from 'node:fs';
import http from 'node:http';
import { builtinModules } from 'node:module';
import { availableParallelism } from 'node:os';
import { basename, dirname, extname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { replaceGate } from '../src/gate.js';
import { PluginHost } from '../src/index.js';
import { refuseModule } from '../src/rules.js';
import { ours, scanned } from '../testdata/corpora.js';
import { copyGate, plugin, room, sdk, write } from '../testdata/helpers.js';

const here = join(dirname(fileURLToPath(import.meta.url)), '../testdata');
const major = Number(process.versions.node.split('.')[0]);

function run(script, dir, ...args) {
  return new Promise((resolve) => {
    const env = { ...process.env, SDK: sdk ?? '', NODE_OPTIONS: '' };
    const child = execFile(process.execPath, [join(here, script), ...args], { cwd: dir, env, timeout: 60_000 }, (error, stdout, stderr) => resolve(stdout + stderr));
    child.stdin.end();
  });
}

// written is a plugin whose entry is an evasion, told which files it is about.
function written(dir, file) {
  const mark = join(dir, 'mark'), secret = join(dir, 'secret'), entry = `index${extname(file)}`;
  const code = readFileSync(file, 'utf8').replaceAll('@MARK@', mark).replaceAll('@SECRET@', secret);
  write(dir, {
    secret: 'PASSWORD=the-text-of-the-secret\n', [`p/dist/${entry}`]: code,
    'p/mcp-plugin.json': { manifestVersion: '2', name: 'p', version: '1.0.0', entry: `dist/${entry}` },
  });
  return { plugin: join(dir, 'p'), entry: join(dir, 'p/dist', entry), got: (output) => existsSync(mark) || /the-text-of-the-secret|s3cr3t/.test(output) };
}

async function each(files, f) {
  let next = 0;
  const worker = async () => {
    while (next < files.length) await f(files[next++]);
  };
  await Promise.all(Array.from({ length: 2 * availableParallelism() }, worker));
}

const applies = (file) => {
  const needs = /^\/\/ node: (\d+)/.exec(readFileSync(file, 'utf8'));
  if (needs && Number(needs[1]) > major) return false;
  return sdk !== undefined || !basename(file).startsWith('sdk-');
};

test('evasions get through where nobody stops them', async (t) => {
  await each(ours.filter(applies), async (file) => {
    const dir = room(t);
    const it = written(dir, file);
    if (sdk) {
      mkdirSync(join(dir, 'node_modules/@modelcontextprotocol'), { recursive: true });
      symlinkSync(sdk, join(dir, 'node_modules/@modelcontextprotocol/sdk'));
    }
    const output = await run('plain.js', dir, it.entry);
    assert.ok(it.got(output), `${basename(file)} does nothing: ${output}`);
  });
});

test('no evasion gets through the guard', async (t) => {
  t.diagnostic(`${ours.length} of this package, ${scanned.length} of the scanner's`);
  const through = [];
  await each([...scanned, ...ours].filter(applies), async (file) => {
    const dir = room(t);
    const it = written(dir, file);
    const output = await run('evade.js', dir, it.plugin);
    if (it.got(output)) through.push(`${file}: ${output}`);
  });
  assert.deepEqual(through, []);
});

test('the host that runs evasions runs other plugins', async (t) => {
  const dir = room(t);
  for (const file of ['index.js', 'index.mjs']) {
    const code = file === 'index.js' ? 'exports.createPlugin = (s) => { s.registerTool("t", {}, () => "s3cr3t" + require("path").sep) }'
      : 'import { sep } from "path"; export const createPlugin = (s) => { s.registerTool("t", {}, () => "s3cr3t" + sep) }';
    write(dir, { [file]: code });
    const it = written(join(dir, extname(file)), join(dir, file));
    assert.ok(it.got(await run('evade.js', dir, it.plugin)));
  }
});

// host runs plugins that hallmark would not admit.
function host(t, options) {
  const h = new PluginHost({ warn: () => {}, sdk, ...options });
  t.after(() => h.close());
  replaceGate(h, () => ({ ...copyGate(), flags: options?.flags ?? {} }));
  return h;
}

async function call(h, name, tool = 't', args = {}) {
  return h.session(name).callTool(tool, args);
}

const tries = (body, modules = false) => (modules
  ? `export const createPlugin = (s) => { s.registerTool('t', { inputSchema: { type: 'object' } }, async (args) => ${body}) }`
  : `exports.createPlugin = (s) => { s.registerTool('t', { inputSchema: { type: 'object' } }, async (args) => ${body}) }`);

test('each plugin is under its own rules, in scripts and in modules', async (t) => {
  const dir = room(t);
  const code = (m) => tries('typeof (await import(args.name)).default', m), script = tries('typeof require(args.name)');
  const all = { network: true, fsRead: true, fsWrite: true, exec: true };
  const plugins = [];
  for (const [name, permissions] of [['first', {}], ['second', all], ['third', { network: true }]]) {
    plugins.push(plugin(dir, `${name}-m`, { 'index.mjs': code(true) }, { permissions }));
    plugins.push(plugin(dir, `${name}-i`, { 'index.js': code(false) }, { permissions }));
    plugins.push(plugin(dir, `${name}-r`, { 'index.js': script }, { permissions }));
  }
  const h = host(t);
  const { failed } = await h.load(plugins);
  assert.deepEqual(failed, []);
  for (const way of ['m', 'i', 'r']) {
    for (const name of ['fs', 'node:fs', 'fs/promises', 'child_process', 'http']) {
      await assert.rejects(call(h, `first-${way}`, 't', { name }), { name: 'policyError' }, `first-${way} ${name}`);
      assert.ok(['object', 'function'].includes(await call(h, `second-${way}`, 't', { name })));
    }
    // It needs nothing to be loaded, and follows the host's calls when it is.
    await assert.rejects(call(h, `first-${way}`, 't', { name: 'domain' }), { name: 'policyError', message: /permissions\.exec/ });
    await assert.rejects(call(h, `third-${way}`, 't', { name: 'fs' }), { name: 'policyError', message: /permissions\.fsRead or permissions\.fsWrite/ });
    assert.equal(await call(h, `third-${way}`, 't', { name: 'net' }), 'object');
    await assert.rejects(call(h, `first-${way}`, 't', { name: join(dir, 'second-m/dist/index.mjs') }), /is not part of the plugin/);
    await assert.rejects(call(h, `third-${way}`, 't', { name: 'left-pad' }), /left-pad/);
  }
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

test('global functions need permissions too, and the host keeps its own', async (t) => {
  const dir = room(t);
  const server = http.createServer((q, r) => r.end('here')).listen(0, '127.0.0.1');
  await new Promise((done) => server.once('listening', done));
  t.after(() => server.close());
  const url = `http://127.0.0.1:${server.address().port}/`;
  const code = tries('args.f === "fetch" ? (await fetch(args.url)).text() : new globalThis[args.f](args.url)');
  const h = host(t);
  await h.load([plugin(dir, 'without', { 'index.js': code }), plugin(dir, 'with', { 'index.js': code }, { permissions: { network: true } })]);
  await assert.rejects(call(h, 'without', 't', { f: 'fetch', url }), { name: 'policyError', message: /permissions\.network/ });
  assert.equal(await call(h, 'with', 't', { f: 'fetch', url }), 'here');
  assert.equal(await (await fetch(url)).text(), 'here');
  assert.equal(await h.asHost(async () => (await fetch(url)).text()), 'here');
  if (globalThis.WebSocket) await assert.rejects(call(h, 'without', 't', { f: 'WebSocket', url: 'ws://127.0.0.1:1/' }), { name: 'policyError' });
  const { readFile } = await import('node:fs/promises');
  assert.match(await readFile(fileURLToPath(import.meta.url), 'utf8'), /global functions/);
  await h.close();
  assert.equal(await (await fetch(url)).text(), 'here');
});

test('a plugin that may only read does not write', async (t) => {
  const dir = room(t);
  write(dir, { file: 'text' });
  const body = `{ const fs = M; const p = args.path;
    switch (args.do) {
      case 'read': return fs.readFileSync(p, 'utf8') + await fs.promises.readFile(p, 'utf8');
      case 'stream': return new Promise((ok, no) => fs.createReadStream(p).on('data', (d) => ok(String(d))).on('error', no));
      case 'sync': return fs.writeFileSync(p, 'x');
      case 'promise': return fs.promises.writeFile(p, 'x');
      case 'callback': return new Promise((ok, no) => fs.writeFile(p, 'x', (e) => e ? no(e) : ok()));
      case 'open': return fs.openSync(p, 'w');
      case 'number': return fs.openSync(p, fs.constants.O_RDWR | fs.constants.O_CREAT);
      case 'handle': return (await fs.promises.open(p, 'a')).writeFile('x');
      case 'write stream': return new Promise((ok, no) => new fs.WriteStream(p).on('error', no).end('x', (e) => e ? no(e) : ok()));
      case 'create': return fs.createWriteStream(p);
      case 'rename': return fs.renameSync(p, p + '2');
      case 'mode': return fs.fchmodSync(fs.openSync(p), 0o777);
      case 'mode of a handle': { const h = await fs.promises.open(p); try { return await h.chmod(0o777); } finally { await h.close(); } }
      case 'rm': return fs.promises.rm(p);
      case 'named': return NAMED(p, 'x');
    } }`;
  const named = body.replace('NAMED', '(await import("fs")).writeFileSync').replace('M;', '(await import("node:fs"));');
  const required = body.replace('NAMED', 'require("fs").writeFileSync').replace('M;', 'require("fs");');
  const files = { m: ['index.mjs', `import { writeFileSync as early } from 'fs'; export const createPlugin = (s) => { s.registerTool('t', { inputSchema: { type: 'object' } }, async (args) => ${named.replace('(await import("fs")).writeFileSync', 'early')}) }`],
    r: ['index.js', `exports.createPlugin = (s) => { s.registerTool('t', { inputSchema: { type: 'object' } }, async (args) => ${required}) }`] };
  const h = host(t);
  const { failed } = await h.load(Object.entries(files).map(([name, [file, code]]) => plugin(dir, name, { [file]: code }, { permissions: { fsRead: true } })));
  assert.deepEqual(failed, []);
  for (const name of ['m', 'r']) {
    const path = join(dir, 'file');
    assert.equal(await call(h, name, 't', { do: 'read', path }), 'texttext');
    assert.equal(await call(h, name, 't', { do: 'stream', path }), 'text');
    for (const how of ['sync', 'promise', 'callback', 'open', 'number', 'handle', 'write stream', 'create', 'rename', 'rm', 'mode', 'mode of a handle', 'named']) {
      await assert.rejects(call(h, name, 't', { do: how, path }), { name: 'policyError', message: /permissions\.fsWrite/ }, `${name} ${how}`);
    }
    assert.equal(readFileSync(path, 'utf8'), 'text');
  }
  const w = plugin(dir, 'w', { 'index.js': files.r[1] }, { permissions: { fsWrite: true } });
  await h.load(w);
  for (const how of ['sync', 'promise', 'callback', 'named']) await call(h, 'w', 't', { do: how, path: join(dir, how) });
  assert.equal(readFileSync(join(dir, 'promise'), 'utf8'), 'x');
});

test('a plugin that was closed may nothing', async (t) => {
  const dir = room(t);
  const p = plugin(dir, 'p', { 'index.js': `exports.createPlugin = () => { globalThis.leftBehind = () => require('fs').readdirSync('/') }` }, { permissions: { fsRead: true } });
  const h = host(t);
  await h.load(p);
  assert.ok(globalThis.leftBehind().length > 0);
  await h.close();
  assert.throws(() => globalThis.leftBehind(), { name: 'policyError' });
});

test('the host works on while plugins are loaded', async (t) => {
  const dir = room(t);
  const h = host(t);
  assert.deepEqual((await h.load([plugin(dir, 'p', { 'index.js': tries('1') })])).failed, []);
  const server = http.createServer((_, response) => response.end('hello')).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await new Promise((done) => server.once('listening', done));
  const url = `http://127.0.0.1:${server.address().port}/`;
  const inEvent = (f) => new Promise((resolve, reject) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      f().then(resolve, reject);
    };
    port2.postMessage(1);
  });
  const got = async () => (await fetch(url, { headers: { connection: 'close' } })).text();
  const file = join(dir, 'p/mcp-plugin.json');
  assert.equal(await inEvent(got), 'hello');
  assert.equal(typeof (await inEvent(() => import('node:querystring'))).parse, 'function');
  const agent = new http.Agent({ maxSockets: 1 });
  await Promise.all([1, 2, 3].map(() => new Promise((done, fail) => http.get(url, { agent }, (r) => r.resume().on('end', done)).on('error', fail))));
  const out = fs.createReadStream(file).pipe(fs.createWriteStream(join(dir, 'copy')));
  await new Promise((done, fail) => out.on('finish', done).on('error', fail));
  assert.equal(readFileSync(join(dir, 'copy'), 'utf8'), readFileSync(file, 'utf8'));
  assert.equal(await new Promise((done, fail) => execFile(process.execPath, ['-p', '6 * 7'], (e, o) => (e ? fail(e) : done(o)))), '42\n');
  // Nothing shows whether it was the host that had this called.
  await assert.rejects(Promise.resolve(url).then(fetch), { name: 'policyError' });
});
