// What Node holds the process of a plugin in tier 3 to: files, the network, programs, its end. Each version does so in its own way.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { dir, started, text, tools } from '../testdata/sandbox.js';

describe('tier 3 alone', () => {
  test('frozen: what the language has cannot be changed, and ordinary code works', async (t) => {
    const s = await started(t, 2, tools({
      t: `const bad = []; for (const [name, f] of Object.entries({
          prototype: () => { Array.prototype.push = 1; return Array.prototype.push === 1; }, added: () => { Object.prototype.x = 1; return {}.x === 1; }, global: () => { JSON.parse = 1; return JSON.parse === 1; },
          promise: () => { Promise.prototype.then = 1; return Promise.prototype.then === 1; }, iterator: () => { [][Symbol.iterator]().__proto__.next = 1; return [...[7]][0] !== 7; },
        })) { try { if (f()) bad.push(name); } catch (e) { if (!(e instanceof TypeError)) bad.push(name + e); } }
        const o = {}; o.toString = () => 'own'; o.constructor = 1; o.valueOf = 3;
        const e = new Error('m'); e.name = 'N'; e.message = 'n'; class Sub extends Error { constructor() { super('x'); this.name = 'Sub'; } }
        return {content: [{type: 'text', text: [bad.join(), String(o), e.name, e.message, new Sub().name, Object.keys(o).join()].join(' ')}]};`,
    }));
    assert.equal(await text(s, 't'), ' own N n Sub toString,constructor,valueOf');
  });

  const linux = process.platform === 'linux';

  test('descriptors that the host was started with are not inherited', { skip: process.platform === 'win32' && 'has no such descriptors' }, async (t) => {
    const room = dir(t);
    writeFileSync(join(room, 'secret'), 'the secret');
    const here = (f) => JSON.stringify(new URL(f, import.meta.url).href);
    writeFileSync(join(room, 'host.mjs'), `import { started, text, tools } from ${here('../testdata/sandbox.js')};
      const ends = []; const t = { after: (f) => ends.push(f) };
      const s = await started(t, 3, tools({ t: "const fs = require('fs'); const out = []; for (let fd = 4; fd < 200; fd++) { const b = Buffer.alloc(40); try { const n = fs.readSync(fd, b, 0, 40, 0); if (n) out.push(b.toString('utf8', 0, n)); } catch {} } return {content: [{type: 'text', text: 'read ' + out.join()}]};" }));
      console.log(await text(s, 't')); for (const end of ends.reverse()) await end();`);
    const out = await new Promise((resolve) => {
      execFile('/bin/sh', ['-c', `exec "$0" host.mjs 20<secret 100<secret`, process.execPath], { cwd: room, timeout: 60_000 }, (e, stdout, stderr) => resolve(stdout + stderr));
    });
    assert.equal(out, 'read \n');
  });

  test('no code of V8 from a cache is run', async (t) => {
    const s = await started(t, 3, tools({
      t: `const tried = [() => new (require('vm').Script)('1'), () => require('vm').compileFunction('1'), () => require('node:vm').runInThisContext('1', {}), () => process.getBuiltinModule('vm').runInNewContext('1'),
          async () => new (await import('node:vm')).Script('1'), async () => (await import('vm')).default.createContext({})];
        const out = []; for (const f of tried) { try { await f(); out.push('ran'); } catch (e) { out.push(e.name); } } return {content: [{type: 'text', text: out.join()}]};`,
    }));
    assert.equal(await text(s, 't'), new Array(6).fill('policyError').join());
  });

  test('files outside of the plugin, processes, workers, addons and the network are refused', async (t) => {
    const room = dir(t);
    writeFileSync(join(room, 'secret'), 'the secret');
    const s = await started(t, 3, tools({
      t: `const out = []; const tried = [
          () => require('fs').readFileSync(${JSON.stringify(join(room, 'secret'))}, 'utf8'), () => require('fs').writeFileSync(${JSON.stringify(join(room, 'mark'))}, ''),
          () => require('fs').promises.readFile(${JSON.stringify(join(room, 'secret'))}, 'utf8'), () => require('fs').writeFileSync(__filename, ''),
          () => require('fs').symlinkSync(${JSON.stringify(join(room, 'secret'))}, __dirname + '/l'), () => require('child_process').execSync('id'),
          () => new (require('child_process').ChildProcess)().spawn({ file: 'id', args: ['id'] }), () => new (require('worker_threads').Worker)('1', { eval: true }),
          () => require('net').connect(9), () => fetch('http://127.0.0.1:9'), () => require('dgram').createSocket('udp4').bind(0), () => require('dns').lookup('localhost', () => {}),
          () => process.binding('fs'), () => process._linkedBinding('fs'), () => process.dlopen({ exports: {} }, '/x.node'), () => require('v8').setFlagsFromString('--allow-natives-syntax'),
          () => require('v8').writeHeapSnapshot(), () => process.loadEnvFile(${JSON.stringify(join(room, 'secret'))}), () => require('inspector').open(0), () => require('cluster').fork(),
          () => new (process.stdout._handle.constructor)(1).bind(${JSON.stringify(join(room, 'mark'))}), () => process._getActiveHandles(), () => process.report.writeReport(),
          () => require('module').register('data:text/javascript,'), () => require('tty').ReadStream && new (require('tty').ReadStream)(3).x.y, () => import('node:net').then((n) => n.createServer().listen(0)),
          () => require('http').createServer().listen(0), () => process.chdir('/'), () => require('wasi').WASI && new (require('wasi').WASI)({ version: 'preview1', preopens: { '/': '/' } }).start({ exports: {} }),
        ];
        for (const [i, f] of tried.entries()) { try { const r = await f(); out.push(i + ':' + r); } catch {} }
        return {content: [{type: 'text', text: out.join(' | ')}]};`,
    }));
    assert.equal(await text(s, 't'), '');
    assert.equal(existsSync(join(room, 'mark')), false);
    assert.doesNotMatch(s.said.join(), /the secret/);
  });

  test('no other way to the network is left where the version has no permission for it', async (t) => {
    const server = createServer((c) => { c.end(); });
    let reached = 0;
    server.on('connection', () => { reached++; });
    await new Promise((done) => server.listen(0, '127.0.0.1', done));
    t.after(() => server.close());
    const s = await started(t, 3, tools({
      t: `const port = ${server.address().port}; const u = 'http://127.0.0.1:' + port; const out = []; new Request(u); new Headers();
        const agent = globalThis[Symbol.for('undici.globalDispatcher.1')]; const stdout = process.stdout; const hooks = []; require('async_hooks').createHook({ init(id, type, trigger, resource) { hooks.push(resource); } }).enable();
        const tried = [() => agent.request({ origin: u, path: '/', method: 'GET' }), () => agent.dispatch({ origin: u, path: '/', method: 'GET' }, { onConnect() {}, onError(e) { out.push('e'); }, onHeaders() {} }),
          () => new (Object.getPrototypeOf(stdout).constructor)().connect(port), () => new (require('http').Agent)().createConnection({ port }), () => require('http').globalAgent.createConnection({ port }),
          () => require('net').Socket.prototype.connect.call({}, port), () => require('_http_client').ClientRequest && new (require('_http_client').ClientRequest)(u), () => require('_tls_wrap').connect(port, '127.0.0.1'),
          () => require('http2').connect(u), () => require('tls').connect(port), () => new (require('dns').Resolver)().resolve('a.example', () => {}), () => new (require('dns').promises.Resolver)().resolve('a.example'),
          () => new WebSocket(u), () => new EventSource(u), () => process.getBuiltinModule('net').connect(port), () => import('node:net').then((n) => n.default.connect(port)), () => import('node:net').then((n) => n.createConnection(port)),
          () => hooks.map((r) => r.handle?.constructor ?? r.constructor).filter((C) => /^(TCP|Pipe|UDP)$/.test(C?.name ?? '')).map((C) => new C(0).connect), () => require('module').createRequire('/')('net').connect(port), () => require('module')._load('net').connect(port)];
        for (const [i, f] of tried.entries()) { try { const r = await f(); if (r && !(Array.isArray(r) && r.length === 0) && r !== true) out.push(i + ':' + typeof r); } catch {} }
        await new Promise((r) => setTimeout(r, 100)); return {content: [{type: 'text', text: out.filter((x) => x !== 'e').join()}]};`,
    }));
    assert.equal(await text(s, 't'), '');
    assert.equal(reached, 0);
  });

  test('handles below sockets neither listen nor connect, on files either', async (t) => {
    const path = join(dir(t), 'socket');
    const session = await started(t, 3, tools({
      listen: `const said = [];
        for (const type of [...(require('module').builtinModules.includes('_stream_wrap') ? [require('_stream_wrap')] : []), require('tty').ReadStream, require('tty').WriteStream, ...Object.values(require('stream'))]) {
          for (let C = type; typeof C === 'function'; C = Object.getPrototypeOf(C)) {
            for (const fd of [0, 1, 2, 3]) {
              for (const make of [() => new C({ fd, readable: false, writable: false }), () => new C.prototype.constructor({ fd })]) {
                try {
                  const P = make()._handle.constructor;
                  const p = new P(1);
                  said.push(p.bind(${JSON.stringify(path)}), p.listen(1));
                } catch (e) { said.push(e.code); }
              }
            }
          }
        }
        return { content: [{ type: 'text', text: 'tried ' + (said.length > 20) }] };`,
    }));
    assert.equal(await text(session, 'listen'), 'tried true');
    assert.equal(existsSync(path), false);
  });

  test('with permissions these are given, where the host says', async (t) => {
    const room = dir(t);
    writeFileSync(join(room, 'data'), 'some data');
    const s = await started(t, 3, tools({
      t: `const fs = require('fs'); fs.writeFileSync(${JSON.stringify(join(room, 'out'))}, 'x'); const r = [fs.readFileSync(${JSON.stringify(join(room, 'data'))}, 'utf8'), require('child_process').execFileSync('/bin/echo', ['run'], { encoding: 'utf8' }).trim()];
        try { fs.readFileSync('/etc/hostname'); r.push('all'); } catch (e) { r.push(e.code); } return {content: [{type: 'text', text: r.join(' ')}]};`,
    }), { rules: { fsRead: true, fsWrite: true, exec: true }, readable: [room], writable: [room] });
    assert.equal(await text(s, 't'), 'some data run ERR_ACCESS_DENIED');
    assert.equal(readFileSync(join(room, 'out'), 'utf8'), 'x');
  });

  test('with files, no module opens any that the permission model is not asked about', async (t) => {
    const room = dir(t);
    const file = join(room, 'x.db');
    const s = await started(t, 3, tools({
      t: `const said = [];
        const tries = [() => new (require('node:sqlite').DatabaseSync)(${JSON.stringify(file)}).exec('create table a (b)'),
          () => new (process.getBuiltinModule('node:sqlite').DatabaseSync)(${JSON.stringify(file)}),
          () => require('trace_events').createTracing({ categories: ['node'] }).enable(),
          () => new (require('wasi').WASI)({ version: 'preview1', preopens: { '/': '/' } })];
        for (const one of tries) { try { one(); said.push('done'); } catch (e) { said.push(e.message); } }
        try { await import('node:sqlite').then((m) => new m.DatabaseSync(${JSON.stringify(file)})); said.push('done'); } catch (e) { said.push(e.message); }
        return {content: [{type: 'text', text: said.join('; ')}]};`,
    }), { rules: { fsRead: true, fsWrite: true } });
    const said = await text(s, 't');
    assert.doesNotMatch(said, /done/);
    assert.match(said, /refused in tier 3 without the permission exec: Node's permission model does not hold what it opens/);
    assert.equal(existsSync(file), false);
  });

  test('the environment and the arguments of the host are not handed on', async (t) => {
    process.env.A_SECRET_OF_THE_HOST = 'the secret';
    t.after(() => { delete process.env.A_SECRET_OF_THE_HOST; });
    const s = await started(t, 3, tools({ t: `return {content: [{type: 'text', text: JSON.stringify([process.env, process.argv.length, process.execArgv.filter((a) => a.includes('secret'))])}]};` }));
    const [env, n] = JSON.parse(await text(s, 't'));
    assert.deepEqual(Object.keys(env).filter((k) => k !== 'HALLMARK_PLUGIN'), []);
    assert.equal(n, 2);
  });

  const alive = (mark) => readdirSync('/proc').filter((p) => /^\d+$/.test(p)).filter((p) => {
    try { return readFileSync(`/proc/${p}/cmdline`, 'latin1').includes(mark) && !/State:\s+Z/.test(readFileSync(`/proc/${p}/status`, 'latin1')); } catch { return false; }
  });

  test('processes that a plugin leaves behind end with it', { skip: !linux && 'reads /proc' }, async (t) => {
    const seconds = `9${Math.floor(Math.random() * 1e6)}`;
    const s = await started(t, 3, tools({
      t: `const { spawn } = require('child_process'); spawn('/bin/sh', ['-c', 'sleep ${seconds} & exec sleep ${seconds}'], { stdio: 'ignore' });
        spawn('/bin/sh', ['-c', '(sleep ${seconds} &) ; setsid sleep ${seconds} & sleep 0.1'], { detached: true, stdio: 'ignore' }).unref(); await new Promise((r) => setTimeout(r, 300)); return {content: []};`,
    }), { rules: { exec: true } });
    await s.callTool('t');
    assert.ok(alive(seconds).length >= 3);
    await s.close();
    await wait(50);
    assert.deepEqual(alive(seconds), []);
  });

  test('a host that is killed leaves no plugin behind', { skip: !linux && 'reads /proc' }, async (t) => {
    const room = dir(t);
    const script = join(room, 'host.mjs');
    const name = `left-${Math.random().toString(36).slice(2)}`;
    const here = (f) => JSON.stringify(new URL(f, import.meta.url).href);
    writeFileSync(script, `import { subject } from ${here('../testdata/sandbox.js')}; import { open } from ${here('../src/tier3.js')};
      const s = await open(subject(undefined, 'exports.createPlugin = (s) => { s.tool("t", () => { for (;;); }); };', { entry: 'dist/${name}.js', limits: { callMillis: 60000 } }));
      console.log('ready'); s.callTool('t').catch(() => {}); setInterval(() => {}, 1000);`);
    for (const signal of ['SIGKILL', 'SIGTERM']) {
      const host = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'inherit'] });
      await new Promise((resolve) => host.stdout.once('data', resolve));
      await wait(100);
      assert.ok(alive(name).length > 0);
      host.kill(signal);
      await new Promise((resolve) => host.once('exit', resolve));
      for (let i = 0; i < 40 && alive(name).length > 0; i++) await wait(50);
      assert.deepEqual(alive(name), [], signal);
    }
  });

  test('a host that ends by itself ends', async (t) => {
    const room = dir(t);
    const script = join(room, 'host.mjs');
    const here = (f) => JSON.stringify(new URL(f, import.meta.url).href);
    writeFileSync(script, `import { subject, open, honest, text } from ${here('../testdata/sandbox.js')};
      for (const tier of [1, 3]) { const s = await open[tier](subject(undefined, honest)); console.log(await text(s, 'echo', { word: tier })); }`);
    const out = await new Promise((resolve, reject) => execFile(process.execPath, [script], { timeout: 10_000 }, (e, stdout) => (e ? reject(e) : resolve(stdout))));
    assert.equal(out, 'echo 1\necho 3\n');
  });
});
