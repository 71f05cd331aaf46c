// The loader of the example, before and after: what it loads, and what it refuses.
import assert from 'node:assert/strict';
import { appendFileSync, cpSync, mkdirSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { plugin, room, write } from '../testdata/helpers.js';

const own = dirname(dirname(fileURLToPath(import.meta.url)));
const example = join(own, '../../examples/plugin-host');

async function loaders(t) {
  const dir = room(t);
  cpSync(example, join(dir, 'host'), { recursive: true });
  mkdirSync(join(dir, 'host/node_modules'), { recursive: true });
  symlinkSync(own, join(dir, 'host/node_modules/hallmark-plugin-host'), 'junction');
  const from = async (file) => (await import(pathToFileURL(join(dir, 'host', file)).href)).loadPlugin;
  return { dir, before: await from('loader.mjs'), after: await from('loader-hallmark.mjs') };
}

async function outcome(loadPlugin, path) {
  const offered = [];
  const server = { registerTool: (name, config, handler) => offered.push([name, config, handler]) };
  try {
    const { captured } = await loadPlugin(path, server);
    const answers = [];
    for (const [name, { title }, handler] of offered) answers.push([name, title, (await handler({})).content[0].text]);
    return { captured: captured.map((c) => [c.method, c.name]), answers };
  } catch (e) {
    return { error: e.name };
  }
}

const code = (body) => `exports.createPlugin = async (s) => { s.registerTool('t', { title: 'T' }, async () => ({ content: [{ type: 'text', text: String(${body}) }] })) }`;

test('a plugin loads equally, and one that was tampered with in neither', async (t) => {
  const { dir, before, after } = await loaders(t);
  const capabilities = { tools: ['t'] };
  const good = plugin(dir, 'good', { 'index.js': code('require("./b.js")'), 'b.js': 'module.exports = 1' }, { capabilities });
  const loaded = { captured: [['registerTool', 't']], answers: [['t', 'T', '1']] };
  assert.deepEqual(await outcome(before, good), loaded);
  assert.deepEqual(await outcome(after, good), loaded);

  const changed = plugin(dir, 'changed', { 'index.js': code('1') }, { capabilities });
  appendFileSync(join(changed, 'dist/index.js'), '\n');
  assert.deepEqual(await outcome(before, changed), { error: 'Error' });
  assert.deepEqual(await outcome(after, changed), { error: 'integrityError' });
});

test('what its own steps let through is refused', async (t) => {
  const { dir, before, after } = await loaders(t);
  write(dir, { secret: 'the secret' });
  const rows = {
    'a module by its full name': () => plugin(dir, 'full', { 'index.js': code('typeof require("node:fs")') }),
    'a module by a computed name': () => plugin(dir, 'computed', { 'index.js': code(`require(["f", "s"].join("")).readFileSync(${JSON.stringify(join(dir, 'secret'))})`) }),
    'code beside dist/': () => {
      const p = plugin(dir, 'beside', { 'index.js': code('require("../more.js")') });
      write(p, { 'more.js': 'module.exports = 1' });
      return p;
    },
    'names that move between a path and its file': () => {
      const p = plugin(dir, 'moved', { 'a.js': `${code('1')}\nb.js\n` });
      write(p, { 'dist/a.js': `${code('1')}\n`, 'dist/b.js': '' });
      return p;
    },
  };
  for (const [name, make] of Object.entries(rows)) {
    const path = make();
    const was = await outcome(before, path);
    const is = await outcome(after, path);
    assert.equal(was.error, undefined, name);
    // A computed name is a warning only: nobody signed the plugin, so that it runs in a process that cannot read the file.
    assert.equal(is.error, name === 'code beside dist/' || name.startsWith('names') ? 'integrityError' : name.includes('computed') ? 'operationError' : 'policyError', name);
  }
});
