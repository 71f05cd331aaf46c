// Says where this Node finds specifiers, and whether it runs what is there as code. It is given one kind of import, as
// what was loaded by the one is not loaded anew by the other.
import { createRequire, isBuiltin } from 'node:module';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';

const { kind, cases } = JSON.parse(readFileSync(0, 'utf8'));
const requireHere = createRequire(import.meta.url);

const resolvers = {
  import: (from, specifier) => import.meta.resolve(specifier, pathToFileURL(from).href),
  require: (from, specifier) => createRequire(from).resolve(specifier),
};
const loaders = { import: (at) => import(at), require: async (at) => requireHere(at) };

// What is data says so: each file of the test with JSON is a list, or has the member "data".
const isData = (found) => Array.isArray(found) || found?.data === true;

const known = new Map();
async function runs(at) {
  if (!known.has(at)) known.set(at, await loaders[kind](at).then((found) => !isData(found), () => false));
  return known.get(at);
}

async function ask({ from, specifier }) {
  let at;
  try {
    at = resolvers[kind](from, specifier);
  } catch {
    return {};
  }
  if (kind === 'require' ? isBuiltin(at) : at.startsWith('node:')) return { builtin: at };
  if (kind === 'import' && !at.startsWith('file:')) return { other: at };
  return { file: kind === 'require' ? at : fileURLToPath(at), code: await runs(at) };
}

const found = [];
for (const one of cases) found.push(await ask(one));
writeFileSync(1, JSON.stringify(found));
