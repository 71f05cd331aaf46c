// Packages that a plugin does not bundle: the host's SDK, and external ones at their declared versions.
import { existsSync } from 'node:fs';
import { mkdir, readFile, realpath, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { PolicyError, ValidationError } from './errors.js';
import { visible } from './gate.js';
import { sdkName } from './rules.js';

async function manifestIn(dir) {
  try {
    return JSON.parse(await readFile(join(dir, 'package.json'), 'utf8'));
  } catch {
    return undefined;
  }
}

const versionIn = async (dir) => (await manifestIn(dir))?.version;

// findUpwards returns the package that a directory, or the nearest one above, has below a path.
async function findUpwards(start, path) {
  for (let from = start, last = ''; from !== last; last = from, from = dirname(from)) {
    if (await manifestIn(join(from, path)) !== undefined) return join(from, path);
  }
  return undefined;
}

/** findSDK returns the directory of the SDK: the one that was named, or what the main script of the process would get. */
export async function findSDK(named) {
  if (named !== undefined) {
    if (await manifestIn(named) === undefined) throw new ValidationError(`${named} is no ${sdkName}: it has no package.json`);
    return realpath(named);
  }
  for (const start of [process.argv[1] && dirname(process.argv[1]), process.cwd()]) {
    if (!start) continue;
    const dir = await findUpwards(await realpath(start).catch(() => start), join('node_modules', ...sdkName.split('/')));
    if (dir !== undefined) return realpath(dir);
  }
  return undefined;
}

/**
 * findExternals returns the directories of a plugin's external packages, by name, and a warning where there is one. The
 * private copy at root has node_modules where the plugin's lock says what is in there; otherwise they come from
 * node_modules beside the plugin, for which nobody vouches. An optional package that is not there, or not at its declared version, is left out.
 */
export async function findExternals(path, root, manifest, rules) {
  const externals = new Map();
  const copied = await realpath(join(root, 'node_modules')).catch(() => undefined);
  const modules = copied ?? join(path, 'node_modules');
  const install = `hallmark plugin install ${JSON.stringify(path)} --allow-runtime-deps`;
  for (const { name, version, optional } of manifest.externalDependencies ?? []) {
    if (!rules.packages.includes(name)) continue;
    const found = await versionIn(join(modules, ...name.split('/')));
    if (found === version) {
      externals.set(name, join(await realpath(modules), ...name.split('/')));
      continue;
    }
    if (optional) continue;
    const problem = visible(found === undefined ? `the external package ${name}@${version} is not installed: run '${install}'`
      : `the external package ${name}@${version} is declared, and ${found} is installed: run '${install}'`);
    throw new PolicyError(problem, { plugin: manifest.name, hint: install });
  }
  const warning = copied === undefined && externals.size > 0
    ? visible(`external packages are loaded from ${modules}, of which no lock says what is in there: run '${install}', and load what it installed`) : undefined;
  return { externals, warning };
}

/** linkPackages makes the SDK and external packages be found from the plugin's private copy, as Node looks for packages. */
export async function linkPackages({ root, sdk, externals }) {
  const packages = new Map(externals);
  if (sdk) packages.set(sdkName, sdk);
  for (const [name, dir] of packages) {
    const at = join(root, 'node_modules', ...name.split('/'));
    if (existsSync(at)) continue;
    await mkdir(dirname(at), { recursive: true });
    await symlink(dir, at, process.platform === 'win32' ? 'junction' : 'dir');
  }
}

/**
 * dependenciesOf returns the directories of a package and of all that it depends on, as Node finds them and as they really
 * are: what a reader of the package has to read. What is really outside of within is none of them: the package.json and
 * links of an external package are the plugin's word.
 */
export async function dependenciesOf(dir, within = '') {
  const found = new Set();
  const queue = [dir];
  for (let at = queue.pop(); at !== undefined; at = queue.pop()) {
    const real = await realpath(at);
    if (found.has(at) || !real.startsWith(within)) continue;
    found.add(at).add(real);
    const { dependencies, optionalDependencies, peerDependencies } = await manifestIn(real) ?? {};
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })) {
      const one = await findUpwards(real, join('node_modules', ...name.split('/')));
      if (one !== undefined) queue.push(one);
    }
  }
  return [...found];
}
