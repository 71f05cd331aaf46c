// The evasions that the tests try: those found for the tiers, and those of the scanner.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

function read(dir) {
  const root = fileURLToPath(new URL(dir, import.meta.url));
  const files = readdirSync(root, { recursive: true }).filter((name) => /\.m?js$/.test(name)).sort();
  assert.ok(files.length > 10, root);
  return files.map((name) => join(root, name));
}

/** ours are always tried. */
export const ours = read('evasions/');

/** scanned are those of the scanner: with PLUGIN_HOST_SHORT every fourth, for a second Node of the same run. */
export const scanned = read('../../../internal/jsscan/testdata/evasions/').filter((_, i) => !process.env.PLUGIN_HOST_SHORT || i % 4 === 0);
