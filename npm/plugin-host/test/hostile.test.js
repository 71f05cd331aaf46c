// Plugins that want out, and plugins that want all: after each the host goes on, and another plugin answers.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { prelude, ways } from '../testdata/escapes.js';
import { sample, sampled } from '../testdata/sample.js';
import { dir, honest, open, started, subject, text, tools } from '../testdata/sandbox.js';

const outcome = (p) => p.then((r) => JSON.stringify(r), (e) => `${e.name}: ${e.message}`);

for (const tier of sampled ? [3] : [3, 2]) { // 2 is 3 with frozen intrinsics
  describe(tier === 2 ? 'tier 3, frozen' : 'tier 3', () => {
    let other;
    const ends = [];
    before(async () => { other = await started({ after: (f) => ends.push(f) }, tier, honest, { name: 'honest' }); });
    after(async () => { for (const end of ends.reverse()) await end(); });
    const stillWorks = async () => {
      assert.equal(await text(other, 'echo', { word: 'hello' }), 'echo hello');
      assert.equal({}.polluted, undefined);
      assert.equal([].polluted, undefined);
    };

    // -- escapes: a plugin has a process of its own, and must not reach what is outside of it.

    describe('no way out', { concurrency: 4 }, () => {
      for (const [name, body] of sample(Object.entries(ways))) {
        test(name, async (t) => {
          const mark = join(dir(t), 'mark');
          const code = tools({ t: body.replaceAll('__hallmark', 'globalThis') }, prelude(mark));
          const s = await started(t, tier, code, { limits: { callMillis: 1500 } });
          const said = [await outcome(s.callTool('t', {}))];
          await wait(20);
          said.push(await outcome(s.callTool('t', {})));
          assert.equal(existsSync(mark), false);
          await stillWorks();
        });
      }
    });

    // -- pollution

    test('prototypes of one plugin are not those of the host or of another', async (t) => {
      const s = await started(t, tier, tools({
        t: `for (const C of [Object, Array, Function, Promise, String, Error]) { try { C.prototype.polluted = 1; C.prototype.toJSON = () => 'evil'; } catch {} }
          try { JSON.parse = () => 'evil'; } catch {} try { Array.isArray = () => true; } catch {}
          return JSON.parse ? { content: [{ type: 'text', text: 'done' }] } : 0;`,
      }));
      await outcome(s.callTool('t'));
      assert.equal(Object.prototype.toJSON, undefined);
      assert.deepEqual(JSON.parse('{"a":1}'), { a: 1 });
      await stillWorks();
    });

    test('a member named __proto__ ends the plugin', async (t) => {
      const send = `require('fs').writeSync(3, '{"id":2,"result":{"content":[],"__proto__":{"polluted":1}}}\\n'); return {content: []}`;
      const s = await started(t, tier, tools({ t: send }));
      assert.match(await outcome(s.callTool('t')), /__proto__/);
      await stillWorks();
    });

    // -- time

    test('a loop in a handler ends its session', async (t) => {
      const s = await started(t, tier, tools({ t: 'for (;;);' }), { limits: { callMillis: 300 } });
      assert.match(await outcome(s.callTool('t')), /policyError|operationError/);
      await wait(1600); // it is asked once more whether it lives
      assert.match(await outcome(s.callTool('t')), /was ended/);
      await stillWorks();
    });

    test('a loop at load and a loop in createPlugin end the start', async (t) => {
      for (const code of ['for (;;);', 'exports.createPlugin = () => { for (;;); };', 'exports.createPlugin = () => new Promise(() => {});']) {
        await assert.rejects(open[tier](subject(t, code, { limits: { startMillis: 400, callMillis: 400 } })), /was ended/);
      }
      await stillWorks();
    });

    test('a loop of microtasks and one of timers end the session or wait for nobody', async (t) => {
      const s = await started(t, tier, tools({ t: 'const again = () => Promise.resolve().then(again); again(); await new Promise(() => {});' }), { limits: { callMillis: 300 } });
      assert.match(await outcome(s.callTool('t')), /Error/);
      await wait(1600);
      assert.match(await outcome(s.callTool('t')), /was ended/);
      const u = await started(t, tier, tools({ t: 'setInterval(() => { for (;;); }, 1); return {content: []};' }), { limits: { callMillis: 300 } });
      await outcome(u.callTool('t'));
      await wait(2000);
      assert.match(await outcome(u.callTool('t')), /was ended|did not answer/);
      await stillWorks();
    });

    test('a promise that never ends fails its call alone', async (t) => {
      const s = await started(t, tier, tools({ t: 'await new Promise(() => {})', u: 'return {content: []}' }), { limits: { callMillis: 200 } });
      assert.match(await outcome(s.callTool('t')), /did not answer within 200 ms/);
      assert.equal(await outcome(s.callTool('u')), '{"content":[]}');
    });

    test('calls that are not answered are bounded', async (t) => {
      const s = await started(t, tier, tools({ t: 'await new Promise(() => {})' }), { limits: { callMillis: 300, pendingCalls: 5 } });
      const all = await Promise.all(Array.from({ length: 8 }, () => outcome(s.callTool('t'))));
      assert.equal(all.filter((r) => /has not answered 5 calls/.test(r)).length, 3);
    });

    test('a pattern that backtracks without end is interrupted', async (t) => {
      const s = await started(t, tier, tools({ t: `/(a+)+$/.test('a'.repeat(60) + 'b')` }), { limits: { callMillis: 300 } });
      await outcome(s.callTool('t'));
      await wait(500);
      assert.match(await outcome(s.callTool('t')), /was ended|did not answer/);
      await stillWorks();
    });

    // -- memory

    test('a heap that grows ends its session', async (t) => {
      const s = await started(t, tier, tools({ t: `globalThis.kept ??= []; for (let i = 0; i < 2e5; i++) kept.push({ a: [i, i, i, i, i, i], b: 'x' + i }); return {content: []};` }),
        { limits: { heapBytes: 64 << 20, callMillis: 10_000 } });
      let last;
      for (let i = 0; i < 60; i++) {
        last = await outcome(s.callTool('t'));
        if (/was ended/.test(last)) break;
      }
      assert.match(last, /was ended/);
      await stillWorks();
    });

    test('a heap that grows in one call ends its session', async (t) => {
      const s = await started(t, tier, tools({ t: `const kept = []; for (;;) kept.push({ a: [1, 2, 3] });` }), { limits: { heapBytes: 64 << 20, callMillis: 20_000 } });
      assert.match(await outcome(s.callTool('t')), /was ended/);
      await stillWorks();
    });

    test('buffers count', async (t) => {
      const s = await started(t, tier, tools({ t: `globalThis.kept ??= []; for (let i = 0; i < 4; i++) kept.push(new Uint8Array(16 << 20).fill(1)); return {content: []};` }),
        { limits: { heapBytes: 64 << 20, callMillis: 10_000 } });
      let last;
      for (let i = 0; i < 20; i++) {
        last = await outcome(s.callTool('t'));
        await wait(120);
        if (/was ended/.test(last)) break;
      }
      assert.match(last, /was ended/);
      await stillWorks();
    });

    // -- messages

    test('a flood of messages ends the session', async (t) => {
      const flood = `for (let i = 0; i < 5000; i++) require('fs').writeSync(3, '{"id":99999,"result":{}}\\n'); return {content: []};`;
      const s = await started(t, tier, tools({ t: flood }));
      const first = await outcome(s.callTool('t'));
      await wait(100);
      assert.match(`${first} ${await outcome(s.callTool('t'))}`, /it answered what nobody asked/);
      await stillWorks();
    });

    test('a result that is too large, too deep or of another form is refused', async (t) => {
      const s = await started(t, tier, tools({ text: `return 'text'`, none: '', list: 'return []', form: 'return {content: {}}', items: 'return {content: [1]}' }));
      for (const name of ['text', 'none', 'list', 'form', 'items']) assert.match(await outcome(s.callTool(name)), /operationError: plugin subject gave a result/);
      const deep = await started(t, tier, tools({ t: `let o = []; for (let i = 0; i < 1000; i++) o = [o]; return {content: [], structuredContent: o};` }));
      assert.match(await outcome(deep.callTool('t')), /nested deeper/);
      const large = await started(t, tier, tools({ t: `return {content: [{type: 'text', text: 'x'.repeat(5 << 20)}]};` }));
      assert.match(await outcome(large.callTool('t')), /was ended: it sent a message of more than/);
      await stillWorks();
    });

    test('a result that refers to itself and one with BigInt fail their call', async (t) => {
      const s = await started(t, tier, tools({ self: 'const o = {content: []}; o.o = o; return o;', big: 'return {content: [], n: 1n};', ok: 'return {content: []}' }));
      for (const name of ['self', 'big']) assert.match(await outcome(s.callTool(name)), /TypeError/);
      assert.equal(await outcome(s.callTool('ok')), '{"content":[]}');
    });

    test('text of a plugin stays in quotes, on one line, and short', async (t) => {
      const s = await started(t, tier, tools({ t: `const e = new Error('a\\n\\u001b[31mred\\u202e' + 'x'.repeat(100000)); e.name = 'policyError'; throw e;` }));
      const said = await outcome(s.callTool('t'));
      assert.match(said, /^operationError: plugin subject failed: "policyError: a\\n\\u001b\[31mred\\u202ex+…"$/);
      assert.ok(said.length < 1200);
    });

    test('lists of what was registered are bounded and checked', async (t) => {
      const bad = [
        `for (let i = 0; i < 1001; i++) server.tool('t' + i, () => {});`,
        `server.registerTool('t', {description: 'x'.repeat(70000)}, () => {});`,
        `server.registerTool('t', {title: {a: 1}}, () => {});`,
        `server.registerTool('x'.repeat(300), {}, () => {});`,
        `server.registerTool('t', {annotations: 'text'}, () => {});`,
      ];
      for (const code of bad) {
        await assert.rejects(open[tier](subject(t, `exports.createPlugin = (server) => { ${code} };`)), /policyError|it registered/);
      }
      await assert.rejects(open[tier](subject(t, `exports.createPlugin = (server) => { server.tool('a', () => {}); server.tool('a', () => {}); };`)), /already registered/);
      await assert.rejects(open[tier](subject(t, 'exports.other = 1;')), /exports no createPlugin/);
      // as a compiler writes a module with a default export in CommonJS
      for (const name of ['', '.createPlugin']) {
        const s = await started(t, tier, `Object.defineProperty(exports, '__esModule', { value: true }); exports.default = {};
          exports.default${name} = (server) => { server.tool('t', async () => ({ content: [{ type: 'text', text: 'default' }] })); };`);
        assert.match(await text(s, 't'), /default/);
      }
      await assert.rejects(open[tier](subject(t, 'throw new Error("at load");')), /at load/);
      await stillWorks();
    });

    test('what is registered later is not offered', async (t) => {
      const s = await started(t, tier, `exports.createPlugin = (server) => { server.tool('t', async () => { try { server.tool('late', () => ({content: []})); return {content: ['no']}; } catch (e) { return {content: [{type: 'text', text: e.message}]}; } }); };`);
      assert.match(await text(s, 't'), /after createPlugin/);
      assert.match(await outcome(s.callTool('late')), /has no tool "late"/);
    });

    // -- ends

    test('exit and abort end the plugin', async (t) => {
      for (const way of ['process.exit(0)', 'process.reallyExit(0)', 'process.abort()']) {
        const s = await started(t, tier, tools({ t: `${way}; return {content: []};`, u: 'return {content: []};' }));
        assert.match(await outcome(s.callTool('t')), /was ended: (its process ended|it closed its channel)/, way);
        assert.match(await outcome(s.callTool('u')), /was ended/);
      }
    });

    test('exit, abort and signals of a plugin are its own end', async (t) => {
      for (const way of ['process.exit(0)', 'process.abort()', 'process.reallyExit(0)', 'process.kill(process.pid, 9)', 'process.kill(process.ppid, 9)', 'process._kill(process.ppid, 9)',
        `require('node:process').kill(process.ppid, 'SIGTERM')`, `process.getBuiltinModule && process.getBuiltinModule('process').kill(process.ppid)`, `require('os').setPriority(process.ppid, 19)`]) {
        const s = await started(t, tier, tools({ t: `${way}; return {content: []};` }), { limits: { callMillis: 500 } });
        await outcome(s.callTool('t'));
      }
      await stillWorks();
    });

    test('closing ends what still runs, and twice is once', async (t) => {
      const s = await started(t, tier, tools({ t: 'setInterval(() => {}, 5); await new Promise(() => {});' }));
      const call = outcome(s.callTool('t'));
      await wait(50);
      await s.close();
      assert.match(await call, /the host closed it/);
      await s.close();
      assert.match(await outcome(s.callTool('t')), /the host closed it/);
      await stillWorks();
    });
  });
}

test('the ways out lead out of a context that shares objects with the host', async (t) => {
  const room = dir(t);
  const naive = fileURLToPath(new URL('../testdata/naive.js', import.meta.url));
  const out = [];
  const all = Object.keys(ways), names = sample(all);
  const work = async (from) => {
    for (let i = from; i < names.length; i += 4) {
      const mark = join(room, `mark-${i}`);
      await new Promise((done) => execFile(process.execPath, [naive, mark, names[i]], { timeout: 5000, killSignal: 'SIGKILL' }, done));
      if (existsSync(mark)) out.push(names[i]);
    }
  };
  await Promise.all([0, 1, 2, 3].map(work));
  assert.ok(out.length >= (names.length < all.length ? 1 : 15), out.join(', '));
});
