// Requests of sandboxed plugins. No plugin of tier 1 is in this process, whose guard would ask whose they are.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { PluginHost } from '../src/index.js';
import { plugin, room } from '../testdata/helpers.js';

async function load(t, dir, tier) {
  const host = new PluginHost({ tier, warn: () => {} });
  t.after(() => host.close());
  const { loaded, failed } = await host.load([dir]);
  assert.deepEqual(failed, []);
  return { session: host.session(loaded[0].name) };
}

test('tier 2 fetches for a plugin with permissions.network, and for no other', async (t) => {
  const server = createServer((q, r) => {
    let body = '';
    q.on('data', (d) => { body += d; });
    q.on('end', () => { r.setHeader('x-own', 'yes'); r.end(JSON.stringify({ method: q.method, body, h: q.headers['x-a'] })); });
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  t.after(() => server.close());
  const url = `http://127.0.0.1:${server.address().port}/`;
  const parent = room(t);
  const code = `exports.createPlugin = (server) => { server.tool('get', { type: 'object' }, async ({ url }) => {
    const r = await fetch(url, { method: 'POST', body: 'a body', headers: { 'x-a': 'b' } }); const j = await r.json();
    return { content: [{ type: 'text', text: [r.status, r.ok, r.headers.get('x-own'), j.method, j.body, j.h].join(' ') }] }; }); };`;
  const allowed = plugin(parent, 'fetches', { 'index.js': code }, { permissions: { network: true } });
  for (const tier of [2, 3]) {
    const { session } = await load(t, allowed, tier);
    assert.equal((await session.callTool('get', { url })).content[0].text, '200 true yes POST a body b');
  }
  const { session } = await load(t, allowed, 2);
  await assert.rejects(session.callTool('get', { url: 'file:///etc/hostname' }), /fetch of file:/);
  const refused = plugin(parent, 'fetches-not', { 'index.js': code });
  for (const tier of [2, 3]) {
    const { session } = await load(t, refused, tier);
    await assert.rejects(session.callTool('get', { url }), /fetch/);
  }
});
