// What the host and hallmark say of Node's modules is the same.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { reconcile } from '../src/session.js';
import { refuseModule } from '../src/rules.js';
import { matchesTemplate } from '../src/template.js';

const none = { network: false, fsRead: false, fsWrite: false, exec: false, native: false, packages: [] };

// The table of the documentation, which a test of hallmark's holds to its code.
test('each module of Node needs what hallmark says', () => {
  const text = readFileSync(new URL('../../../docs/plugin-host.md', import.meta.url), 'utf8');
  const [, table] = /\n\| core modules \| permission \| why \|\n\|---\|---\|---\|\n((?:\|.*\n)+)/.exec(text);
  const rows = table.trimEnd().split('\n').map((line) => line.split('|').map((cell) => cell.trim()));
  const known = new Set();
  for (const [, names, permission] of rows) {
    for (const [, name] of names.matchAll(/`(?:node:)?([^`]+)`/g)) {
      known.add(name);
      const given = permission === '–' ? [] : permission.split(' or ');
      assert.equal(refuseModule(none, name) === '', given.length === 0, `${name} without permissions`);
      for (const one of ['network', 'fsRead', 'fsWrite', 'exec']) {
        assert.equal(refuseModule({ ...none, [one]: true }, name) === '', given.length === 0 || given.includes(one), `${name} with ${one}`);
      }
    }
  }
  assert.ok(known.size > 70, `${known.size} modules`);
  // Nothing else is known to the host.
  const source = readFileSync(new URL('../src/rules.js', import.meta.url), 'utf8');
  const [, needs] = /const needs = \{([^}]+)\}/.exec(source);
  const [, free] = /const free = new Set\(\[([^\]]+)\]/.exec(source);
  const own = [...needs.matchAll(/(\w+): '/g), ...free.matchAll(/'(\w+)'/g)].map((m) => m[1]);
  assert.ok(own.length > 60);
  assert.deepEqual(own.filter((name) => !known.has(name)), []);
  assert.notEqual(refuseModule({ ...none, exec: true, network: true, fsWrite: true }, 'unheard_of'), '');
});

test('capabilities are declared by name, or by an object with one', () => {
  const manifest = { capabilities: { tools: ['a', { name: 'b', description: 'more' }, { name: 'gone' }], prompts: [{ name: 'p' }] } };
  const session = { tools: [{ name: 'a' }, { name: 'b' }, { name: 'c' }], resources: [], prompts: [{ name: 'p' }] };
  assert.deepEqual(reconcile(manifest, session), ['tool gone is declared, and was not registered', 'tool c was registered, and is not declared']);
});

test('a URI has the form of a template, in time for their lengths', () => {
  for (const [template, uri, want] of [
    ['a://{x}', 'a://b', true], ['a://{x}', 'a://', false], ['a://{x}', 'a://b/c', false], ['a://{+x}', 'a://b/c', true], ['a://{x*}', 'a://b/c', true],
    ['a://{x}/d', 'a://b/d', true], ['a://{x}/d', 'a://b/e', false], ['a://{x}/{y}', 'a://b/c', true], ['a://{x}/{y}', 'a://b', false],
    ['a://{x}{?q}', 'a://b', true], ['a://b{?q,r}', 'a://b?q=1&r=2', true], ['a://b', 'a://b', true], ['a://b', 'a://bc', false], ['a://{x}b', 'a://bb', true],
    ['a://{x}', 'b://b', false], ['a:{/x}', 'a:/b/c', true],
  ]) assert.equal(matchesTemplate(template, uri), want, `${template} ${uri}`);
  assert.equal(matchesTemplate(`a:${'{x}a'.repeat(1000)}b`, `a:${'a'.repeat(4000)}`), false);
});
