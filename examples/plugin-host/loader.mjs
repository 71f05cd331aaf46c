// A plugin loader as hosts have one, with steps of its own: what loader-hallmark.mjs replaces.
//
// loadPlugin(rootDir, server) checks the manifest, the hash of dist/, the dependency policy and the
// text of the scripts; imports the entry; has createPlugin register with a server that only keeps what it is
// told; compares that with what the manifest declares; and hands it on to the real server.
import { createHash } from 'node:crypto';
import { readFile, readdir } from 'node:fs/promises';
import { extname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';

const restricted = { net: 'network', http: 'network', https: 'network', tls: 'network', dns: 'network', fs: 'fsRead', child_process: 'exec' };

async function validatePluginRoot(rootDir) {
  const manifest = JSON.parse(await readFile(join(rootDir, 'mcp-plugin.json'), 'utf8'));
  if (manifest.manifestVersion !== '2') throw new Error(`manifestVersion is ${manifest.manifestVersion}`);
  const entries = await readdir(join(rootDir, 'dist'), { recursive: true, withFileTypes: true });
  const files = entries.filter((e) => e.isFile()).map((e) => relative(join(rootDir, 'dist'), join(e.parentPath ?? e.path, e.name)).replaceAll('\\', '/'));
  if (files.length === 0) throw new Error('dist/ has no files');
  return { manifest, files: files.sort((a, b) => a.localeCompare(b)) };
}

async function verifyDistHash(rootDir, { manifest, files }) {
  const hash = createHash('sha256');
  for (const file of files) hash.update(`${file}\n`).update(await readFile(join(rootDir, 'dist', file)));
  const computed = `sha256:${hash.digest('hex')}`;
  if (computed !== manifest.dist?.hash) throw new Error(`dist.hash is ${manifest.dist?.hash}, and the files have ${computed}`);
}

function verifyDependencyPolicy({ manifest }) {
  if ((manifest.dependenciesPolicy ?? 'bundled-only') === 'bundled-only' && manifest.externalDependencies?.length > 0) {
    throw new Error('external packages under bundled-only');
  }
}

async function scan(rootDir, { manifest, files }) {
  for (const file of files.filter((f) => ['.js', '.mjs', '.cjs'].includes(extname(f)))) {
    const text = await readFile(join(rootDir, 'dist', file), 'utf8');
    for (const [name, permission] of Object.entries(restricted)) {
      const used = new RegExp(`require\\(\\s*['"]${name}['"]\\s*\\)|from\\s+['"]${name}['"]`).test(text);
      if (used && !manifest.permissions?.[permission]) throw new Error(`${file} uses ${name}, and ${permission} is not declared`);
    }
  }
}

function captureServer() {
  const captured = [];
  const server = {};
  for (const method of ['registerTool', 'tool', 'registerResource', 'resource', 'registerPrompt', 'prompt']) {
    server[method] = (name, ...args) => void captured.push({ method, name, args });
  }
  return { captured, server };
}

function reconcile({ manifest }, captured) {
  const declared = Object.values(manifest.capabilities ?? {}).flat();
  const names = captured.map((c) => c.name);
  const differing = [...declared.filter((n) => !names.includes(n)), ...names.filter((n) => !declared.includes(n))];
  if (differing.length > 0) console.error(`${manifest.name}: declared and registered differ: ${differing.join(' ')}`);
}

export async function loadPlugin(rootDir, server) {
  const root = await validatePluginRoot(rootDir);
  await verifyDistHash(rootDir, root);
  verifyDependencyPolicy(root);
  await scan(rootDir, root);
  const loaded = await import(pathToFileURL(join(rootDir, root.manifest.entry)).href);
  const createPlugin = loaded.createPlugin ?? loaded.default?.createPlugin;
  const capture = captureServer();
  await createPlugin(capture.server);
  reconcile(root, capture.captured);
  for (const { method, name, args } of capture.captured) server[method](name, ...args);
  return { captured: capture.captured };
}
