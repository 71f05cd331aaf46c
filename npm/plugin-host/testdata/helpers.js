// Plugins for tests, written as authors do and hashed by hallmark.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

export const hallmark = process.env.HALLMARK ?? 'hallmark';

/** sdk is the directory of @modelcontextprotocol/sdk, where the tests have one: see TestPluginHost. */
export const sdk = process.env.PLUGIN_HOST_SDK || undefined;

/** room makes a directory that ends with the test, and keeps hallmark's state in it. */
export function room(t) {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'plugin-host-test-')));
  process.env.HALLMARK_HOME = join(dir, 'home');
  t?.after?.(async () => (await import('node:fs/promises')).rm(dir, { recursive: true, force: true }));
  return dir;
}

/** write writes files below a directory, by their paths. */
export function write(dir, files) {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, name)), { recursive: true });
    writeFileSync(join(dir, name), typeof text === 'string' ? text : JSON.stringify(text, null, 2));
  }
}

/** plugin writes one of a name, with files below dist/, and hashes it. */
export function plugin(parent, name, files, manifest = {}) {
  const dir = join(parent, name);
  const names = Object.keys(files);
  write(dir, Object.fromEntries(names.map((n) => [`dist/${n}`, files[n]])));
  write(dir, { 'mcp-plugin.json': { manifestVersion: '2', name, version: '1.0.0', entry: `dist/${names[0]}`, ...manifest } });
  hash(dir);
  return dir;
}

export function hash(dir) {
  execFileSync(hallmark, ['plugin', 'hash', dir, '--write'], { stdio: 'pipe' });
}
