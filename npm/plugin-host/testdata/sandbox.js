// What the tests of tier 3 share: plugins as the host hands them to a tier.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import * as tier1 from '../src/tier1.js';
import * as tier3 from '../src/tier3.js';

/** open are the tiers, and 2, which is tier 3 with frozen intrinsics. */
export const open = { 1: tier1.open, 2: (plugin) => tier3.open({ ...plugin, frozen: true }), 3: tier3.open };

const none = { network: false, fsRead: false, fsWrite: false, exec: false, native: false, packages: [] };

/** dir makes a directory that ends with the test. */
export function dir(t) {
  const d = realpathSync(mkdtempSync(join(tmpdir(), 'plugin-tier-')));
  t?.after(() => rmSync(d, { recursive: true, force: true }));
  return d;
}

/** subject is a plugin of one file, as it is handed to a tier after the check. */
export function subject(t, code, { name = 'subject', entry = 'dist/index.js', rules = {}, limits = {}, ...more } = {}) {
  const root = dir(t);
  mkdirSync(dirname(join(root, entry)), { recursive: true });
  writeFileSync(join(root, entry), code);
  const said = [];
  return {
    name, version: '1.0.0', root, entry, manifest: { name, version: '1.0.0' }, rules: { ...none, ...rules }, externals: new Map(),
    limits, said, warn: (m) => said.push(m), ...more,
  };
}

/** started opens a plugin in a tier, and ends it with the test. */
export async function started(t, tier, code, about) {
  const plugin = subject(t, code, about);
  const session = await open[tier](plugin);
  t.after(() => session.close());
  return Object.assign(session, { said: plugin.said, plugin });
}

/** tools is the code of a plugin with tools, by name, each the body of a handler. */
export function tools(bodies, before = '') {
  const all = Object.entries(bodies).map(([name, body]) =>
    `server.tool(${JSON.stringify(name)}, {type: 'object'}, async function (args, extra) { ${body} });`);
  return `${before}\nexports.createPlugin = async (server) => { ${all.join('\n')} };`;
}

/** text is what a tool of the plugin answers. */
export const text = async (session, tool, args = {}) => (await session.callTool(tool, args)).content.map((c) => c.text).join('');

/** works asserts that a plugin beside others still answers. */
export const honest = tools({ echo: `return {content: [{type: 'text', text: 'echo ' + args.word}]}` });
