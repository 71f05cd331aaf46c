// The evasions that the tests try: those found for the tiers, and those of the scanner.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sample } from './sample.js';

function read(dir) {
  const root = fileURLToPath(new URL(dir, import.meta.url));
  const files = readdirSync(root, { recursive: true }).filter((name) => /\.m?js$/.test(name)).sort();
  assert.ok(files.length > 10, root);
  return files.map((name) => join(root, name));
}

/** ours are always tried. */
export const ours = read('evasions/');

/** scanned are those of the scanner, or some of them: see sample. */
export const scanned = sample(read('../../../internal/jsscan/testdata/evasions/'));
