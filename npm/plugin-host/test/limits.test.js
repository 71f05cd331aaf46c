// What the host holds the process of a plugin in tier 3 to, in any version of Node: processor time, messages, output.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { open, started, subject, tools } from '../testdata/sandbox.js';

const outcome = (p) => p.then((r) => JSON.stringify(r), (e) => `${e.name}: ${e.message}`);

describe('tier 3 alone', () => {
  test('processor time is limited between calls too', async (t) => {
    const s = await started(t, 3, tools({
      burn: `setInterval(() => { const end = Date.now() + 90; while (Date.now() < end); }, 100); return {content: []};`,
      rest: `setInterval(() => { const end = Date.now() + 1; while (Date.now() < end); }, 100); return {content: []};`,
    }), { limits: { callMillis: 1500 } });
    // Calls that somebody makes do not hide it.
    const u = await started(t, 3, tools({ burn: `const go = () => { const end = Date.now() + 15; while (Date.now() < end); setImmediate(go); }; setTimeout(go, 1); return {content: []};`, t: 'return {content: []};' }), { limits: { callMillis: 1500 } });
    await u.callTool('burn');
    let called = '';
    for (let i = 0; i < 60 && !/was ended/.test(called); i++) {
      await wait(500);
      called = await outcome(u.callTool('t'));
    }
    assert.match(called, /processor time while nobody called it/);
    const other = await started(t, 3, tools({ t: `return {content: []};`, rest: `setInterval(() => {}, 20); return {content: []};` }), { limits: { callMillis: 1500 } });
    await s.callTool('burn');
    await other.callTool('rest');
    let last = '';
    for (let i = 0; i < 10 && !/was ended/.test(last); i++) {
      await wait(3000); // in which nobody calls
      last = await outcome(s.callTool('rest'));
    }
    assert.match(last, /was ended: it used more than 1500 ms of processor time while nobody called it/);
    assert.equal(await outcome(other.callTool('t')), '{"content":[]}');
  });

  test('messages on the channel are those of a stranger', async (t) => {
    for (const bytes of ['"x"', '[]', 'null', '{', '{"id":2,"error":null}', '{"id":2,"error":{"message":{"a":1}}}', '{"id":"2","result":1}', '{"id":-1}', '\\u0000\\u0001', '{"log":"error"}', '{"log":"a","text":{"toString":1}}', '{"id":2,"error":{"message":{"toString":1},"name":{"toString":null}}}', '\u001b[2J', '{"fetch":1,"url":"http://127.0.0.1"}', '[['.repeat(100)]) {
      const s = await started(t, 3, tools({ t: `require('fs').writeSync(3, ${JSON.stringify(bytes)} + '\\n'); return {content: []};` }), { limits: { callMillis: 500 } });
      assert.equal(typeof await outcome(s.callTool('t')), 'string');
    }
    const s = await started(t, 3, tools({ t: `const fs = require('fs'); const b = Buffer.alloc(1 << 20, 120); for (let i = 0; i < 64; i++) fs.writeSync(3, b); return {content: []};` }));
    assert.match(await outcome(s.callTool('t')), /was ended/);
    const closed = await started(t, 3, tools({ t: `require('fs').closeSync(3); return {content: []};` }), { limits: { callMillis: 500 } });
    await outcome(closed.callTool('t'));
    await wait(1600);
    assert.match(await outcome(closed.callTool('t')), /was ended/);
  });

  test('what was not asked for is not read, and what is said is quoted', async (t) => {
    const all = '{"a":[' + '[],'.repeat(100_000) + '[]]}\\n';
    const s = await started(t, 3, tools({ t: `setTimeout(() => { require('fs').writeSync(3, '${all}'); }, 50); return {content: []};` }));
    assert.equal(await outcome(s.callTool('t')), '{"content":[]}');
    let last = '';
    for (let i = 0; i < 50 && !/was ended/.test(last); i++) {
      await wait(300); // in which it sends that
      last = await outcome(s.callTool('t'));
    }
    assert.match(last, /was ended: it answered what nobody asked/);
    const u = await started(t, 3, tools({ t: `require('fs').writeSync(3, '\\u001b[2J\\u001b]0;owned\\u0007\\n'); await new Promise(() => {});` }));
    assert.match(await outcome(u.callTool('t')), /^policyError: [\x20-\x7e]*no JSON"?$/);
  });

  test('output is told once a second, whole or not', async (t) => {
    const s = await started(t, 3, tools({ t: `const fs = require('fs'); const end = Date.now() + 1500; while (Date.now() < end) { fs.writeSync(1, 'x'); for (let i = 0; i < 1e4; i++); } return {content: []};` }));
    await outcome(s.callTool('t'));
    assert.ok(s.said.length >= 1 && s.said.length < 10, `${s.said.length} lines`);
  });

  test('a list that would break that of a client is refused', async (t) => {
    const tool = (more) => `{tools: [{name: 'e', inputSchema: {type: 'object'}, ...${more}}]}`;
    const bad = [tool(`{inputSchema: {type: 'string'}}`), tool(`{inputSchema: {type: 'object', properties: 5}}`), tool(`{inputSchema: {type: 'object', properties: {a: 5}}}`),
      tool(`{inputSchema: {type: 'object', required: 'a'}}`), tool(`{annotations: {readOnlyHint: 'yes'}}`), tool(`{annotations: {title: 5}}`), tool(`{icons: [{}]}`),
      tool(`{outputSchema: {type: 'array'}}`), tool(`{name: 'e\\u001b[2J'}`), tool(`{name: 'e\\u202e'}`), `{resources: [{name: 'r', uri: 'no scheme'}]}`,
      `{resources: [{name: 'r', uriTemplate: '{x}'}]}`, `{resources: [{name: 'r', uri: 'a://\\n'}]}`, `{prompts: [{name: 'p', icons: [{src: 1}]}]}`];
    for (const list of bad) {
      const code = `require('fs').writeSync(3, JSON.stringify({id: 1, result: ${list}}) + '\\n'); setTimeout(() => {}, 1e6); exports.createPlugin = () => new Promise(() => {});`;
      await assert.rejects(open[3](subject(t, code)), /it registered/, list);
    }
    const kept = await started(t, 3, `exports.createPlugin = (s) => { for (const [i, o] of [{ type: 'object', properties: { a: { type: 'string' } } }, { $ref: '#/nope' }, { properties: { a: { pattern: '(' } } }, { properties: { a: { type: 'nope' } } }].entries())
      s.registerTool('t' + i, { outputSchema: { type: 'object', ...o } }, () => ({ content: [] })); };`);
    assert.deepEqual(kept.tools.map((x) => x.outputSchema !== undefined), [true, false, false, false]);
  });

  test('output without an end ends the session', async (t) => {
    const s = await started(t, 3, tools({ t: `for (let i = 0; i < 200; i++) process.stdout.write('x'.repeat(1 << 16)); return {content: []};` }));
    await outcome(s.callTool('t'));
    await wait(200);
    assert.match(await outcome(s.callTool('t')), /printed without an end/);
  });
});
