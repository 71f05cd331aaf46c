// Requests of plugins in tier 3.
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

test('tier 3 fetches for a plugin with permissions.network, and for no other', async (t) => {
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
  const allowed = await load(t, plugin(parent, 'fetches', { 'index.js': code }, { permissions: { network: true } }), 3);
  assert.equal((await allowed.session.callTool('get', { url })).content[0].text, '200 true yes POST a body b');
  const refused = await load(t, plugin(parent, 'fetches-not', { 'index.js': code }), 3);
  await assert.rejects(refused.session.callTool('get', { url }), /fetch/);
});

test('tier 3 gives a plugin with permissions.network the modules of Node for it', async (t) => {
  const dir = plugin(room(t), 'serves', { 'index.mjs': `import http from 'node:http'; import net from 'node:net'; import { once } from 'node:events'; import dns from 'node:dns/promises';
    export function createPlugin(server) { server.tool('t', async () => {
      const s = http.createServer((q, r) => r.end('served ' + q.url)).listen(0, '127.0.0.1'); await once(s, 'listening');
      const r = await fetch('http://127.0.0.1:' + s.address().port + '/a'); const c = net.connect(s.address().port, '127.0.0.1'); await once(c, 'connect'); c.destroy();
      const [answer] = await once(http.get({ port: s.address().port, host: '127.0.0.1', path: '/b' }), 'response'); answer.resume();
      s.close(); s.closeAllConnections(); return { content: [{ type: 'text', text: (await r.text()) + ' ' + answer.statusCode + ' ' + (await dns.lookup('127.0.0.1')).address }] };
    }); }` }, { permissions: { network: true }, capabilities: { tools: ['t'] } });
  const { session } = await load(t, dir, 3);
  assert.equal((await session.callTool('t')).content[0].text, 'served /a 200 127.0.0.1');
});
